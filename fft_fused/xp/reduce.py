"""Reductions and running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..expr import build
from ..record import as_node, wrap, written


def _reduce(op: str, x: Any, axis: Any, keepdims: bool, dtype: Any = None, out: Any = None) -> Any:
    return written(wrap(build.reduce(op, as_node(x), axis, keepdims, dtype)), out, op)


def sum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Sum over axes (None: all), accumulated in the result's dtype.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.sum(xp.arange(4)).compute()
    array(6)
    """
    return _reduce("sum", x, axis, keepdims, dtype, out)


def prod(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Product over axes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.prod([2, 3]).compute()
    array(6)
    """
    return _reduce("prod", x, axis, keepdims, dtype, out)


def mean(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Mean over axes; integers give float64.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.mean([[1, 2], [3, 4]], axis=0).compute()
    array([2., 3.])
    """
    return _reduce("mean", x, axis, keepdims, dtype, out)


def max(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Largest over axes; NaN wins.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.max([[1, 2], [3, 4]], axis=1).compute()
    array([2, 4])
    """
    return _reduce("max", x, axis, keepdims, None, out)


def min(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Smallest over axes; NaN wins.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.min([[1, 2], [3, 4]], axis=1).compute()
    array([1, 3])
    """
    return _reduce("min", x, axis, keepdims, None, out)


def any(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """True anywhere along axes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.any([[True, False]], axis=0).compute()
    array([ True, False])
    """
    return _reduce("any", x, axis, keepdims, None, out)


def all(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """True everywhere along axes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.all([[True, False]], axis=1).compute()
    array([False])
    """
    return _reduce("all", x, axis, keepdims, None, out)


def argmax(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis (None: of the flattened array).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.argmax([[1, 5, 2]], axis=1).compute()
    array([1])
    """
    return _reduce("argmax", x, axis, keepdims, None, out)


def argmin(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Index of the first smallest element along an axis.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.argmin([[1, 5, 2]], axis=1).compute()
    array([0])
    """
    return _reduce("argmin", x, axis, keepdims, None, out)


def var(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    **names: Any,
) -> Any:
    """Mean squared modulus of the deviation from the mean, over ``n - ddof``.

    Parameters
    ----------
    dtype : dtype, optional
        To compute in; not for complex arrays.

    Notes
    -----
    As in NumPy, ``correction`` is the array API's name of ``ddof``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.var([[1.0, 3.0]], axis=1).compute()
    array([1.])
    """
    return written(_variance(x, axis, dtype, ddof, keepdims, names), out, "var")


def std(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    **names: Any,
) -> Any:
    """Square root of ``var``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.std([[1.0, 3.0]], axis=1).compute()
    array([1.])
    """
    variance = _variance(x, axis, dtype, ddof, keepdims, names)
    return written(wrap(build.elementwise("sqrt", variance.node)), out, "std")


def _variance(
    x: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, names: dict[str, Any]
) -> Any:
    ddof = names.pop("correction", ddof)
    if names:
        raise TypeError(f"var() got an unexpected argument {next(iter(names))!r}")
    array = wrap(as_node(x))
    axes = build.normalize_axes(axis, array.ndim)
    if dtype is not None and array.dtype.kind == "c":
        raise TypeError("var: the argument 'dtype' is not recorded for complex arrays")
    if dtype is not None or array.dtype.kind in "iub":
        array = array.astype(np.float64 if dtype is None else dtype)
    count = math.prod(array.shape[a] for a in axes)
    deviation = array - sum(array, axis=axes, keepdims=True) / count
    if deviation.dtype.kind == "c":
        square = deviation.real**2 + deviation.imag**2
    else:
        square = deviation * deviation
    total = sum(square, axis=axes, keepdims=keepdims)
    return total / (count - ddof if count > ddof else 0)


def cumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sum along an axis (None: of the flattened array); runs on whole arrays.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.cumsum([1, 2, 3]).compute()
    array([1, 3, 6])
    """
    node = as_node(x)
    if axis is None:
        node, axis = build.reshape(node, (node.size,)), 0
    given = node if dtype is None else build.astype(node, dtype)
    return written(wrap(build.cumsum(given, axis)), out, "cumsum")


def cumulative_sum(x: Any, *, axis: Any = None, dtype: Any = None) -> Any:
    """``cumsum`` under the array API's name.

    Raises
    ------
    ValueError
        Without ``axis`` for an array of several axes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.cumulative_sum([1, 2, 3]).compute()
    array([1, 3, 6])
    """
    if axis is None and as_node(x).ndim != 1:
        raise ValueError("cumulative_sum: axis must be given for an array of several axes")
    return cumsum(x, axis, dtype)


amax = max
amin = min


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero.

    Examples
    --------
    >>> from fft_fused import xp
    >>> int(xp.count_nonzero([0, 1, 2]).compute())
    2
    """
    node = as_node(x)
    truth = build.elementwise("not_equal", node, build.const(node.dtype.type(0)))
    return wrap(build.reduce("sum", truth, axis, keepdims, np.dtype(np.intp)))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sum over an axis of ``conj(x1) * x2``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> float(xp.vecdot([1.0, 2.0], [3.0, 4.0]).compute())
    11.0
    """
    product = build.elementwise(
        "multiply", build.elementwise("conjugate", as_node(x1)), as_node(x2)
    )
    return wrap(build.reduce("sum", product, axis, False, product.dtype))


__all__ = [
    *("count_nonzero", "vecdot"),
    *("all", "amax", "amin", "any", "argmax", "argmin", "cumsum", "cumulative_sum", "max", "mean"),
    *("min", "prod", "std", "sum", "var"),
]
