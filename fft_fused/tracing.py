"""Record a function once for arguments of one signature."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .expr import build
from .expr.node import ArraySpec, Expr, Source
from .expr.recording import recording
from .guards import Snapshot
from .lazy import LazyArray
from .options import Options, current, options, resolve_workers
from .passes.pipeline import plan_for, settled
from .passes.trace import collect, library_of
from .runtime.arrays import spec_of
from .runtime.exchange import placed
from .runtime.execute import execute
from .runtime.plan import Plan
from .signature import Leaves, Path, Signature, replaced

_MOST_CALLS = 64  # after which the fastest plan is known, were it not for other threads


class Traced:
    """An expression, where its operands come from, and how its results are put together."""

    def __init__(
        self,
        expr: Expr,
        sources: Sequence[Source],
        origins: Sequence[int | Source],
        template: Any,
        snapshot: Snapshot,
        reusable: bool,
    ) -> None:
        self.expr = expr
        self.reusable = reusable
        self.library = library_of(sources)
        self._origins = tuple(
            o if isinstance(o, int) else _holder(o, reusable and not o.made_here) for o in origins
        )
        self._handed_over = tuple(
            slot
            for slot, (s, spec) in enumerate(zip(sources, expr.operands, strict=True))
            if s.library or s.spec.device != spec.device
        )
        self._template = template
        self._snapshot = snapshot
        self._planned: tuple[Options, int, Plan] | None = None

    def holds(self) -> bool:
        """Is what the function captured unchanged?"""
        return self._snapshot.holds()

    def plan_now(self) -> Plan:
        """The plan under the options in force."""
        options, workers = self._settings()
        known = self._planned
        if known is not None and known[0] is options and known[1] == workers:
            return known[2]
        plan = plan_for(self.expr)
        self._planned = (options, workers, plan)
        return plan

    def _settings(self) -> tuple[Options, int]:
        """What a plan depends on besides its expression; threads only where there are any."""
        options = current()
        return options, resolve_workers(options.workers) if self.expr.device == "cpu" else 1

    def plan_for(self, arrays: Sequence[Any], scalars: Sequence[Any]) -> Plan:
        """The plan for a call; where several are worth a try, they are raced on its arrays."""
        plan = self.plan_now()
        if not plan.is_open:
            return plan
        plan = settled(plan, arrays, scalars)
        if not plan.is_open:
            self._planned = (*self._settings(), plan)
        return plan

    def settled_plan(self, arrays: Sequence[Any], scalars: Sequence[Any]) -> Plan:
        """The plan once it is known to be the fastest, called as often as that takes."""
        with options(background=False):
            plan = self.plan_for(arrays, scalars)
            for _ in range(_MOST_CALLS):
                if not plan.is_open:
                    break
                execute(plan, arrays, scalars)
                plan = self.plan_for(arrays, scalars)
        return plan

    def arrays(self, leaves: Leaves) -> list[np.ndarray]:
        """Operands in slot order."""
        given = leaves.arrays
        found: list[Any] = [given[o] if isinstance(o, int) else o() for o in self._origins]
        if ArraySpec in map(type, found):
            raise TypeError("an ArraySpec can be explained and compiled, not computed")
        for slot in self._handed_over:
            found[slot] = placed(found[slot], self.expr.operands[slot])
        return found

    def scalars(self, leaves: Leaves) -> list[Any]:
        """Run-time numbers in slot order."""
        return leaves.scalars

    def rebuild(self, results: list[Any]) -> Any:
        """Results in the form the function returned them."""
        return _filled(self._template, results)


def trace(
    function: Callable[..., Any],
    signature: Signature,
    leaves: Leaves,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Traced:
    """Call the function on lazy stand-ins of its arguments and close what it returns.

    Raises
    ------
    TypeError
        When it returns nothing lazy, or values that are neither lazy nor plain.
    ScalarValueNeeded
        When it asks for the value of a Python number given as an argument.
    """
    sources = {
        path: Source(signature.name(path), _spec(array), library=leaves.libraries.get(path, ""))
        for path, array in zip(leaves.array_paths, leaves.arrays, strict=True)
    }
    known: dict[Path, Any] = {p: LazyArray(build.leaf(s)) for p, s in sources.items()}
    for slot, (path, value) in enumerate(zip(leaves.scalar_paths, leaves.scalars, strict=True)):
        known[path] = LazyArray(build.scalar(slot, "f" if type(value) is float else "c"))
    snapshot = Snapshot(function)
    with recording():
        returned = function(
            *(replaced(v, (i,), known) for i, v in enumerate(args)),
            **{k: replaced(v, (k,), known) for k, v in kwargs.items()},
        )
    outputs: list[LazyArray] = []
    template = _template(returned, outputs)
    if not outputs:
        raise TypeError(
            f"{getattr(function, '__name__', 'function')}: returned {type(returned).__name__}, "
            "no lazy array; return what is computed from the arguments"
        )
    expr, found = collect([o.node for o in outputs])
    place = {id(s): leaves.array_paths.index(p) for p, s in sources.items()}
    origins = [place.get(id(s), s) for s in found]
    reusable = (
        snapshot.complete
        and all(
            isinstance(o, int) or o.made_here or id(o.array) in snapshot.arrays for o in origins
        )
        and snapshot.holds()
    )
    return Traced(expr, found, origins, template, snapshot, reusable)


def _holder(source: Source, weak: bool) -> Callable[[], Any]:
    """How a captured array is found at each call; what lives elsewhere is not kept alive."""
    array = source.array
    return weakref.ref(array) if weak else lambda: array


def _spec(array: Any) -> ArraySpec:
    if isinstance(array, ArraySpec):
        return array
    return spec_of(array)


class _Slot:
    """The place of a result."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _template(value: Any, outputs: list[LazyArray]) -> Any:
    if isinstance(value, LazyArray):
        outputs.append(value)
        return _Slot(len(outputs) - 1)
    if isinstance(value, tuple | list):
        items = [_template(v, outputs) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {k: _template(v, outputs) for k, v in value.items()}
    if isinstance(value, int | float | complex | str | bytes | type(None) | np.generic):
        return value
    raise TypeError(
        f"a fused function returned a {type(value).__name__}; "
        "return lazy arrays, numbers, or tuples, lists and dicts of them"
    )


def _filled(template: Any, results: list[Any]) -> Any:
    if isinstance(template, _Slot):
        return results[template.number]
    if isinstance(template, tuple | list):
        items = [_filled(t, results) for t in template]
        return type(template)(*items) if hasattr(template, "_fields") else type(template)(items)
    if isinstance(template, dict):
        return {k: _filled(v, results) for k, v in template.items()}
    return template
