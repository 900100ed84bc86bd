"""Blocks and tasks: how the loops of a problem are cut, and the fixed order of its sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Bounds = tuple[int, ...]  # lo0, hi0, lo1, hi1, ...

TASKS = 16
ACCUMULATOR_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """Blocks that one thread runs in order; ``group`` is the accumulator they add into."""

    blocks: tuple[Bounds, ...]
    group: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Tasks that may run in any order. It depends on shapes only, never on the number of threads,
    so results are the same bits whatever ``workers`` is."""

    lengths: tuple[int, ...]
    tasks: tuple[Task, ...]
    groups: int


def block_lengths(
    loops: Sequence[int],
    bytes_of: Callable[[tuple[int, ...]], int],
    target_bytes: int,
    least: int = 1,
    lanes: int = 1,
) -> tuple[int, ...]:
    """Block length of each loop: the innermost is filled first until ``target_bytes`` are reached.

    Parameters
    ----------
    loops : sequence of int
        Extents.
    bytes_of : callable
        Bytes of the largest value of a block of given lengths.
    least : int
        Of the innermost length, whatever its bytes.
    lanes : int
        The product of the lengths is a multiple of this where the extents allow it.
    """
    lengths = [1] * len(loops)
    for k in range(len(loops) - 1, -1, -1):
        low = min(loops[k], least if k == len(loops) - 1 else 1)
        lengths[k] = _longest(lengths, k, loops[k], max(low, 1), bytes_of, target_bytes)
        lengths[k] = _even(loops[k], lengths[k])
        if lengths[k] < loops[k]:
            break
    return _with_lanes(loops, lengths, lanes)


def _longest(
    lengths: list[int],
    k: int,
    extent: int,
    least: int,
    bytes_of: Callable[[tuple[int, ...]], int],
    target: int,
) -> int:
    def fits(length: int) -> bool:
        return bytes_of((*lengths[:k], length, *lengths[k + 1 :])) <= target

    low, high = least, extent
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _with_lanes(loops: Sequence[int], lengths: list[int], lanes: int) -> tuple[int, ...]:
    """Lengths whose product is a multiple of ``lanes``, by longer innermost blocks first."""
    missing = lanes
    for k in range(len(loops) - 1, -1, -1):
        if missing <= 1:
            break
        rounded = -(-lengths[k] // missing) * missing
        lengths[k] = min(loops[k], rounded)
        missing = -(-missing // lengths[k]) if lengths[k] % missing else 1
    return tuple(lengths)


def _even(extent: int, length: int) -> int:
    """The length nearest below that cuts the extent into equal blocks (up to one element)."""
    blocks = -(-extent // max(length, 1))
    return -(-extent // max(blocks, 1))


def schedule(
    loops: Sequence[int], reduced: Sequence[bool], lengths: tuple[int, ...], group_bytes: int
) -> Schedule:
    """Cut the loops into blocks and group the blocks into tasks."""
    ranges = [_cuts(n, length) for n, length in zip(loops, lengths, strict=True)]
    kept = [k for k, r in enumerate(reduced) if not r]
    summed = [k for k, r in enumerate(reduced) if r]
    outer = list(itertools.product(*(ranges[k] for k in kept)))
    inner = list(itertools.product(*(ranges[k] for k in summed)))
    if not summed:
        tasks = [Task((_bounds(len(loops), kept, o),), 0) for o in outer]
        return Schedule(lengths, tuple(tasks), 1)
    most = max(1, ACCUMULATOR_BYTES // max(group_bytes, 1))
    groups = max(1, min(len(inner), -(-TASKS // max(len(outer), 1)), most))
    per_group = -(-len(inner) // groups)
    chunks = [inner[i : i + per_group] for i in range(0, len(inner), per_group)]
    tasks = [
        Task(tuple(_bounds(len(loops), kept + summed, o + i) for i in chunk), group)
        for o in outer
        for group, chunk in enumerate(chunks)
    ]
    return Schedule(lengths, tuple(tasks), len(chunks))


def _cuts(extent: int, length: int) -> list[tuple[int, int]]:
    return [(lo, min(lo + length, extent)) for lo in range(0, extent, max(length, 1))]


def _bounds(count: int, order: Sequence[int], ranges: Sequence[tuple[int, int]]) -> Bounds:
    placed = dict(zip(order, ranges, strict=True))
    return tuple(b for k in range(count) for b in placed[k])
