"""Averaged power spectra of recordings, by a fused expression on blocks of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import xp
from .errors import RecordingError
from .fuse import fuse
from .options import planning
from .recordings import Recording
from .transforms import fft, rfft

BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """How a spectrum is made.

    Attributes
    ----------
    nfft : int
        Length of a segment.
    window : str
        A name ``scipy.signal.get_window`` knows.
    average : {"mean", "max"}
        Over segments.
    overlap : float
        Part of a segment that the next one shares, 0 to below 1.
    shift : bool
        Frequencies of complex samples in ascending order.
    """

    nfft: int = 4096
    window: str = "hann"
    average: str = "mean"
    overlap: float = 0.0
    shift: bool = True

    @property
    def hop(self) -> int:
        """Samples from one segment to the next."""
        return max(1, round(self.nfft * (1 - self.overlap)))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Power spectral density.

    Attributes
    ----------
    frequency : ndarray, shape (streams, bins), float64
        Hz, or cycles per sample when the rate is unknown.
    density : ndarray, shape (streams, bins), float64
        Sample units squared per Hz, or per cycle per sample.
    streams : tuple of str
    segments : int
        How many were averaged.
    unused : int
        Samples at the end that make no segment.
    rate : float or None
    settings : Settings
    device : str
        What computed it: ``cpu``, or ``cuda:0``.
    """

    frequency: np.ndarray
    density: np.ndarray
    streams: tuple[str, ...]
    segments: int
    unused: int
    rate: float | None
    settings: Settings
    device: str = "cpu"

    @property
    def decibels(self) -> np.ndarray:
        """``10 log10`` of the density."""
        with np.errstate(divide="ignore"):
            return np.asarray(10 * np.log10(self.density))


def _segments(block: Any, nfft: int, hop: int) -> Any:
    """(streams, n, ...) -> (streams, segments, nfft, ...), read in place."""
    count = (block.shape[1] - nfft) // hop + 1
    tail, items = block.shape[2:], 1
    for extent in tail:
        items *= extent
    sample = items * block.itemsize
    strides = [block.shape[1] * sample, hop * sample, sample]
    if tail:
        strides.append(block.itemsize)
    return xp.lib.stride_tricks.as_strided(
        block, (block.shape[0], count, nfft, *tail), tuple(strides)
    )


def _reduced(power: Any, average: str) -> Any:
    return power.max(axis=1) if average == "max" else power.sum(axis=1)


@fuse
def power_of_pairs(block: Any, window: Any, offset: float, hop: int, average: str) -> Any:
    """Power of integer pairs (streams, n, 2), summed or largest over segments."""
    pairs = _segments(block, window.shape[0], hop).astype(xp.float32) - offset
    spectrum = fft(pairs.view(xp.complex64)[..., 0] * window)
    return _reduced(abs(spectrum) ** 2, average)


@fuse
def power_of_complex(block: Any, window: Any, offset: float, hop: int, average: str) -> Any:
    """Power of complex samples (streams, n)."""
    spectrum = fft(_segments(block, window.shape[0], hop).astype(xp.complex64) * window)
    return _reduced(abs(spectrum) ** 2, average)


@fuse
def power_of_real(block: Any, window: Any, offset: float, hop: int, average: str) -> Any:
    """Power of real samples (streams, n): half the spectrum."""
    samples = _segments(block, window.shape[0], hop).astype(xp.float32) - offset
    return _reduced(abs(rfft(samples * window)) ** 2, average)


POWER = {"pairs": power_of_pairs, "complex": power_of_complex, "real": power_of_real}


def segment_count(recording: Recording, settings: Settings) -> int:
    """Segments that fit into the recording."""
    return (recording.samples - settings.nfft) // settings.hop + 1


def samples_of(first: int, count: int, settings: Settings) -> tuple[int, int]:
    """``(start, stop)`` of the samples of some segments."""
    start = first * settings.hop
    return start, start + (count - 1) * settings.hop + settings.nfft


def blocks(recording: Recording, settings: Settings) -> Iterator[tuple[int, int]]:
    """``(start, stop)`` of pieces of whole segments whose bytes are bounded."""
    total = segment_count(recording, settings)
    most = segments_within(recording, settings, BLOCK_BYTES)
    for first in range(0, total, most):
        yield samples_of(first, min(most, total - first), settings)


