"""NumPy's override protocols: which ufuncs and functions are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .expr import build
from .expr.node import Node
from .expr.ops import COMMUTATIVE_REDUCTIONS, OPS, ufunc_of
from .record import as_node, wrap, written

_UFUNCS = {u: name for name in OPS if (u := ufunc_of(name)) is not None}
_REDUCTIONS = {ufunc: name for name, ufunc in COMMUTATIVE_REDUCTIONS.items()}


def cannot(name: str) -> TypeError:
    """The error for what is not recorded."""
    return TypeError(
        f"fft_fused cannot record {name}. Compute it outside and pass it in, "
        "or write it with what docs/vocabulary.md lists."
    )


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a ufunc call or reduction with a lazy array among its arguments.

    Raises
    ------
    TypeError
        For ufuncs, methods and arguments that are not recorded, and for results in NumPy arrays.
    """
    name = f"numpy.{ufunc.__name__}"
    out = kwargs.pop("out", None)
    (target,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
    if method == "reduce":
        if ufunc not in _REDUCTIONS:
            raise cannot(f"{name}.reduce")
        return record_reduction(
            f"{name}.reduce", _REDUCTIONS[ufunc], inputs[0], {"axis": 0, "out": target, **kwargs}
        )
    if method != "__call__":
        raise cannot(f"{name}.{method}")
    if ufunc is np.matmul:
        refuse(name, kwargs)
        return written(wrap(build.matmul(*map(as_node, inputs))), target, name)
    if ufunc not in _UFUNCS:
        raise cannot(name)
    return record_elementwise(name, _UFUNCS[ufunc], inputs, {"out": target, **kwargs})


def record_elementwise(name: str, op: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """An elementwise function of either library, with ``out`` and ``dtype`` among its options."""
    out, dtype = options.pop("out", None), options.pop("dtype", None)
    ufunc = ufunc_of(op)
    refuse(name, options if dtype is None or ufunc else {"dtype": dtype})
    nodes = [as_node(i) for i in inputs]
    if dtype is not None and ufunc is not None:
        nodes = _in_loop_of(ufunc, nodes, np.dtype(dtype))
    return written(wrap(build.elementwise(op, *nodes)), out, name)


def record_reduction(name: str, op: str, array: Any, options: dict[str, Any]) -> Any:
    """A reduction of either library; ``axis``, ``dtype``, ``out`` and ``keepdims`` as options."""
    axis, keepdims = options.pop("axis", None), options.pop("keepdims", False)
    dtype, out = options.pop("dtype", None), options.pop("out", None)
    refuse(name, options)
    return written(wrap(build.reduce(op, as_node(array), axis, keepdims, dtype)), out, name)


def refuse(name: str, options: dict[str, Any]) -> None:
    """TypeError for options that are left over."""
    if options:
        raise TypeError(f"{name}: the argument {next(iter(options))!r} is not recorded")


def _in_loop_of(ufunc: np.ufunc, nodes: list[Node], dtype: np.dtype) -> list[Node]:
    """Arguments in the dtypes of the loop whose result is ``dtype``."""
    given: list[Any] = [type(n.dtype.type(0).item()) if n.weak else n.dtype for n in nodes]
    free = (None,) * len(nodes)
    loop = ufunc.resolve_dtypes((*given, None), signature=(*free, dtype))
    return [build.astype(n, d) for n, d in zip(nodes, loop, strict=False)]


def apply_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record a NumPy function with a lazy array among its arguments, as ``fft_fused.xp`` has it."""
    if function in _NEED_VALUES:
        raise TypeError(
            f"numpy.{_name(function)} needs the values of a lazy array; call .compute() on it first"
        )
    found = _table().get(function)
    if found is None:
        raise cannot(f"numpy.{_name(function)}")
    if kwargs.get("out", "absent") is None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    return found(*args, **kwargs)


_NEED_VALUES = frozenset(
    (np.allclose, np.array_equal, np.array_equiv, np.array2string, np.array_repr, np.array_str)
)


def _size(a: Any, axis: int | None = None) -> int:
    return int(a.size if axis is None else a.shape[axis])


_ATTRIBUTES: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: _size,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
}


def _name(function: Callable[..., Any]) -> str:
    module = getattr(function, "__module__", "numpy").removeprefix("numpy").lstrip(".")
    return f"{module}.{function.__name__}" if module else function.__name__


@cache
def _table() -> dict[Callable[..., Any], Callable[..., Any]]:
    """NumPy function -> ours, by name, for everything both namespaces have."""
    from . import transforms, xp

    table = dict(_ATTRIBUTES)
    for name in xp.__all__:
        theirs, ours = getattr(np, name, None), getattr(xp, name)
        if callable(theirs) and callable(ours) and not isinstance(theirs, type | np.ufunc):
            table[theirs] = ours
    for name in transforms.__all__:
        theirs = getattr(np.fft, name, None)
        if theirs is not None:
            table[theirs] = getattr(transforms, name)
    table[np.lib.stride_tricks.sliding_window_view] = xp.sliding_window_view
    return table
