"""Pieces of data to a device through a ring of buffers: read, copied and computed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .device import is_out_of_memory

Piece = TypeVar("Piece")


class Link(Protocol):
    """A device as the feed sees it: a stream of copies, a stream of computing, buffers, events.

    Streams have ``record``, ``wait_event`` and ``synchronize`` and are context managers, events
    have ``synchronize``, all as CuPy's.
    """

    xp: Any
    copying: Any
    computing: Any

    def event(self) -> Any:
        """A new event, complete until it is recorded."""

    def host_buffer(self, nbytes: int) -> np.ndarray:
        """Bytes that the device can copy from without help of the CPU."""

    def device_buffer(self, nbytes: int) -> Any:
        """Bytes on the device."""

    def copy(self, target: Any, source: np.ndarray) -> None:
        """Queue a copy of bytes to the device on ``copying``; does not wait."""

    def to_host(self, array: Any) -> np.ndarray:
        """An array of the device as NumPy's."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Would less memory have prevented the error?"""

    def release(self) -> None:
        """Give back memory that is kept for later use."""

    def memory(self) -> tuple[int, int]:
        """Bytes that are free and bytes in all."""


@dataclass(frozen=True, slots=True)
class _Slot:
    host: np.ndarray
    device: Any
    copied: Any
    computed: Any


class Feed:
    """Runs pieces through a ring of buffers on the host and on a device.

    While a piece is computed, the next is copied and the one after it is read. A host buffer is
    filled again only after its copy is done, a device buffer only after the computing that reads
    it. Pieces are computed in their order.

    Parameters
    ----------
    link : Link
    nbytes : int
        Of the largest piece.
    depth : int
        Buffers in the ring; made when first used.
    """

    def __init__(self, link: Link, nbytes: int, depth: int = 3) -> None:
        self._link, self._nbytes, self._depth = link, nbytes, depth
        self._slots: list[_Slot] = []

    def run(
        self,
        pieces: Iterable[Piece],
        fill: Callable[[Piece, np.ndarray], int],
        compute: Callable[[Piece, Any], None],
    ) -> None:
        """Fill, copy and compute every piece; returns when the device is done.

        Parameters
        ----------
        pieces : iterable
            What tells one piece from another.
        fill : callable
            ``fill(piece, buffer)`` writes the piece at the start of a buffer of bytes and returns
            how many.
        compute : callable
            ``compute(piece, buffer)`` queues work on those bytes of the device; it is called with
            the computing stream current and must not wait.

        Raises
        ------
        Exception
            Whatever ``fill`` or ``compute`` raise, after the device has finished what was queued.
        """
        try:
            for number, piece in enumerate(pieces):
                slot = self._slot(number % self._depth)
                slot.copied.synchronize()
                count = fill(piece, slot.host)
                self._send(slot, count)
                with self._link.computing:
                    compute(piece, slot.device[:count])
                self._link.computing.record(slot.computed)
        finally:
            self._link.copying.synchronize()
            self._link.computing.synchronize()

    def _slot(self, place: int) -> _Slot:
        if place == len(self._slots):
            link = self._link
            host, device = link.host_buffer(self._nbytes), link.device_buffer(self._nbytes)
            self._slots.append(_Slot(host, device, link.event(), link.event()))
        return self._slots[place]

    def _send(self, slot: _Slot, count: int) -> None:
        link = self._link
        link.copying.wait_event(slot.computed)
        link.copy(slot.device[:count], slot.host[:count])
        link.copying.record(slot.copied)
        link.computing.wait_event(slot.copied)


class CupyLink:
    """A GPU through CuPy: page-locked host memory and two streams of their own."""

    def __init__(self) -> None:
        import cupy

        self.xp = cupy
        self.copying = cupy.cuda.Stream(non_blocking=True)
        self.computing = cupy.cuda.Stream(non_blocking=True)

    def event(self) -> Any:
        """An event whose ``synchronize`` leaves the CPU to others."""
        return self.xp.cuda.Event(block=True, disable_timing=True)

    def host_buffer(self, nbytes: int) -> np.ndarray:
        """Page-locked memory."""
        import cupyx

        return np.asarray(cupyx.empty_pinned(nbytes, np.uint8))

    def device_buffer(self, nbytes: int) -> Any:
        """Memory of CuPy's pool that no other stream has used."""
        with self.copying:
            return self.xp.empty(nbytes, np.uint8)

    def copy(self, target: Any, source: np.ndarray) -> None:
        """Queue a copy."""
        target.data.copy_from_host_async(source.ctypes.data, source.nbytes, self.copying)

    def to_host(self, array: Any) -> np.ndarray:
        """A NumPy array, when the computing stream is done."""
        with self.computing:
            return np.asarray(self.xp.asnumpy(array))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """CuPy's pool, a CUDA call or cuFFT ran out."""
        return is_out_of_memory(error)

    def release(self) -> None:
        """Free what the pools and the plans of cuFFT keep."""
        self.xp.fft.config.get_plan_cache().clear()
        self.xp.get_default_memory_pool().free_all_blocks()
        self.xp.get_default_pinned_memory_pool().free_all_blocks()

    def memory(self) -> tuple[int, int]:
        """Bytes that are free and bytes in all."""
        free, total = self.xp.cuda.runtime.memGetInfo()
        return int(free), int(total)


@contextmanager
def cupy_link(index: int) -> Iterator[CupyLink]:
    """A link to a GPU, which is the current one inside the block."""
    import cupy

    with cupy.cuda.Device(index):
        link = CupyLink()
        try:
            yield link
        finally:
            for stream in (link.copying, link.computing):
                cupy.get_default_memory_pool().free_all_blocks(stream)
