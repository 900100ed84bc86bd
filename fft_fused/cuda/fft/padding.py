"""Padding of shared memory, chosen by counting bank conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from ...runtime.cache import remembered
from .stage import Place, Stage

Exchanges = tuple[tuple[Stage, Stage], ...]
_WARP = 32
_BANK_BYTES = 128
_WARPS_COUNTED = 8
_SHIFTS = (0, 6, 5, 4, 3, 2)


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
        return int(self.places(np.array(length - 1))) + 1 + self.extra

    def definitions(self, place: Place) -> list[str]:
        """What ``address`` of the place refers to."""
        defined = [f"const unsigned {place.name} = {place.definition};"]
        if self.shift:
            padded = f"{place.name} + ({place.name} >> {self.shift})"
            defined.append(f"const unsigned {_padded(place.name)} = {padded};")
        return defined

    def address(self, place: Place) -> str:
        """Where an element lies, as text; constants are padded here rather than on the device.

        Examples
        --------
        >>> place = Place("d_", "u_ * 16u", 3, 16)
        >>> Padding(4).address(place), Padding(5).address(place.moved(16))
        ('dp_ + 3u', 'd_ + 19u + ((d_ + 19u) >> 5)')
        """
        if not self.shift:
            return f"{place.name} + {place.offset}u"
        step = 1 << self.shift
        if place.offset % step < gcd(place.multiple, step):
            return f"{_padded(place.name)} + {place.offset + (place.offset >> self.shift)}u"
        index = f"{place.name} + {place.offset}u"
        return f"{index} + (({index}) >> {self.shift})"


def _padded(name: str) -> str:
    return f"{name[:-1]}p_"


@remembered(1024)
def padding_of(exchanges: Exchanges, length: int, unit_bytes: int) -> Padding:
    """The padding with the fewest bank conflicts, the least memory among equals.

    Parameters
    ----------
    exchanges : tuple of pairs of Stage
        Who writes shared memory, and who reads it then.
    length : int
        Elements in shared memory.
    unit_bytes : int
        Bytes that a thread moves at a time.

    Examples
    --------
    >>> padding_of(((Stage(256, 16, 16, 1), Stage(256, 16, 16, 16)),), 256, 8)
    Padding(shift=4, extra=0)
    """
    if not exchanges:
        return Padding()
    extras = range(0, 5) if exchanges[0][0].threads < _WARP else (0,)
    choices = [Padding(shift, extra) for shift in _SHIFTS for extra in extras]
    return min(
        choices,
        key=lambda p: (conflicts(exchanges, p, p.size(length), unit_bytes), p.size(length)),
    )


@remembered(4096)
def conflicts(
    exchanges: Exchanges, padding: Padding, pitch: int, unit_bytes: int, side_by_side: int = 1
) -> int:
    """Extra passes through shared memory, over the accesses of the first warps.

    Lanes that fill 128 bytes are served together, in as many passes as the most distinct places
    in one bank.

    Parameters
    ----------
    exchanges : tuple of pairs of Stage
        Who writes shared memory, and who reads it then.
    padding : Padding
    pitch : int
        From an FFT of a block to the next, in what a thread moves at a time.
    unit_bytes : int
        Bytes of that.
    side_by_side : int
        FFTs whose threads alternate; 1 when those of an FFT are neighbours.

    Examples
    --------
    >>> exchange = ((Stage(256, 16, 16, 1), Stage(256, 16, 16, 16)),)
    >>> conflicts(exchange, Padding(), 256, 8) > 0, conflicts(exchange, Padding(4), 271, 8)
    (True, 0)
    """
    if not exchanges:
        return 0
    lanes = _BANK_BYTES // unit_bytes
    indices, numbers = _accesses(exchanges, side_by_side)
    places = np.where(indices < 0, -1, padding.places(indices) + numbers * pitch)
    places = np.sort(places.reshape(-1, lanes), axis=1)
    counted = places >= 0
    counted[:, 1:] &= places[:, 1:] != places[:, :-1]
    cells = np.arange(len(places))[:, None] * lanes + places % lanes
    passes = np.bincount(cells[counted], minlength=places.size).reshape(places.shape).max(axis=1)
    return int(np.maximum(passes - 1, 0).sum())


@remembered(64)
def _accesses(exchanges: Exchanges, side_by_side: int) -> tuple[np.ndarray, np.ndarray]:
    """Elements that each lane of the first warps accesses, and the number of its FFT.

    A row for each access; -1 for an idle lane.
    """
    threads = exchanges[0][0].threads
    warps = max(1, min(_WARPS_COUNTED, threads * side_by_side // _WARP))
    if side_by_side > 1:
        thread, number = np.divmod(np.arange(_WARP * warps), side_by_side)
        thread %= threads
    else:
        number, thread = np.divmod(np.arange(_WARP * warps), threads)
    rows = [
        elements(thread, slot, position)
        for writer, reader in exchanges
        for stage, elements in ((writer, writer.writes), (reader, reader.reads))
        for slot in range(stage.slots)
        for position in range(stage.radix)
    ]
    return np.array(rows), number
