"""The arguments of a fused call: arrays, run-time numbers, and the key of everything static."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .expr.node import ArraySpec
from .lazy import LazyArray
from .runtime.arrays import (
    ON_DEVICE,
    alignment_of,
    as_operand,
    device_index,
    is_cupy,
    is_cupy_type,
    is_foreign_array,
)
from .runtime.exchange import TORCH, imported, is_torch_type

Path = tuple[Any, ...]

_STATIC = (int, bool, str, bytes, type(None), type, np.dtype, np.ufunc, slice, range, type(...))


class Leaves:
    """What a call gives: ``arrays`` (or specs), ``scalars`` and their paths, and the key.

    ``hashable`` is false where an argument is of a kind whose contents cannot be told apart by a
    key: such a call is recorded anew.
    """

    __slots__ = (
        "array_paths",
        "arrays",
        "hashable",
        "key",
        "lazy",
        "libraries",
        "parts",
        "scalar_paths",
        "scalars",
        "static",
    )

    def __init__(self, static: set[Path]) -> None:
        self.arrays: list[Any] = []
        self.array_paths: list[Path] = []
        self.scalars: list[Any] = []
        self.scalar_paths: list[Path] = []
        self.parts: list[Any] = []
        self.static = static
        self.libraries: dict[Path, str] = {}
        self.lazy = False
        self.hashable = True
        self.key: tuple[Any, ...] = ()

    def read(self, value: Any, path: Path) -> None:
        """Sort one argument (or a part of one) in."""
        _reader(type(value))(self, value, path)  # type: ignore[arg-type]

    def _constant(self, value: Any, path: Path) -> None:
        self.parts.append((type(value), value))

    def _items(self, value: Any, path: Path) -> None:
        self.parts.append((type(value), len(value)))
        for i, item in enumerate(value):
            self.read(item, (*path, i))

    def _named_items(self, value: Any, path: Path) -> None:
        self.parts.append((dict, tuple(value)))
        for name, item in value.items():
            self.read(item, (*path, name))

    def _host_array(self, value: Any, path: Path) -> None:
        plain = value.dtype.isnative and value.flags.aligned
        (self._array if plain else self._other)(value, path)

    def _array(self, value: Any, path: Path) -> None:
        if value.dtype.kind not in "biufc":
            as_operand(value, f"argument {path_text(path)}")
        self.arrays.append(value)
        self.array_paths.append(path)
        self.parts.append((value.dtype.char, value.shape, value.strides))

    def _device_array(self, value: Any, path: Path) -> None:
        char = value.dtype.char
        if char not in ON_DEVICE or not value.flags.c_contiguous:
            value = as_operand(value, f"argument {path_text(path)}")
        elif value.data.ptr % value.itemsize:
            value = value.copy()
        self.arrays.append(value)
        self.array_paths.append(path)
        place = value.data.device_id, alignment_of(value)
        self.parts.append((char, value.shape, value.strides, *place))

    def _tensor(self, value: Any, path: Path) -> None:
        array = imported(value, f"argument {path_text(path)}")
        self.libraries[path] = TORCH
        self.parts.append(TORCH)
        (self._device_array if is_cupy(array) else self._array)(array, path)

    def _number(self, value: Any, path: Path) -> None:
        kind = type(value)
        if path in self.static:
            self.parts.append((kind, repr(value)))
            return
        self.scalars.append(value)
        self.scalar_paths.append(path)
        self.parts.append(kind)

    def _other(self, value: Any, path: Path) -> None:
        if isinstance(value, LazyArray):
            self.lazy = True
        elif isinstance(value, np.ndarray | np.generic) or is_foreign_array(value):
            if isinstance(value, ArraySpec):
                self.arrays.append(value)
                self.array_paths.append(path)
                on_host = value.device == "cpu"
                place = () if on_host else (device_index(value.device), value.alignment)
                self.parts.append((value.dtype.char, value.shape, value.strides, *place))
            else:
                self._array(as_operand(value, f"argument {path_text(path)}"), path)
        else:
            self.hashable = False


@lru_cache(256)
def _reader(kind: type) -> Callable[[Leaves, Any, Path], None]:
    """How arguments of a type are sorted in."""
    if kind is np.ndarray:
        return Leaves._host_array
    if is_cupy_type(kind):
        return Leaves._device_array
    if is_torch_type(kind):
        return Leaves._tensor
    if kind is float or kind is complex:
        return Leaves._number
    if issubclass(kind, _STATIC):
        return Leaves._constant
    if issubclass(kind, tuple | list):
        return Leaves._items
    return Leaves._named_items if kind is dict else Leaves._other


def read_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], static: set[Path]) -> Leaves:
    """Arguments of a call, in order, keywords by name."""
    leaves = Leaves(static)
    for i, value in enumerate(args):
        leaves.read(value, (i,))
    if kwargs:
        for name in sorted(kwargs):
            leaves.parts.append(name)
            leaves.read(kwargs[name], (name,))
    leaves.key = tuple(leaves.parts)
    return leaves


def replaced(value: Any, path: Path, known: dict[Path, Any]) -> Any:
    """The argument with its arrays and numbers exchanged for those of ``known``."""
    if path in known:
        return known[path]
    if isinstance(value, tuple | list):
        items = [replaced(v, (*path, i), known) for i, v in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if type(value) is dict:
        return {k: replaced(v, (*path, k), known) for k, v in value.items()}
    return value


def path_text(path: Path) -> str:
    """``1``, ``window`` or ``taps[0]``."""
    return str(path[0]) + "".join(f"[{p!r}]" for p in path[1:])


class Signature:
    """Names of a function's parameters, to call operands what the user calls them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            parameters = {}.values()
        self._names = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]

    def name(self, path: Path) -> str:
        """A printable name for an argument."""
        first = path[0]
        if isinstance(first, int) and first < len(self._names):
            first = self._names[first]
        elif isinstance(first, int):
            first = f"arg{first}"
        return "_".join(str(p) for p in (first, *path[1:]))