def segments_within(recording: Recording, settings: Settings, nbytes: int) -> int:
    """Segments whose samples, of all streams, take so many bytes; at least one."""
    item = recording.read(0, 1).nbytes
    return max(1, (nbytes // item - settings.nfft) // settings.hop + 1)


def arguments(recording: Recording, settings: Settings, start: int, stop: int) -> tuple[Any, ...]:
    """What the fused function of the recording's layout takes for one piece."""
    window = window_of(settings).astype(np.float32)
    piece = recording.read(start, stop)
    return piece, window, float(recording.offset), settings.hop, settings.average


def window_of(settings: Settings) -> np.ndarray:
    """The window in double precision.

    Raises
    ------
    RecordingError
        For a name SciPy does not know.
    """
    from scipy.signal import get_window

    name: Any = settings.window
    if name == "kaiser":
        name = ("kaiser", 14.0)
    try:
        return np.asarray(get_window(name, settings.nfft))
    except (ValueError, TypeError) as error:
        raise RecordingError(
            f"window {settings.window!r}: {str(error).splitlines()[0]}; try hann, hamming, "
            "blackman, flattop, boxcar or kaiser"
        ) from None


def _silent(done: int, total: int) -> None:
    """No progress is shown."""


def spectrum(
    recording: Recording,
    settings: Settings,
    progress: Callable[[int, int], None] = _silent,
    device: str = "cpu",
) -> Spectrum:
    """Averaged power spectral density of a recording.

    Parameters
    ----------
    recording : Recording
    settings : Settings
    progress : callable
        Called with samples done and in all after every piece.
    device : str
        ``cpu``, or a GPU as ``cuda:0``.

    Returns
    -------
    Spectrum
        Scaled as ``scipy.signal.welch`` with ``detrend=False`` (one-sided for real samples).

    Raises
    ------
    RecordingError
        Segments longer than the recording; samples that are not finite.
    MemoryError
        The GPU has not even enough memory for small pieces.
    """
    check(recording, settings)
    if device == "cpu":
        total = _host_power(recording, settings, progress)
    else:
        from .psd_gpu import device_power

        total = device_power(recording, settings, progress, device)
        if not np.isfinite(total).all():
            _host_power(recording, settings, _silent)  # finds the sample, and refuses
            raise RecordingError(f"{recording.path}: the power overflows float32 on {device}")
    count = segment_count(recording, settings)
    _, used = samples_of(0, count, settings)
    scale = 1.0 / ((recording.rate or 1.0) * float(np.sum(window_of(settings) ** 2)))
    density = total * (scale / (1 if settings.average == "max" else count))
    ordered = _ordered(recording, settings, density, count, recording.samples - used)
    return replace(ordered, device=device)


def _host_power(
    recording: Recording, settings: Settings, progress: Callable[[int, int], None]
) -> np.ndarray:
    """Power of all segments, summed in double precision or the largest: (streams, bins)."""
    power = POWER[recording.layout]
    total: np.ndarray | None = None
    for start, stop in blocks(recording, settings):
        given = arguments(recording, settings, start, stop)
        # not measured: which plan is fastest today would change the last bits of the result
        with np.errstate(over="ignore", invalid="ignore"), planning("estimate"):
            part = power(*given)
        if not np.isfinite(part).all():
            _refuse_bad_samples(recording, given[0], start)
        total = combined(np, total, part, settings.average)
        progress(stop, recording.samples)
    assert total is not None
    return total


def combined(lib: Any, total: Any, part: Any, average: str) -> Any:
    """The running total in double precision, with a part of NumPy (``lib``) or CuPy in it."""
    if total is None:
        return part.astype(lib.float64)
    if average == "max":
        return lib.maximum(total, part, out=total)
    total += part
    return total


def check(recording: Recording, settings: Settings) -> None:
    """Refuse settings that fit no recording, or not this one."""
    if settings.nfft < 2:
        raise RecordingError(f"nfft is {settings.nfft}, need at least 2")
    if not 0 <= settings.overlap < 1:
        raise RecordingError(f"overlap is {settings.overlap}, need 0 to below 1")
    if settings.average not in ("mean", "max"):
        raise RecordingError(f"average is {settings.average!r}, need 'mean' or 'max'")
    if recording.samples < settings.nfft:
        fits = 1 << max(1, recording.samples.bit_length() - 1)
        raise RecordingError(
            f"{recording.path}: has {recording.samples} samples, nfft is {settings.nfft}; "
            f"use --nfft {fits} or less"
        )


def _refuse_bad_samples(recording: Recording, piece: np.ndarray, start: int) -> None:
    bad = ~np.isfinite(piece)
    if bad.any():
        place = start + int(np.argwhere(bad)[:, 1].min(axis=0))
        raise RecordingError(
            f"{recording.path}: sample {place} is not finite; cut the recording or set such "
            "samples to zero"
        )
    raise RecordingError(
        f"{recording.path}: the power overflows float32 near sample {start}; scale the samples down"
    )


def _ordered(
    recording: Recording, settings: Settings, density: np.ndarray, segments: int, unused: int
) -> Spectrum:
    """Frequencies, one-sided doubling, and ascending order."""
    nfft, rate = settings.nfft, recording.rate or 1.0
    if recording.layout == "real":
        steps = np.fft.rfftfreq(nfft, 1 / rate)
        density[:, 1 : -1 if nfft % 2 == 0 else None] *= 2
    else:
        steps = np.fft.fftfreq(nfft, 1 / rate)
        if settings.shift:
            steps, density = np.fft.fftshift(steps), np.fft.fftshift(density, axes=-1)
    sign = -1.0 if recording.reversed else 1.0
    frequency = np.asarray(recording.centers)[:, None] + sign * steps
    if recording.reversed and settings.shift:
        frequency, density = frequency[:, ::-1], density[:, ::-1]
    return Spectrum(
        frequency, density, recording.streams, segments, unused, recording.rate, settings
    )
