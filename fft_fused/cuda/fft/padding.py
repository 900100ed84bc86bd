"""Padding of shared memory, chosen by counting bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import gcd

import numpy as np

from .stage import Stage

_WARP = 32
_BANK_BYTES = 128
_WARPS_COUNTED = 8


@dataclass(frozen=True, slots=True)
class Padding:
    """Element i lies at ``i + (i >> shift)``; shift 0 means no padding.

    ``extra`` more elements lie between FFTs of one block.
    """

    shift: int = 0
    extra: int = 0

    def places(self, indices: np.ndarray) -> np.ndarray:
        """Where elements lie."""
        return indices + (indices >> self.shift) if self.shift else indices

    def size(self, length: int) -> int:
        """Elements that an FFT takes in shared memory."""
        last = length - 1
        return last + (last >> self.shift if self.shift else 0) + 1 + self.extra

    def address(self, base: str, offset: int, multiple: int = 1) -> str:
        """The place of element ``base + offset``, where base is a multiple of ``multiple``.

        ``base`` is an unsigned name, and the name with a ``p`` before its last underscore is
        its own place.
        """
        if not self.shift:
            return f"{base} + {offset}"
        step = 1 << self.shift
        if offset % step < gcd(multiple, step):
            return f"{base[:-1]}p_ + {offset + (offset >> self.shift)}"
        return f"{base} + {offset} + (({base} + {offset}) >> {self.shift})"


@cache
def padding_of(stages: tuple[Stage, ...], unit_bytes: int) -> Padding:
    """The padding with the fewest bank conflicts, the least memory among equals.

    Examples
    --------
    >>> padding_of((Stage(256, 16, 16, 1), Stage(256, 16, 16, 16)), 8)
    Padding(shift=4, extra=0)
    """
    threads = stages[0].threads if stages else 1
    extras = range(0, 5) if threads < _WARP else (0,)
    choices = [Padding(shift, extra) for shift in (0, 6, 5, 4, 3) for extra in extras]
    length = stages[0].length if stages else 1
    return min(choices, key=lambda p: (conflicts(stages, p, unit_bytes), p.size(length)))


def conflicts(stages: tuple[Stage, ...], padding: Padding, unit_bytes: int) -> int:
    """Extra passes through shared memory, over the accesses of the first warps.

    A warp's access is served in as many passes as the most distinct places in one bank group;
    each group of lanes that fills 128 bytes is served by itself.

    Examples
    --------
    >>> stages = Stage(256, 16, 16, 1), Stage(256, 16, 16, 16)
    >>> conflicts(stages, Padding(), 8) > 0, conflicts(stages, Padding(4), 8)
    (True, 0)
    """
    groups = _BANK_BYTES // unit_bytes
    rows = [places.reshape(-1, groups) for places in _accesses(stages, padding)]
    return _extra_passes(np.concatenate(rows), groups) if rows else 0


def _extra_passes(rows: np.ndarray, groups: int) -> int:
    """For rows of lanes' places, -1 for an idle one: passes beyond one a row."""
    places = np.sort(rows, axis=1)
    counted = places >= 0
    counted[:, 1:] &= places[:, 1:] != places[:, :-1]
    cells = np.arange(len(rows))[:, None] * groups + places % groups
    passes = np.bincount(cells[counted], minlength=rows.size).reshape(rows.shape).max(axis=1)
    return int(np.maximum(passes - 1, 0).sum())


def _accesses(stages: tuple[Stage, ...], padding: Padding) -> Iterator[np.ndarray]:
    """The places of each access of the first warps, one array of lanes each."""
    if not stages:
        return
    length, threads = stages[0].length, stages[0].threads
    lanes = np.arange(_WARP * max(1, min(_WARPS_COUNTED, threads // _WARP)))
    thread, start = lanes % threads, lanes // threads * padding.size(length)
    order = Stage(length, threads, 1, 1)
    pairs = [*zip(stages[:-1], stages[1:], strict=True), (stages[-1], order)]
    for writer, reader in pairs:
        if writer is stages[-1] and order.slots % writer.radix == 0:
            continue
        for stage, move in ((writer, writer.writes), (reader, reader.reads)):
            for slot in range(stage.slots):
                numbers = thread + slot * threads
                for position in range(stage.radix):
                    places = padding.places(move(numbers, position)) + start
                    yield np.where(numbers < stage.count, places, -1)
