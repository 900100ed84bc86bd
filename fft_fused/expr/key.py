"""Basic-slicing keys in one canonical form."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Span:
    """``count`` elements ``start, start + step, ...`` of one axis."""

    start: int
    count: int
    step: int

    def whole(self, extent: int) -> bool:
        return self == Span(0, extent, 1) or (extent == 1 and self.count == 1)

    def slice(self) -> slice:
        stop = self.start + self.count * self.step
        return slice(self.start, None if stop < 0 else stop, self.step)

    def __str__(self) -> str:
        step = f":{self.step}" if self.step != 1 else ""
        return f"{self.start}:{self.start + self.count * self.step}{step}"


@dataclass(frozen=True, slots=True)
class Index:
    """One element of an axis; the axis disappears."""

    at: int

    def __str__(self) -> str:
        return str(self.at)


@dataclass(frozen=True, slots=True)
class NewAxis:
    """A new axis of length one."""

    def __str__(self) -> str:
        return "None"


Entry = Span | Index | NewAxis


def normalize_key(key: Any, shape: tuple[int, ...]) -> tuple[Entry, ...]:
    """A key as entries in order; every input axis has its Span or Index.

    Raises
    ------
    IndexError
        Too many indices, an integer out of range, two Ellipses, or a key that is not basic slicing.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    for k in keys:
        _check(k)
    if sum(k is Ellipsis for k in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > len(shape):
        raise IndexError(
            f"too many indices: array is {len(shape)}-dimensional, but {used} were indexed"
        )
    missing: list[Any] = [slice(None)] * (len(shape) - used)
    place = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    keys = keys + missing if place is None else keys[:place] + missing + keys[place + 1 :]
    entries: list[Entry] = []
    axis = 0
    for k in keys:
        if k is None:
            entries.append(NewAxis())
            continue
        entries.append(_entry(k, axis, shape[axis]))
        axis += 1
    return tuple(entries)


def _check(k: Any) -> None:
    if k is None or k is Ellipsis or isinstance(k, slice):
        return
    if isinstance(k, bool | np.bool_):
        raise IndexError("a bool index is not recorded: use fft_fused.xp.where")
    if not hasattr(type(k), "__index__"):
        raise IndexError(
            f"index {k!r:.60} is not recorded: use integers, slices, None and Ellipsis, "
            "fft_fused.xp.take for integer arrays, fft_fused.xp.where for masks"
        )


def _entry(k: Any, axis: int, extent: int) -> Entry:
    if isinstance(k, slice):
        start, stop, step = k.indices(extent)
        count = len(range(start, stop, step))
        return Span(start if count else 0, count, step if count > 1 else 1)
    at = operator.index(k)
    if not -extent <= at < extent:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
    return Index(at % extent)


def numpy_key(entries: Sequence[Entry]) -> tuple[Any, ...]:
    """The canonical key as NumPy takes it."""
    return tuple(
        None if isinstance(e, NewAxis) else e.at if isinstance(e, Index) else e.slice()
        for e in entries
    )
