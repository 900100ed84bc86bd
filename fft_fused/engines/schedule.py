"""Blocks and tasks: how the loops of a problem are cut, and the fixed order of its sums."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
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
    loops: Sequence[int], unit_bytes: int, target_bytes: int, least_inner: int = 1
) -> tuple[int, ...]:
    """Block length of each loop: fill the innermost first until ``target_bytes`` are reached."""
    lengths = [1] * len(loops)
    room = max(1, target_bytes // max(unit_bytes, 1))
    if loops:
        room = max(room, min(least_inner, loops[-1]))
    for k in range(len(loops) - 1, -1, -1):
        lengths[k] = min(loops[k], room)
        room //= lengths[k]
        if room <= 1:
            break
    return tuple(_even(n, length) for n, length in zip(loops, lengths, strict=True))


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
