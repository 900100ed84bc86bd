"""NumPy's override protocols: which ufuncs and functions are recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .expr import build
from .expr.node import Node
from .expr.ops import COMMUTATIVE_REDUCTIONS, OPS, ufunc_of
from .record import as_node, is_lazy, wrap

_UFUNCS = {u: name for name in OPS if (u := ufunc_of(name)) is not None}


def _cannot(name: str) -> TypeError:
    return TypeError(
        f"fft_fused cannot record numpy.{name}. Compute it outside and pass it in, "
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
    if method == "reduce":
        return _reduce(ufunc, inputs, kwargs)
    name = ufunc.__name__
    if method != "__call__":
        raise _cannot(f"{name}.{method}")
    out, dtype = kwargs.pop("out", None), kwargs.pop("dtype", None)
    if kwargs:
        raise TypeError(f"numpy.{name}: the argument {next(iter(kwargs))!r} is not recorded")
    if ufunc is np.matmul:
        result = wrap(build.matmul(*map(as_node, inputs)))
    elif ufunc in _UFUNCS:
        nodes = [as_node(i) for i in inputs]
        if dtype is not None:
            nodes = _in_loop_of(ufunc, nodes, np.dtype(dtype))
        result = wrap(build.elementwise(_UFUNCS[ufunc], *nodes))
    else:
        raise _cannot(name)
    return result if out is None else _into(out, result, name)


def _in_loop_of(ufunc: np.ufunc, nodes: list[Node], dtype: np.dtype) -> list[Node]:
    """Arguments in the dtypes of the loop whose result is ``dtype``."""
    given: list[Any] = [type(n.dtype.type(0).item()) if n.weak else n.dtype for n in nodes]
    free = (None,) * len(nodes)
    loop = ufunc.resolve_dtypes((*given, None), signature=(*free, dtype))
    return [build.astype(n, d) for n, d in zip(nodes, loop, strict=False)]


def _into(out: Any, result: Any, name: str) -> Any:
    target = out[0] if isinstance(out, tuple) else out
    if not is_lazy(target):
        raise TypeError(
            f"numpy.{name}: the result is lazy and cannot be written into a NumPy array; "
            "use .compute(out=...)"
        )
    return target.assign(result, name)


def _reduce(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    op = next((n for n, u in COMMUTATIVE_REDUCTIONS.items() if u is ufunc), None)
    if op is None:
        raise _cannot(f"{ufunc.__name__}.reduce")
    axis, keepdims = kwargs.pop("axis", 0), kwargs.pop("keepdims", False)
    dtype, out = kwargs.pop("dtype", None), kwargs.pop("out", None)
    if kwargs or out is not None:
        what = next(iter(kwargs), "out")
        raise TypeError(f"numpy.{ufunc.__name__}.reduce: the argument {what!r} is not recorded")
    return wrap(build.reduce(op, as_node(inputs[0]), axis, keepdims, dtype))


def apply_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Record a NumPy function with a lazy array among its arguments, as ``fft_fused.xp`` has it."""
    if function in _NEED_VALUES:
        raise TypeError(
            f"numpy.{_name(function)} needs the values of a lazy array; call .compute() on it first"
        )
    found = _table().get(function)
    if found is None:
        raise _cannot(_name(function))
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
