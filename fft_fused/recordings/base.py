"""What every reader gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Request:
    """What the user says about a file, instead of or besides what the file says."""

    dtype: str | None = None
    rate: float | None = None
    center: float | None = None
    iq: bool = False


@dataclass(frozen=True, slots=True)
class Recording:
    """Samples that are read piece by piece.

    Attributes
    ----------
    path : Path
    format : str
        For people.
    layout : {"pairs", "complex", "real"}
        Integer pairs (streams, n, 2), complex (streams, n), or real (streams, n).
    offset : float
        Subtracted from integers: 127.5 for unsigned bytes.
    samples : int
        Of each stream.
    streams : tuple of str
        Names of polarisations and channels; one empty name for a plain recording.
    rate : float or None
        Samples per second.
    centers : tuple of float
        Centre frequency of each stream in Hz, 0 when unknown.
    reversed : bool
        The frequency axis runs downwards.
    """

    path: Path
    format: str
    layout: str
    samples: int
    rate: float | None
    centers: tuple[float, ...]
    reader: Callable[[int, int], np.ndarray] = field(repr=False, compare=False)
    streams: tuple[str, ...] = ("",)
    offset: float = 0.0
    reversed: bool = False
    closer: Callable[[], None] = field(repr=False, compare=False, default=lambda: None)

    def close(self) -> None:
        """Release the file."""
        self.closer()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Samples ``start`` to ``stop`` of every stream, C-contiguous, native byte order."""
        piece = np.ascontiguousarray(self.reader(start, stop))
        return piece.astype(piece.dtype.newbyteorder("="), copy=False)

    def read_into(self, start: int, stop: int, out: np.ndarray) -> None:
        """The same samples written to an array of their shape and dtype."""
        np.copyto(out, self.reader(start, stop))

    def __str__(self) -> str:
        rate = "" if self.rate is None else f", {self.rate:g} samples/s"
        count = "" if len(self.streams) == 1 else f" of {len(self.streams)} streams"
        return f"{self.path.name}: {self.format}, {self.samples} samples{count}{rate}"
