"""Expressions people write around FFTs, with inputs of a size that no cache holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fft_fused import Fused, fft, fft2, fftfreq, fftshift, fuse, ifft, ifft2, irfft, rfft, xp


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A fused function, what it is, and a maker of its arguments from a random generator."""

    title: str
    function: Fused
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]


def _int(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    return rng.integers(-100, 100, shape).astype(dtype)


def _complex(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal((*shape, 2), dtype=np.float32).view(np.complex64)[..., 0]


@fuse
def summed_power(iq):
    """8-bit complex samples to a power spectrum summed over the batch."""
    spectrum = fft(iq.astype(xp.float32).view(xp.complex64)[..., 0])
    return (abs(spectrum) ** 2).sum(axis=0)


@fuse
def windowed_power(x, window):
    """Windowed power spectra of complex samples."""
    return abs(fft(x * window)) ** 2


@fuse
def log_spectrogram(frames, window):
    """Short-time spectra in decibels, frequency by time."""
    power = abs(rfft(frames * window)) ** 2
    return (10 * xp.log10(xp.maximum(power, np.float32(1e-10)))).T


@fuse
def matched_filter(pulses, template):
    """16-bit pulses through a matched filter in frequency."""
    n = pulses.shape[1]
    x = pulses.astype(xp.float32).view(xp.complex64)[..., 0]
    return ifft(fft(x, 2 * n) * xp.conj(template))[:, :n]


@fuse
def dedispersion(iq, measure):
    """Coherent dedispersion of 8-bit samples to power, 16 samples summed."""
    n = iq.shape[1]
    f = fftfreq(n).astype(xp.float32)
    chirp = xp.exp(np.complex64(2j * np.pi) * measure[:, None] * f**2)
    y = ifft(fft(iq.astype(xp.float32).view(xp.complex64)[..., 0]) * chirp)
    return (abs(y) ** 2).reshape(iq.shape[0], -1, 16).sum(axis=-1)


@fuse
def range_doppler(cube, range_window, doppler_window):
    """16-bit radar cube to a range-Doppler map in decibels, summed over receivers."""
    x = cube.astype(xp.float32).view(xp.complex64)[..., 0]
    profiles = fft(x * range_window)
    doppler = fftshift(fft(profiles * doppler_window[:, None], axis=-2), axes=-2)
    return (20 * xp.log10(abs(doppler) + 1)).sum(axis=0)


@fuse
def oct_image(lines, background, window, phase):
    """OCT lines to 8-bit grey levels: background, window, dispersion, transform, decibels."""
    x = (lines.astype(xp.float32) - background) * window
    depth = ifft(x * xp.exp(np.complex64(1j) * phase))[:, : lines.shape[1] // 2]
    decibels = 20 * xp.log10(abs(depth) + np.float32(1e-3))
    return (xp.clip((decibels - 10) / 60, 0, 1) * 255).astype(xp.uint8)


@fuse
def propagation(field, distance=300.0):
    """Angular spectrum propagation of a wave field, padded by two."""
    n = field.shape[-1]
    padded = xp.pad(field, ((0, 0), (n // 2, n // 2), (n // 2, n // 2)))
    f = fftfreq(2 * n).astype(xp.float32)
    q = 1 - np.float32(0.05) * (f[:, None] ** 2 + f[None, :] ** 2)
    transfer = xp.exp(np.complex64(1j) * (distance * xp.sqrt(q)))
    return ifft2(fft2(padded) * transfer)[:, n // 2 : -n // 2, n // 2 : -n // 2]


@fuse
def long_convolution(x, kernel, gate):
    """Gated convolution of float16 rows with long kernels."""
    n = x.shape[-1]
    y = irfft(rfft(x.astype(xp.float32), 2 * n) * kernel, 2 * n)[..., :n]
    return (y * gate.astype(xp.float32)).astype(xp.float16)


def _frames(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.standard_normal(4_000_000, dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, 1024)[::256]
    return windows, np.hanning(1024).astype("f4")


BENCHMARKS = [
    Benchmark("int8 IQ to summed power", summed_power, lambda g: (_int(g, "i1", 4096, 4096, 2),)),
    Benchmark(
        "windowed power spectra",
        windowed_power,
        lambda g: (_complex(g, 4096, 1024), np.hanning(1024).astype("f4")),
    ),
    Benchmark("log spectrogram", log_spectrogram, _frames),
    Benchmark(
        "matched filter",
        matched_filter,
        lambda g: (_int(g, "i2", 1024, 4096, 2), _complex(g, 8192)),
    ),
    Benchmark(
        "coherent dedispersion",
        dedispersion,
        lambda g: (_int(g, "i1", 8, 1 << 18, 2), np.linspace(200, 400, 8).astype("f4")),
    ),
    Benchmark(
        "range-Doppler map",
        range_doppler,
        lambda g: (
            _int(g, "i2", 8, 256, 1024, 2),
            np.hamming(1024).astype("f4"),
            np.hamming(256).astype("f4"),
        ),
    ),
    Benchmark(
        "OCT image",
        oct_image,
        lambda g: (
            g.integers(1000, 60000, (4096, 2048)).astype("u2"),
            np.full(2048, 32768, "f4"),
            np.hanning(2048).astype("f4"),
            np.linspace(-3, 3, 2048).astype("f4"),
        ),
    ),
    Benchmark("wave propagation", propagation, lambda g: (_complex(g, 1, 1024, 1024), 300.0)),
    Benchmark(
        "long convolution",
        long_convolution,
        lambda g: (
            g.standard_normal((128, 8192), dtype=np.float32).astype("f2"),
            _complex(g, 128, 8193),
            g.standard_normal((128, 8192), dtype=np.float32).astype("f2"),
        ),
    ),
]
