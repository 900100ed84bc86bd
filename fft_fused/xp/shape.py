"""Shapes and axes: views of the same elements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import aliasing
from ..expr import build
from ..expr.node import Node
from ..record import as_lazy


def read_only(x: Any, read: Callable[[Node], Node], what: str) -> Any:
    """A view that follows ``x`` and cannot be written through."""
    from ..lazy import LazyArray

    return LazyArray.through(aliasing.read_only(as_lazy(x), read, what))


def reshape(x: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The same elements in another shape, in C order.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.reshape(xp.arange(4), (2, 2)).compute()
    array([[0, 1],
           [2, 3]])
    """
    return as_lazy(x).reshape(shape, order=order, copy=copy)


def ravel(x: Any, order: str = "C") -> Any:
    """One axis.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.ravel([[1, 2], [3, 4]]).compute()
    array([1, 2, 3, 4])
    """
    return as_lazy(x).ravel(order)


def transpose(x: Any, axes: Any = None) -> Any:
    """Permuted axes; reversed when None.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.transpose(xp.ones((2, 3)))
    LazyArray(f8[3,2], 4 nodes)
    """
    return as_lazy(x).transpose() if axes is None else as_lazy(x).transpose(tuple(axes))


permute_dims = transpose


def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.matrix_transpose(xp.ones((5, 2, 3)))
    LazyArray(f8[5,3,2], 4 nodes)
    """
    return as_lazy(x).mT


def swapaxes(x: Any, a: int, b: int) -> Any:
    """Two axes exchanged.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.swapaxes(xp.ones((5, 2, 3)), 0, 2)
    LazyArray(f8[3,2,5], 4 nodes)
    """
    return as_lazy(x).swapaxes(a, b)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the others keep their order.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.moveaxis(xp.ones((5, 2, 3)), 0, -1)
    LazyArray(f8[2,3,5], 4 nodes)
    """
    array = as_lazy(x)
    origin = build.normalize_axes(source, array.ndim)
    target = build.normalize_axes(destination, array.ndim)
    if len(origin) != len(target):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [a for a in range(array.ndim) if a not in origin]
    for place, axis in sorted(zip(target, origin, strict=True)):
        order.insert(place, axis)
    return array.transpose(order)


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """New axes of length one at the places ``axis`` of the result.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.expand_dims([1, 2], 0)
    LazyArray(i8[1,2], 2 nodes)
    """
    array = as_lazy(x)
    count = len(axis) if isinstance(axis, Sequence) else 1
    places = build.normalize_axes(axis, array.ndim + count)
    shape = iter(array.shape)
    return array.reshape([1 if i in places else next(shape) for i in range(array.ndim + count)])


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of length one.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.squeeze([[1, 2]])
    LazyArray(i8[2], 2 nodes)
    """
    return as_lazy(x).squeeze(axis)


def broadcast_to(x: Any, shape: Any) -> Any:
    """Axes of length one repeated; a read-only view.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.broadcast_to([1, 2], (2, 2)).compute()
    array([[1, 2],
           [1, 2]])
    """
    dims = extents(shape)
    return read_only(x, lambda p: build.broadcast_to(p, dims), "broadcast_to")


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """All in their common shape.

    Examples
    --------
    >>> from fft_fused import xp
    >>> [a.shape for a in xp.broadcast_arrays([1, 2], [[3], [4]])]
    [(2, 2), (2, 2)]
    """
    lazies = [as_lazy(a) for a in arrays]
    shape = build.broadcast_shapes("broadcast_arrays", [a.shape for a in lazies])
    return tuple(broadcast_to(a, shape) for a in lazies)


def extents(shape: Any) -> tuple[int, ...]:
    """One extent or several as a tuple of ints."""
    sequence = shape if isinstance(shape, Sequence) else (shape,)
    return tuple(operator.index(n) for n in sequence)


def flip(x: Any, axis: Any = None) -> Any:
    """Reversed along axes (None: all).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.flip(xp.arange(3)).compute()
    array([2, 1, 0])
    """
    array = as_lazy(x)
    axes = build.normalize_axes(axis, array.ndim)
    return array[
        tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(array.ndim))
    ]


def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis.

    Examples
    --------
    >>> from fft_fused import xp
    >>> [row.compute() for row in xp.unstack([[1, 2], [3, 4]])]
    [array([1, 2]), array([3, 4])]
    """
    array = moveaxis(x, axis, 0)
    return tuple(array[i] for i in range(array.shape[0]))


def atleast_1d(x: Any) -> Any:
    """With one axis at least.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.atleast_1d(3.0).shape
    (1,)
    """
    array = as_lazy(x)
    return array.reshape((1,)) if array.ndim == 0 else array


def atleast_2d(x: Any) -> Any:
    """With two axes at least; new ones come first.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.atleast_2d([1.0, 2.0]).shape
    (1, 2)
    """
    array = atleast_1d(x)
    return array.reshape((1, *array.shape)) if array.ndim == 1 else array


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return np.broadcast_shapes(*shapes)


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
    "unstack",
]
