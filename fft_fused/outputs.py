"""Files and text made of a spectrum. Files appear complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import RecordingError
from .psd import Spectrum

_SUFFIXES = (".png", ".csv", ".npz")


def check_outputs(paths: Sequence[Path]) -> None:
    """Refuse suffixes and folders that cannot be written, before any work is done."""
    for path in paths:
        if path.suffix.lower() not in _SUFFIXES:
            raise RecordingError(
                f"--out {path}: suffix {path.suffix!r} is not known; use {', '.join(_SUFFIXES)}"
            )
        folder = path.parent
        if not folder.is_dir():
            raise RecordingError(f"--out {path}: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise RecordingError(f"--out {path}: the folder {folder} cannot be written to")


def write_output(path: Path, spectrum: Spectrum, recording: Any) -> None:
    """Write a picture, a table or arrays by the suffix of ``path``."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        match path.suffix.lower():
            case ".png":
                from .plotting import save_plot

                save_plot(part, spectrum, recording.path.name)
            case ".csv":
                _write_csv(part, spectrum)
            case _:
                _write_npz(part, spectrum)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _write_csv(path: Path, spectrum: Spectrum) -> None:
    unit = "hz" if spectrum.rate else "cycles_per_sample"
    many = len(spectrum.streams) > 1
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{'stream,' if many else ''}frequency_{unit},density,density_db\n")
        for name, frequency, density, decibels in zip(
            spectrum.streams,
            spectrum.frequency,
            spectrum.density,
            spectrum.decibels,
            strict=True,
        ):
            start = f"{name}," if many else ""
            file.writelines(
                f"{start}{f!r},{d!r},{db:.4f}\n"
                for f, d, db in zip(
                    frequency.tolist(), density.tolist(), decibels.tolist(), strict=True
                )
            )


def _write_npz(path: Path, spectrum: Spectrum) -> None:
    settings = spectrum.settings
    with path.open("wb") as file:
        np.savez(
            file,
            frequency=spectrum.frequency,
            density=spectrum.density,
            streams=np.array(spectrum.streams),
            segments=spectrum.segments,
            rate=np.nan if spectrum.rate is None else spectrum.rate,
            nfft=settings.nfft,
            window=settings.window,
            average=settings.average,
        )


def peaks_text(spectrum: Spectrum, count: int = 5) -> str:
    """The strongest local maxima and the median level, of at most four streams."""
    from .plotting import frequency_unit

    scale, unit = frequency_unit(spectrum)
    level = "dB/Hz" if spectrum.rate else "dB"
    lines = []
    for place, name in enumerate(spectrum.streams[:4]):
        decibels = spectrum.decibels[place]
        start = f"{name}: " if name else ""
        lines.append(f"{start}median {float(np.median(decibels)):.1f} {level}, strongest at")
        lines += [
            f"  {spectrum.frequency[place, i] / scale:14.6f} {unit}  {decibels[i]:8.1f} {level}"
            for i in strongest(decibels, count)
        ]
    if len(spectrum.streams) > 4:
        lines.append(f"and {len(spectrum.streams) - 4} streams more")
    return "\n".join(lines)


def strongest(decibels: np.ndarray, count: int) -> list[int]:
    """Places of the highest local maxima, highest first."""
    left = np.concatenate([[-np.inf], decibels[:-1]])
    right = np.concatenate([decibels[1:], [-np.inf]])
    places = np.flatnonzero((decibels >= left) & (decibels > right))
    return [int(i) for i in places[np.argsort(decibels[places])[::-1][:count]]]
