"""Arrays from nothing: ranges, constants, grids. Their values are functions of the index."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..expr import build
from ..record import as_lazy, as_node, is_lazy, operate, table, wrap
from ..runtime.arrays import is_foreign_array
from ..runtime.exchange import known


def asarray(x: Any, dtype: Any = None, *, copy: bool | None = None, device: Any = None) -> Any:
    """A lazy array of an array, a number or a nested sequence.

    Values on the host may so be used with arrays on a GPU: they are copied there at every call.

    Parameters
    ----------
    x : array_like or LazyArray
    dtype : dtype, optional
        Converted to it.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.asarray([1, 2], "f4")
    LazyArray(f4[2], 1 nodes)
    """
    _check_device(device)
    if is_lazy(x) and not copy and (dtype is None or np.dtype(dtype) == x.dtype):
        return x
    if isinstance(x, list | tuple) and any(is_lazy(v) for v in x):
        node = as_node(x)
    elif isinstance(x, np.ndarray | np.generic):
        node = table(x)
    else:
        node = as_node(x) if is_foreign_array(x) else table(np.asarray(x, dtype))
    return wrap(node if dtype is None else build.astype(node, dtype))


def _check_device(device: Any) -> None:
    """Values made from nothing belong anywhere, so that any device of lazy arrays will do."""
    if device not in (None, "cpu") and not re.fullmatch(r"cuda:\d+", str(device)):
        raise ValueError(f"device {device!r}: need None, 'cpu' or as 'cuda:0'")


def array(x: Any, dtype: Any = None) -> Any:
    """Like ``asarray``; a view of nothing.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.array([1, 2]).compute()
    array([1, 2])
    """
    return asarray(x, dtype).copy("K")


def ascontiguousarray(x: Any, dtype: Any = None) -> Any:
    """Like ``asarray``: results are always in C order.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.ascontiguousarray([[1, 2]])
    LazyArray(i8[1,2], 1 nodes)
    """
    return asarray(x, dtype)


def copy(x: Any) -> Any:
    """The same values, a view of nothing.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.copy([1, 2]).compute()
    array([1, 2])
    """
    return as_lazy(x).copy("K")


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Any:
    """``numpy.arange``: the index as an array.

    Raises
    ------
    ValueError
        When the step is zero or the limits are not finite.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.arange(1, 2, 0.25).compute()
    array([1.  , 1.25, 1.5 , 1.75])
    """
    _check_device(device)
    start, stop = (0, start) if stop is None else (start, stop)
    start, stop, step = map(_number, (start, stop, step))
    found = np.arange(*(type(v)(k) for v, k in ((start, 0), (stop, 0), (step, 1)))).dtype
    found = found if dtype is None else np.dtype(dtype)
    start, stop, step = (v.item() if isinstance(v, np.generic) else v for v in (start, stop, step))
    if step == 0 or not all(map(math.isfinite, (start, stop, step))):
        raise ValueError(f"arange: start {start}, stop {stop}, step {step} make no range")
    if found.kind == "b":
        raise TypeError("arange: dtype bool makes no range")
    count = max(0, math.ceil((stop - start) / step))
    return wrap(build.iota(start, step, count, found))


def _number(value: Any) -> Any:
    """A Python or NumPy number; asks a recorded number for its value."""
    if is_lazy(value):
        return float(value) if value.dtype.kind == "f" else int(value)
    return value if isinstance(value, float | np.generic) else operator.index(value)


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Any:
    """``num`` evenly spaced values, with the rounding of ``numpy.linspace``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.linspace(0, 1, 3).compute()
    array([0. , 0.5, 1. ])
    """
    _check_device(device)
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    intervals = num - 1 if endpoint else num
    begin, end = float(known(start, "linspace: start")), float(known(stop, "linspace: stop"))
    values = wrap(build.iota(0, 1, num, np.dtype("f8")))
    step = (end - begin) / intervals if intervals > 0 else math.nan
    if intervals <= 0:
        values = values * (end - begin)
    elif step == 0:
        values = values / intervals * (end - begin)
    else:
        values = values * step
    values = values + begin
    if endpoint and num > 1:
        values[-1] = end
    target = np.dtype("f8") if dtype is None else np.dtype(dtype)
    if target.kind in "iu":
        values = wrap(build.elementwise("floor", values.node))
    return values.astype(target)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """One value everywhere.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.full(3, 2.5).compute()
    array([2.5, 2.5, 2.5])
    """
    _check_device(device)
    dims = (shape,) if not isinstance(shape, Sequence) else tuple(shape)
    dims = tuple(operator.index(n) for n in dims)
    if min(dims, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    node = as_node(fill_value)
    target = np.dtype(dtype) if dtype is not None else node.dtype
    return wrap(build.broadcast_to(build.astype(node, target), dims))


def zeros(shape: Any, dtype: Any = np.float64, *, device: Any = None) -> Any:
    """Zeros everywhere.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.zeros((2, 3))
    LazyArray(f8[2,3], 3 nodes)
    """
    return full(shape, 0, dtype or np.float64, device=device)


def ones(shape: Any, dtype: Any = np.float64, *, device: Any = None) -> Any:
    """Ones everywhere.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.ones(2, "c8").compute()
    array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    return full(shape, 1, dtype or np.float64, device=device)


