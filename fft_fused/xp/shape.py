"""Shapes, index maps, joins and frames."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import aliasing
from ..expr import build
from ..expr.memory import frames, memory_strides
from ..expr.node import Node
from ..record import as_node, is_lazy, wrap


def _lazy(x: Any) -> Any:
    return x if is_lazy(x) else wrap(as_node(x))


def _read_only(x: Any, read: Callable[[Node], Node], what: str) -> Any:
    from ..lazy import LazyArray

    return LazyArray.through(aliasing.read_only(_lazy(x), read, what))


def reshape(x: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The same elements in another shape, in C order."""
    return _lazy(x).reshape(shape, order=order, copy=copy)


def ravel(x: Any) -> Any:
    """One axis."""
    return _lazy(x).ravel()


def transpose(x: Any, axes: Any = None) -> Any:
    """Permuted axes; reversed when None."""
    return _lazy(x).transpose() if axes is None else _lazy(x).transpose(tuple(axes))


permute_dims = transpose


def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged."""
    return _lazy(x).mT


def swapaxes(x: Any, a: int, b: int) -> Any:
    """Two axes exchanged."""
    return _lazy(x).swapaxes(a, b)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places, the others keep their order."""
    array = _lazy(x)
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
    """New axes of length one at the places ``axis`` of the result."""
    array = _lazy(x)
    count = len(axis) if isinstance(axis, Sequence) else 1
    places = build.normalize_axes(axis, array.ndim + count)
    shape = iter(array.shape)
    return array.reshape([1 if i in places else next(shape) for i in range(array.ndim + count)])


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of length one."""
    return _lazy(x).squeeze(axis)


def broadcast_to(x: Any, shape: Any) -> Any:
    """Axes of length one repeated; a read-only view."""
    dims = _dims(shape)
    return _read_only(x, lambda p: build.broadcast_to(p, dims), "broadcast_to")


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """All in their common shape."""
    lazies = [_lazy(a) for a in arrays]
    shape = build.broadcast_shapes("broadcast_arrays", [a.shape for a in lazies])
    return tuple(broadcast_to(a, shape) for a in lazies)


def _dims(shape: Any) -> tuple[int, ...]:
    sequence = shape if isinstance(shape, Sequence) else (shape,)
    return tuple(operator.index(n) for n in sequence)


def flip(x: Any, axis: Any = None) -> Any:
    """Reversed along axes (None: all)."""
    array = _lazy(x)
    axes = build.normalize_axes(axis, array.ndim)
    return array[
        tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(array.ndim))
    ]


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Circular shift along axes (None: of the flattened array)."""
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
        For modes other than "constant" and several constants.
    """
    node = as_node(x)
    if mode != "constant":
        raise TypeError(f"pad: mode {mode!r} is not recorded; only 'constant'")
    if np.size(constant_values) != 1:
        raise TypeError("pad: one constant for all borders is recorded; pad axis by axis")
    if isinstance(pad_width, dict):
        listed = [(0, 0)] * node.ndim
        for axis, width in pad_width.items():
            listed[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = listed
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    borders = np.broadcast_to(widths, (node.ndim, 2)).tolist()
    return wrap(build.pad(node, [(b, a) for b, a in borders], np.reshape(constant_values, ())[()]))


def concatenate(arrays: Any, axis: int | None = 0) -> Any:
    """Joined along an axis (None: flattened)."""
    nodes = [as_node(a) for a in arrays]
    if axis is None:
        nodes, axis = [build.reshape(n, (n.size,)) for n in nodes], 0
    return wrap(build.concat(nodes, axis))


concat = concatenate


def stack(arrays: Any, axis: int = 0) -> Any:
    """Joined along a new axis."""
    nodes = [as_node(a) for a in arrays]
    if len({n.shape for n in nodes}) > 1:
        raise ValueError("all input arrays must have the same shape")
    if not nodes:
        raise ValueError("need at least one array to stack")
    place = build.normalize_axis(axis, nodes[0].ndim + 1)
    shape = nodes[0].shape[:place] + (1,) + nodes[0].shape[place:]
    return wrap(build.concat([build.reshape(n, shape) for n in nodes], place))


def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    array = moveaxis(x, axis, 0)
    return tuple(array[i] for i in range(array.shape[0]))


def tile(x: Any, reps: Any) -> Any:
    """The array repeated ``reps`` times along each axis."""
    array, counts = _lazy(x), _dims(reps)
    ndim = max(array.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - array.ndim) + array.shape
    split = tuple(n for s in shape for n in (1, s))
    whole = tuple(n for c, s in zip(counts, shape, strict=True) for n in (c, s))
    spread = build.broadcast_to(array.reshape(split).node, whole)
    return wrap(build.reshape(spread, tuple(c * s for c, s in zip(counts, shape, strict=True))))


def repeat(x: Any, repeats: int, axis: int | None = None) -> Any:
    """Each element ``repeats`` times along an axis (None: of the flattened array)."""
    array = _lazy(x)
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
    """Differences of neighbours, ``n`` times."""
    array = _lazy(x)
    place = build.normalize_axis(axis, array.ndim)
    before = (slice(None),) * place
    for _ in range(n):
        high, low = array[(*before, slice(1, None))], array[(*before, slice(None, -1))]
        array = high != low if array.dtype.kind == "b" else high - low
    return array


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements at integer indices along an axis (None: of the flattened array)."""
    node = as_node(x)
    if axis is None:
        node, axis = build.reshape(node, (node.size,)), 0
    return wrap(build.take(node, as_node(indices), axis))


