"""Sums over neighbours: of a few elements of a row, or of an element over a few adjacent rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..expr.node import Node
from .indexing import Index
from .steps import constant, steps

_POSITION = re.compile(r"\((.*) % (\d+)\)")


@dataclass(frozen=True, slots=True)
class Group:
    """``count`` neighbours are reduced to one.

    They are elements of a row, or rows along the axis of the batch with that ``name``; the first
    of them stand at ``first``, ``first + count`` and so on.
    """

    name: str
    count: int
    first: int = 0


def group_of(reduction: Node, index: Index) -> Group | None:
    """The neighbours that a reduction of the last axis runs over; None when it does other things.

    ``index`` is that of the reduced value. What it is made of must be a position in C order of
    which the last axis is the last digit, one name going up by one from neighbour to neighbour.
    """
    (value,) = reduction.args
    if reduction.attr[0] != (value.ndim - 1,) or value.ndim < 2:
        return None
    count = value.shape[-1]
    found = _POSITION.fullmatch(index[-1])
    if not found or int(found[2]) != count or index[-2] != f"({found[1]} / {count})":
        return None
    position = found[1]
    if re.search(r"[%/?]", position):
        return None
    inside = [name for name, step in steps(position).items() if step % count]
    if len(inside) != 1 or steps(position)[inside[0]] != 1:
        return None
    return Group(inside[0], count, int(-constant(position) % count))
