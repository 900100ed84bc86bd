"""Memory of a block: arrays of a thread, reused as soon as the values in them are dead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expr.node import Node
from .blocking import Extent


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array of a thread: axes in terms of loops, dtype, and the region whose memory it is."""

    axes: tuple[Extent, ...]
    dtype: np.dtype
    region: int

    def shape(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """For blocks of these lengths."""
        return tuple(
            e.size if e.loop is None else lengths[e.loop] + e.after - e.before for e in self.axes
        )


class Memory:
    """Which region of memory each value of a block lies in.

    ``until`` says at which position a value is last read, views of it included.
    """

    def __init__(self, axes: dict[int, tuple[Extent, ...]], until: dict[int, int]) -> None:
        self._axes, self._until = axes, until
        self._region: dict[int, int | None] = {}
        self._members: dict[int, list[Node]] = {}
        self._pools: dict[tuple[tuple[Extent, ...], int], list[int]] = {}
        self._repeats: set[int] = set()  # views that show an element several times
        self._count = 0
        self.buffers: list[Buffer] = []

    def share(self, node: Node, other: Node) -> None:
        """``node`` lies where ``other`` does: a view of it, or written over it."""
        self._own(node, self._region.get(id(other)))
        if node.op == "broadcast_to" or id(other) in self._repeats:
            self._repeats.add(id(node))

    def outside(self, node: Node) -> None:
        """``node`` lies in no buffer: an input or a result."""
        self._own(node, None)

    def place(self, node: Node, position: int) -> int:
        """A buffer for ``node``: its number."""
        axes, size = self._axes[id(node)], node.dtype.itemsize
        pool = self._pools.setdefault((axes, size), [])
        region = next((r for r in pool if self._is_free(r, position)), None)
        if region is None:
            region, self._count = self._count, self._count + 1
            pool.append(region)
        self._own(node, region)
        wanted = Buffer(axes, node.dtype, region)
        if wanted not in self.buffers:
            self.buffers.append(wanted)
        return self.buffers.index(wanted)

    def may_overwrite(self, arg: Node, node: Node, position: int) -> bool:
        """Can ``node`` be written where ``arg`` lies, which dies here?"""
        region = self._region.get(id(arg))
        return (
            region is not None
            and id(arg) not in self._repeats
            and arg.dtype == node.dtype
            and arg.shape == node.shape
            and self._axes[id(arg)] == self._axes[id(node)]
            and all(self._until[id(m)] <= position for m in self._members[region])
        )

    def _own(self, node: Node, region: int | None) -> None:
        self._region[id(node)] = region
        if region is not None:
            self._members.setdefault(region, []).append(node)

    def _is_free(self, region: int, position: int) -> bool:
        return all(self._until[id(m)] < position for m in self._members.get(region, []))
