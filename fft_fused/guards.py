"""What a recorded function captured from outside, and whether it is still the same.

A snapshot names every object a function can reach: closure cells, the globals its code mentions,
defaults, and through helper functions, containers and instances. Each call compares them by
identity; what cannot be followed makes the function be recorded on every call, so that a stale
value is never used.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .expr.node import walk
from .lazy import LazyArray
from .runtime.exchange import is_array, is_torch, layout_of

_LIMIT = 512
_LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "cupy", "cupyx", "torch"}
_LIBRARIES |= {"array_api_compat", __name__.partition(".")[0]}
_CHANGING = {"random", "default_rng", "time", "perf_counter", "monotonic", "now", "today"}
_CHANGING |= {"environ", "getenv", "open", "input"}
_PLAIN: tuple[type, ...] = (
    int,
    float,
    complex,
    str,
    bytes,
    bool,
    type(None),
    np.generic,
    np.dtype,
    np.ufunc,
)
_PLAIN += (range, slice, type(...), types.BuiltinFunctionType)
_MISSING = object()


class Snapshot:
    """Guards over the surroundings of a function.

    ``arrays`` are the ids of reachable arrays; ``complete`` is false where something could not be
    followed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.arrays: set[int] = set()
        self.complete = True
        self._guards: list[tuple[Callable[[], Any], Callable[[Any], bool]]] = []
        self._seen: set[int] = set()
        self._visit(function, frozenset())

    def holds(self) -> bool:
        """Is everything what it was?"""
        for get, same in self._guards:  # noqa: SIM110 - at every call, and faster so
            if not same(get()):
                return False
        return True

    def _guard(self, get: Callable[[], Any], names: frozenset[str]) -> None:
        if len(self._guards) >= _LIMIT:
            self.complete = False
            return
        value = get()
        self._guards.append((get, _same_as(value)))
        if value is not _MISSING:
            self._visit(value, names)

    def _visit(self, value: Any, names: frozenset[str]) -> None:
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if is_array(value):
            self.arrays.add(id(value))
        elif isinstance(value, LazyArray):
            self._visit_lazy(value)
        elif isinstance(value, types.FunctionType):
            self._visit_function(value)
        elif isinstance(value, types.MethodType):
            self._visit(value.__func__, names)
            self._visit(value.__self__, names)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._visit(part, names)
        elif isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in _LIBRARIES:
                for name in sorted(names & set(vars(value))):
                    self._guard(functools.partial(vars(value).get, name, _MISSING), names)
        elif isinstance(value, list | tuple | dict | set | frozenset):
            self._visit_container(value, names)
        elif isinstance(value, type):
            self._visit_class(value, names)
        else:
            self._visit_instance(value, names)

    def _visit_lazy(self, value: LazyArray) -> None:
        reference = weakref.ref(value)

        def node_now() -> Any:
            alive = reference()
            return None if alive is None else alive.node

        self._guards.append((node_now, _same_as(value.node)))
        for node in walk([value.node]):
            if node.op == "operand":
                self.arrays.add(id(node.attr.array))

    def _visit_function(self, function: types.FunctionType) -> None:
        if function.__module__ and function.__module__.partition(".")[0] in _LIBRARIES:
            return
        names = _names(function.__code__)
        if names & _CHANGING:
            self.complete = False
        for cell in function.__closure__ or ():
            self._guard(functools.partial(_contents, cell), names)
        known = function.__globals__
        for name in sorted(names & set(known)):
            self._guard(functools.partial(known.get, name, _MISSING), names)
        for part in (function.__defaults__, function.__kwdefaults__):
            if part:
                self._visit(part, names)

    def _visit_container(self, value: Any, names: frozenset[str]) -> None:
        if len(value) > _LIMIT:
            self.complete = False
            return
        if isinstance(value, set | frozenset):
            frozen = frozenset(value)
            self._guards.append((lambda: frozenset(value), lambda now: now == frozen))
            self.complete &= all(isinstance(v, _PLAIN) for v in value)
            return
        if isinstance(value, dict):
            keys = tuple(value)
            self._guards.append((lambda: tuple(value), lambda now: now == keys))
            for key in keys:
                self._guard(functools.partial(value.get, key, _MISSING), names)
            return
        self._guards.append((lambda: len(value), _same_as(len(value))))
        for i in range(len(value)):
            self._guard(functools.partial(value.__getitem__, i), names)

    def _visit_class(self, kind: type, names: frozenset[str]) -> None:
        if kind.__module__.partition(".")[0] in _LIBRARIES:
            return
        for name, member in vars(kind).items():
            used = name in names or (name.startswith("__") and callable(member))
            if not used or name in ("__dict__", "__weakref__", "__class__"):
                continue
            member = getattr(member, "__func__", member)
            if isinstance(member, property):
                self._visit(member.fget, names)
            else:
                self._guard(functools.partial(vars(kind).get, name, _MISSING), names)
        for base in kind.__bases__:
            self._visit(base, names)

    def _visit_instance(self, value: Any, names: frozenset[str]) -> None:
        kind = type(value)
        if kind.__module__.partition(".")[0] in _LIBRARIES and kind.__name__ == "Fused":
            self._visit(value.__wrapped__, names)
            return
        slots = [s for k in kind.__mro__ for s in getattr(k, "__slots__", ())]
        if not hasattr(value, "__dict__") and not slots:
            self.complete = False
            return
        self._visit(kind, names)
        self._visit(getattr(value, "__dict__", None), names)
        for name in slots:
            self._guard(functools.partial(getattr, value, name, _MISSING), names)


def _names(code: types.CodeType) -> frozenset[str]:
    """Globals and attributes that code, with the functions inside it, mentions."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return frozenset(found)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _same_as(value: Any) -> Callable[[Any], bool]:
    if is_torch(value):
        tensor, known = weakref.ref(value), layout_of(value)
        return lambda now: now is tensor() and layout_of(now) == known
    if isinstance(value, LazyArray) or is_array(value):
        ref = weakref.ref(value)
        return lambda now: now is ref()
    if isinstance(value, int | float | complex | str | np.generic):
        kind, text = type(value), repr(value)
        return lambda now: now is value or (type(now) is kind and repr(now) == text)
    return lambda now: now is value
