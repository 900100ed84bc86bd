"""A recording the package makes itself: 8-bit IQ with tones, a chirp and noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

RATE = 2_048_000.0
TONES = ((-612_500.0, 22.0), (187_500.0, 6.0), (430_000.0, 1.0))  # Hz, amplitude
CHIRP = (-300_000.0, -60_000.0, 9.0)  # from Hz, to Hz, amplitude; repeated every 20 ms
_NOISE = 12.0
_BLOCK = 1 << 18


def write_demo(path: Path, samples: int = 1 << 22, seed: int = 1) -> None:
    """Write ``samples`` interleaved int8 pairs, the same for the same seed.

    Parameters
    ----------
    path : Path
        A .ci8 file.
    samples : int
        At ``RATE`` samples per second; 4 Mi samples are 8 MB and 2 s.
    seed : int
        Of the noise.
    """
    rng = np.random.default_rng(seed)
    low, high, amplitude = CHIRP
    period = 0.02
    with path.open("wb") as file:
        for start in range(0, samples, _BLOCK):
            t = np.arange(start, min(start + _BLOCK, samples)) / RATE
            z = sum(a * np.exp(2j * np.pi * f * t) for f, a in TONES)
            s = t % period
            z = z + amplitude * np.exp(2j * np.pi * (low * s + (high - low) / (2 * period) * s**2))
            pairs = np.stack([z.real, z.imag], axis=-1)
            pairs += _NOISE * rng.standard_normal(pairs.shape)
            file.write(np.clip(np.rint(pairs), -127, 127).astype(np.int8).tobytes())
