"""One stage of a Stockham FFT: which elements its DFTs read and write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_POWERS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Stage:
    """The DFTs of one radix, dealt out to threads.

    DFT j reads elements ``j + q * count``, and writes ``first + q * stride`` where ``first`` is
    ``j // stride * stride * radix + j % stride``. Thread t does j = t + slot * threads, and
    keeps its value q in register ``slot + q * slots``.
    """

    length: int
    threads: int
    radix: int
    stride: int

    @property
    def count(self) -> int:
        """DFTs of the stage."""
        return self.length // self.radix

    @property
    def slots(self) -> int:
        """DFTs of the busiest thread."""
        return -(-self.count // self.threads)

    @property
    def registers(self) -> int:
        """Complex values of the busiest thread."""
        return self.slots * self.radix

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers of a twiddle that come from the table; products make the others."""
        return tuple(p for p in _POWERS if p < self.radix) if self.stride > 1 else ()

    def is_partial(self, slot: int) -> bool:
        """Have some threads nothing to do in that slot?"""
        return (slot + 1) * self.threads > self.count

    def reads(self, numbers: np.ndarray, position: int) -> np.ndarray:
        """The elements that DFTs of these numbers read as their value ``position``."""
        return numbers + position * self.count

    def writes(self, numbers: np.ndarray, position: int) -> np.ndarray:
        """The elements that DFTs of these numbers write from their value ``position``."""
        block, within = np.divmod(numbers, self.stride)
        return block * (self.stride * self.radix) + within + position * self.stride
