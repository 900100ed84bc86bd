"""The table of twiddles: a compact one for each stage, so that a warp reads neighbours."""

from __future__ import annotations

import numpy as np

from .shape import BlockFFT


def twiddle_table(fft: BlockFFT) -> np.ndarray:
    """``exp(-2 pi i p k / (stride * radix))``: by stage, then by power p, then by k < stride.

    Examples
    --------
    >>> twiddle_table(BlockFFT(4, 2, (2, 2))).round(3)
    array([1.+0.j, 0.-1.j], dtype=complex64)
    """
    parts = [np.zeros(0, np.clongdouble)]
    for stage in fft.stages:
        period = stage.stride * stage.radix
        k = np.arange(stage.stride)
        parts += [roots(power * k, period) for power in stage.powers]
    return np.concatenate(parts).astype(np.complex128 if fft.double else np.complex64)


def roots(numerators: np.ndarray, period: int) -> np.ndarray:
    """``exp(-2 pi i numerators / period)`` in extended precision, exact at quarter turns."""
    quarter, rest = np.divmod(4 * (numerators % period), period)
    angle = rest.astype(np.longdouble) * (np.arccos(np.longdouble(-1)) / (2 * period))
    unit = np.cos(angle) - 1j * np.sin(angle)
    return unit * np.array([1, -1j, -1, 1j], np.clongdouble)[quarter]


def table_starts(fft: BlockFFT) -> list[int]:
    """Where each stage's part of the table begins."""
    sizes = [stage.stride * len(stage.powers) for stage in fft.stages]
    return [sum(sizes[:i]) for i in range(len(sizes))]