empty = zeros


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Any:
    """One value, in the shape and dtype of ``x``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.full_like(xp.arange(3), 7).compute()
    array([7, 7, 7])
    """
    return full(x.shape if shape is None else shape, fill_value, dtype or x.dtype, device=device)


def zeros_like(x: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros in the shape and dtype of ``x``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.zeros_like(xp.arange(3)).compute()
    array([0, 0, 0])
    """
    return full_like(x, 0, dtype, shape, device=device)


def ones_like(x: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones in the shape and dtype of ``x``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.ones_like(xp.arange(3)).compute()
    array([1, 1, 1])
    """
    return full_like(x, 1, dtype, shape, device=device)


empty_like = zeros_like


def eye(
    n: int, m: int | None = None, k: int = 0, dtype: Any = np.float64, *, device: Any = None
) -> Any:
    """Ones on a diagonal.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.eye(2).compute()
    array([[1., 0.],
           [0., 1.]])
    """
    _check_device(device)
    rows, columns = arange(n), arange(n if m is None else m)
    return operate("equal", rows[:, None] + k, columns).astype(dtype or np.float64)


def meshgrid(*axes: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate grids, broadcast and not stored.

    Examples
    --------
    >>> from fft_fused import xp
    >>> [g.shape for g in xp.meshgrid(xp.arange(3), xp.arange(2))]
    [(2, 3), (2, 3)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [as_lazy(a).reshape(-1) for a in axes]
    count = len(lines)
    place = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shape = [0] * count
    for line, axis in zip(lines, place, strict=True):
        shape[axis] = line.size
    grids = []
    for line, axis in zip(lines, place, strict=True):
        dims = [line.size if i == axis else 1 for i in range(count)]
        grids.append(wrap(build.broadcast_to(line.reshape(dims).node, tuple(shape))))
    return tuple(grids)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The elements on and below a diagonal, zeros above.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.tril(xp.ones((2, 2), dtype=int)).compute()
    array([[1, 0],
           [1, 1]])
    """
    return _triangle(x, "greater_equal", k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The elements on and above a diagonal, zeros below.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.triu(xp.ones((2, 2), dtype=int)).compute()
    array([[1, 1],
           [0, 1]])
    """
    return _triangle(x, "less_equal", k)


def _triangle(x: Any, op: str, k: int) -> Any:
    node = as_node(x)
    if node.ndim < 2:
        raise ValueError(f"need an array of at least 2 dimensions, got {node.ndim}")
    rows, columns = (arange(n) for n in node.shape[-2:])
    kept = build.elementwise(op, (rows[:, None] + k).node, columns.node)
    return wrap(build.elementwise("where", kept, node, build.const(node.dtype.type(0))))


__all__ = [
    *("tril", "triu"),
    *("arange", "array", "asarray", "ascontiguousarray", "copy", "empty", "empty_like", "eye"),
    *("full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "zeros", "zeros_like"),
]
