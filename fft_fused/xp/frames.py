"""Overlapping frames, read-only views of an array's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..expr import build
from ..expr.memory import frames, memory_strides
from ..expr.node import Node
from ..record import as_lazy
from .shape import extents, read_only


def as_strided(x: Any, shape: Any = None, strides: Any = None, **flags: Any) -> Any:
    """Frames by shape and strides (bytes), read-only and checked to stay inside ``x``.

    Raises
    ------
    ValueError
        When the frames reach outside the memory of ``x``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.as_strided(xp.arange(5), (2, 3), (16, 8)).compute()
    array([[0, 1, 2],
           [2, 3, 4]])
    """
    array = as_lazy(x)
    own = memory_strides(array.node)
    dims = array.shape if shape is None else extents(shape)
    steps = own if strides is None else extents(strides)

    def read(p: Node) -> Node:
        if memory_strides(p) != own:
            raise TypeError(
                "as_strided: the array was written to and is now in C order, the strides are not; "
                "write first, or use sliding_window_view"
            )
        return frames(p, dims, steps)

    return read_only(array, read, "as_strided")


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, **flags: Any) -> Any:
    """``numpy.lib.stride_tricks.sliding_window_view``: windows on new last axes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.sliding_window_view(xp.arange(4), 3).compute()
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    array, window = as_lazy(x), extents(window_shape)
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

    return read_only(array, read, "sliding_window_view")


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Non-negative axes, repeats allowed."""
    sequence = axis if isinstance(axis, Sequence) else (axis,)
    return tuple(build.normalize_axis(a, ndim) for a in sequence)


__all__ = [
    "as_strided",
    "sliding_window_view",
]
