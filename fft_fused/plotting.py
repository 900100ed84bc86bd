"""Pictures of spectra, with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .errors import RecordingError
from .psd import Spectrum

_COLOURS = ("#1f5fa8", "#d1495b", "#2e933c", "#8d5fb0", "#c77d0a", "#0f8b8d", "#5c6670", "#a23b72")
_GREY = "#8a8f98"


def save_plot(path: Path, spectrum: Spectrum, title: str) -> None:
    """Write the spectrum as a picture (PNG whatever the suffix of a temporary file).

    Raises
    ------
    RecordingError
        When matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise RecordingError(
            "pictures need matplotlib, which is not installed: pip install fft_fused[plot], "
            "or write --out x.csv"
        ) from None
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    scale, unit = frequency_unit(spectrum)
    colours: dict[str, str] = {}
    for place, name in enumerate(spectrum.streams):
        group = name.partition("chan")[0].strip()  # the channels of a polarisation are one line
        label = group if group not in colours else None
        colour = colours.setdefault(group, _COLOURS[len(colours) % len(_COLOURS)])
        x, y = _drawn(spectrum.frequency[place] / scale, spectrum.decibels[place])
        axes.plot(x, y, lw=0.8, color=colour, label=label or None)
    settings = spectrum.settings
    floor = float(np.median(spectrum.decibels[np.isfinite(spectrum.decibels)]))
    axes.axhline(floor, lw=0.8, ls="--", color=_GREY, label=f"median {floor:.1f} dB", zorder=3)
    axes.set_xlabel(f"frequency ({unit})")
    axes.set_ylabel("power density (dB/Hz)" if spectrum.rate else "power density (dB)")
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_title(
        f"{spectrum.segments} segments of {settings.nfft}, {settings.window}, {settings.average}",
        loc="right",
        fontsize=9,
        color=_GREY,
    )
    axes.grid(alpha=0.3, lw=0.5)
    axes.margins(x=0)
    if len(colours) <= 8:
        axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=130, format="png")


def frequency_unit(spectrum: Spectrum) -> tuple[float, str]:
    """A scale for the frequency axis and its name."""
    if spectrum.rate is None:
        return 1.0, "cycles per sample"
    largest = float(np.abs(spectrum.frequency).max())
    if float(np.ptp(spectrum.frequency)) >= 1e9:
        return 1e9, "GHz"
    for scale, unit in ((1e6, "MHz"), (1e3, "kHz")):
        if largest >= scale:
            return scale, unit
    return 1.0, "Hz"


def _drawn(x: np.ndarray, y: np.ndarray, columns: int = 4096) -> tuple[np.ndarray, np.ndarray]:
    """Long spectra as the largest and smallest of each column of pixels."""
    if len(x) <= 2 * columns:
        return x, y
    step = -(-len(x) // columns)
    whole = len(x) // step * step
    y2, x2 = y[:whole].reshape(-1, step), x[:whole].reshape(-1, step)
    pairs = np.stack([y2.min(axis=1), y2.max(axis=1)], axis=1)
    return np.repeat(x2.mean(axis=1), 2), pairs.reshape(-1)
