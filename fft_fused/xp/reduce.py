"""Reductions and running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..expr import build
from ..record import as_node, wrap


def _reduce(op: str, x: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
    return wrap(build.reduce(op, as_node(x), axis, keepdims, dtype))


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sum over axes (None: all), accumulated in the result's dtype."""
    return _reduce("sum", x, axis, keepdims, dtype)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Product over axes."""
    return _reduce("prod", x, axis, keepdims, dtype)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Mean over axes; integers give float64."""
    return _reduce("mean", x, axis, keepdims, dtype)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Largest over axes; NaN wins."""
    return _reduce("max", x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Smallest over axes; NaN wins."""
    return _reduce("min", x, axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """True anywhere along axes."""
    return _reduce("any", x, axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """True everywhere along axes."""
    return _reduce("all", x, axis, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis (None: of the flattened array)."""
    return _reduce("argmax", x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Index of the first smallest element along an axis."""
    return _reduce("argmin", x, axis, keepdims)


def var(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, **names: Any) -> Any:
    """Mean squared modulus of the deviation from the mean, over ``n - ddof``.

    Notes
    -----
    As in NumPy, ``correction`` is the array API's name of ``ddof``.
    """
    ddof = names.pop("correction", ddof)
    if names:
        raise TypeError(f"var() got an unexpected argument {next(iter(names))!r}")
    array = wrap(as_node(x))
    axes = build.normalize_axes(axis, array.ndim)
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    count = math.prod(array.shape[a] for a in axes)
    deviation = array - sum(array, axis=axes, keepdims=True) / count
    if deviation.dtype.kind == "c":
        square = deviation.real**2 + deviation.imag**2
    else:
        square = deviation * deviation
    total = sum(square, axis=axes, keepdims=keepdims)
    return total / (count - ddof if count > ddof else 0)


def std(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False, **names: Any) -> Any:
    """Square root of ``var``."""
    return wrap(build.elementwise("sqrt", as_node(var(x, axis, ddof, keepdims, **names))))


def cumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Running sum along an axis (None: of the flattened array); runs on whole arrays."""
    node = as_node(x)
    if axis is None:
        node, axis = build.reshape(node, (node.size,)), 0
    return wrap(build.cumsum(node if dtype is None else build.astype(node, dtype), axis))


def cumulative_sum(x: Any, *, axis: Any = None, dtype: Any = None) -> Any:
    """``cumsum`` under the array API's name.

    Raises
    ------
    ValueError
        Without ``axis`` for an array of several axes.
    """
    if axis is None and as_node(x).ndim != 1:
        raise ValueError("cumulative_sum: axis must be given for an array of several axes")
    return cumsum(x, axis, dtype)


amax = max
amin = min

__all__ = [
    *("all", "amax", "amin", "any", "argmax", "argmin", "cumsum", "cumulative_sum", "max", "mean"),
    *("min", "prod", "std", "sum", "var"),
]
