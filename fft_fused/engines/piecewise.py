"""Elementwise work on shifted arguments, cell by cell: a shift that is read costs no copy."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ..expr.index import AxisMap

Range = tuple[int, int, int]  # start, stop, step
MOST_CELLS = 9


@dataclass(frozen=True, slots=True)
class Cell:
    """A box of the result: ranges by axis, and where each argument is read there.

    An argument's range is None where the map has its fill value.
    """

    out: dict[int, Range]
    reads: tuple[dict[int, Range | None], ...]


def cells(maps: Sequence[dict[int, AxisMap]]) -> list[Cell]:
    """The boxes in which every map is one piece.

    Parameters
    ----------
    maps : sequence of dict
        For each argument, axis of the result -> map along it; axes without a map are read as
        they are.
    """
    axes = sorted({axis for m in maps for axis in m})
    intervals = [_intervals([m[axis] for m in maps if axis in m]) for axis in axes]
    return [
        Cell(
            {axis: (lo, hi, 1) for axis, (lo, hi) in zip(axes, box, strict=True)},
            tuple(
                {
                    axis: _source(m[axis], lo, hi) if axis in m else (lo, hi, 1)
                    for axis, (lo, hi) in zip(axes, box, strict=True)
                }
                for m in maps
            ),
        )
        for box in itertools.product(*intervals)
    ]


def count_cells(maps: Sequence[dict[int, AxisMap]]) -> int:
    """How many boxes there would be."""
    total = 1
    for axis in {axis for m in maps for axis in m}:
        total *= len(_intervals([m[axis] for m in maps if axis in m]))
    return total


def _intervals(maps: Sequence[AxisMap]) -> list[tuple[int, int]]:
    bounds: set[int] = set()
    for mapping in maps:
        low = 0
        for piece in mapping.pieces:
            bounds |= {low, low + piece.count}
            low += piece.count
    return list(itertools.pairwise(sorted(bounds)))


def _source(mapping: AxisMap, lo: int, hi: int) -> Range | None:
    (piece,) = mapping.select(lo, 1, hi - lo)
    if piece.start is None:
        return None
    return (piece.start, piece.start + piece.count * piece.step, piece.step)


def slice_text(ranges: dict[int, Range], ndim: int) -> str:
    """``[:, 0:512]`` for ranges by axis."""
    parts = [_range_text(ranges[a]) if a in ranges else ":" for a in range(ndim)]
    while parts and parts[-1] == ":":
        parts.pop()
    return f"[{', '.join(parts)}]" if parts else ""


def _range_text(bounds: Range) -> str:
    start, stop, step = bounds
    return f"{start}:{'' if stop < 0 else stop}" + (f":{step}" if step != 1 else "")
