"""Index maps, joins and products: shifts, borders, repeats, neighbours."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..expr import build
from ..record import as_lazy, as_node, wrap, written
from ..runtime.exchange import known
from .create import asarray
from .shape import extents


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Circular shift along axes (None: of the flattened array).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.roll(xp.arange(4), 1).compute()
    array([3, 0, 1, 2])
    """
    node = as_node(x)
    if axis is None:
        flat = build.reshape(node, (node.size,))
        total = operator.index(np.sum(shift))
        return wrap(build.reshape(build.roll(flat, [(0, total)]), node.shape))
    pairs = np.broadcast(np.atleast_1d(shift), np.atleast_1d(axis))
    for s, a in pairs:
        node = build.roll(node, [(build.normalize_axis(a, node.ndim), operator.index(s))])
    return wrap(node)


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """Constant borders.

    Raises
    ------
    TypeError
        For modes other than "constant".

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.pad([1, 2], (1, 2)).compute()
    array([0, 1, 2, 0, 0])
    """
    node = as_node(x)
    if mode != "constant":
        raise TypeError(f"pad: mode {mode!r} is not recorded; only 'constant'")
    if isinstance(pad_width, dict):
        listed = [(0, 0)] * node.ndim
        for axis, width in pad_width.items():
            listed[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = listed
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    borders = np.broadcast_to(widths, (node.ndim, 2)).tolist()
    fills = np.broadcast_to(known(constant_values, "pad: constant_values"), (node.ndim, 2))
    for axis, ((before, after), (low, high)) in enumerate(zip(borders, fills, strict=True)):
        around = [(0, 0)] * node.ndim
        for width, fill in (((before, 0), low), ((0, after), high)):
            node = build.pad(node, [*around[:axis], width, *around[axis + 1 :]], fill)
    return wrap(node)


def concatenate(arrays: Any, axis: int | None = 0) -> Any:
    """Joined along an axis (None: flattened).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.concatenate([[1], [2.5]]).compute()
    array([1. , 2.5])
    """
    nodes = [as_node(a) for a in arrays]
    if axis is None:
        nodes, axis = [build.reshape(n, (n.size,)) for n in nodes], 0
    return wrap(build.concat(nodes, axis))


concat = concatenate


def stack(arrays: Any, axis: int = 0) -> Any:
    """Joined along a new axis.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.stack([[1, 2], [3, 4]], axis=1).compute()
    array([[1, 3],
           [2, 4]])
    """
    nodes = [as_node(a) for a in arrays]
    if len({n.shape for n in nodes}) > 1:
        raise ValueError("all input arrays must have the same shape")
    if not nodes:
        raise ValueError("need at least one array to stack")
    place = build.normalize_axis(axis, nodes[0].ndim + 1)
    shape = nodes[0].shape[:place] + (1,) + nodes[0].shape[place:]
    return wrap(build.concat([build.reshape(n, shape) for n in nodes], place))


def tile(x: Any, reps: Any) -> Any:
    """The array repeated ``reps`` times along each axis.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.tile([1, 2], 2).compute()
    array([1, 2, 1, 2])
    """
    array, counts = as_lazy(x), extents(reps)
    ndim = max(array.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - array.ndim) + array.shape
    split = tuple(n for s in shape for n in (1, s))
    whole = tuple(n for c, s in zip(counts, shape, strict=True) for n in (c, s))
    spread = build.broadcast_to(array.reshape(split).node, whole)
    return wrap(build.reshape(spread, tuple(c * s for c, s in zip(counts, shape, strict=True))))


def repeat(x: Any, repeats: int, axis: int | None = None) -> Any:
    """Each element ``repeats`` times along an axis (None: of the flattened array).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.repeat([1, 2], 2).compute()
    array([1, 1, 2, 2])
    """
    array = as_lazy(x)
    count = operator.index(repeats)
    if axis is None:
        array, axis = array.ravel(), 0
    place = build.normalize_axis(axis, array.ndim)
    shape = array.shape
    split = (*shape[: place + 1], 1, *shape[place + 1 :])
    whole = (*shape[: place + 1], count, *shape[place + 1 :])
    spread = build.broadcast_to(array.reshape(split).node, whole)
    return wrap(build.reshape(spread, (*shape[:place], shape[place] * count, *shape[place + 1 :])))


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours, ``n`` times.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.diff([1, 4, 9]).compute()
    array([3, 5])
    """
    array = as_lazy(x)
    place = build.normalize_axis(axis, array.ndim)
    before = (slice(None),) * place
    for _ in range(n):
        high, low = array[(*before, slice(1, None))], array[(*before, slice(None, -1))]
        array = high != low if array.dtype.kind == "b" else high - low
    return array


def take(x: Any, indices: Any, axis: int | None = None, out: Any = None) -> Any:
    """Elements at integer indices along an axis (None: of the flattened array).

    Indices that are no array belong anywhere, as in ``take(x, [2, 0])`` of an array on a GPU.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.take([5, 6, 7], [2, 0]).compute()
    array([7, 5])
    """
    node = as_node(x)
    if axis is None:
        node, axis = build.reshape(node, (node.size,)), 0
    places = asarray(indices).node if isinstance(indices, list | tuple) else as_node(indices)
    return written(wrap(build.take(node, places, axis)), out, "take")


def matmul(a: Any, b: Any, out: Any = None) -> Any:
    """Matrix product; runs on whole arrays.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.matmul([[1, 2]], [[3], [4]]).compute()
    array([[11]])
    """
    return written(wrap(build.matmul(as_node(a), as_node(b))), out, "matmul")


__all__ = [
    "concat",
    "concatenate",
    "diff",
    "matmul",
    "pad",
    "repeat",
    "roll",
    "stack",
    "take",
    "tile",
]