def matmul(a: Any, b: Any) -> Any:
    """Matrix product; runs on whole arrays."""
    return wrap(build.matmul(as_node(a), as_node(b)))


def as_strided(x: Any, shape: Any = None, strides: Any = None, **flags: Any) -> Any:
    """Frames by shape and strides (bytes), read-only and checked to stay inside ``x``.

    Raises
    ------
    ValueError
        When the frames reach outside the memory of ``x``.
    """
    array = _lazy(x)
    own = memory_strides(array.node)
    dims = array.shape if shape is None else _dims(shape)
    steps = own if strides is None else _dims(strides)

    def read(p: Node) -> Node:
        if memory_strides(p) != own:
            raise TypeError(
                "as_strided: the array was written to and is now in C order, the strides are not; "
                "write first, or use sliding_window_view"
            )
        return frames(p, dims, steps)

    return _read_only(array, read, "as_strided")


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, **flags: Any) -> Any:
    """``numpy.lib.stride_tricks.sliding_window_view``: windows on new last axes."""
    array, window = _lazy(x), _dims(window_shape)
    axes = build.normalize_axes(axis, array.ndim) if axis is None else _axes(axis, array.ndim)
    if len(axes) != len(window):
        raise ValueError(
            f"sliding_window_view: window_shape {window} and axis {axes} differ in length"
        )
    if min(window, default=0) < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    shape = list(array.shape)
    for a, n in zip(axes, window, strict=True):
        if shape[a] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[a] -= n - 1

    def read(p: Node) -> Node:
        own = memory_strides(p)
        return frames(p, (*shape, *window), (*own, *(own[a] for a in axes)))

    return _read_only(array, read, "sliding_window_view")


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Non-negative axes, repeats allowed."""
    sequence = axis if isinstance(axis, Sequence) else (axis,)
    return tuple(build.normalize_axis(a, ndim) for a in sequence)


__all__ = [
    *("as_strided", "broadcast_arrays", "broadcast_to", "concat", "concatenate", "diff"),
    *("expand_dims", "flip", "matmul", "matrix_transpose", "moveaxis", "pad", "permute_dims"),
    *("ravel", "repeat", "reshape", "roll", "sliding_window_view", "squeeze", "stack"),
    *("swapaxes", "take", "tile", "transpose", "unstack"),
]
