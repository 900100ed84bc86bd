"""Recordings: files of samples, read piece by piece through the library each format has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import RecordingError
from .base import Recording, Request
from .observatory import open_dada, open_guppi, open_vdif
from .raw import RAW_TYPES, guess_raw_type, open_raw
from .tables import open_npy, open_sigmf, open_wav

_FORMATS: dict[str, Callable[[Path, Request], Recording]] = {
    ".wav": open_wav,
    ".npy": open_npy,
    ".sigmf": open_sigmf,
    ".sigmf-meta": open_sigmf,
    ".sigmf-data": open_sigmf,
    ".raw": open_guppi,
    ".dada": open_dada,
    ".vdif": open_vdif,
}

SUFFIXES = sorted({*_FORMATS, *(f".{name}" for name in RAW_TYPES)})


def open_recording(
    path: str | Path,
    dtype: str | None = None,
    rate: float | None = None,
    center: float | None = None,
    iq: bool = False,
) -> Recording:
    """Open a recording; the format is known by its suffix, or is raw samples of ``dtype``.

    Parameters
    ----------
    path : path
        Raw IQ (cu8, ci8, ci16, cf32 and others), SigMF, WAV, .npy, GUPPI (.raw), DADA or VDIF.
    dtype : str, optional
        Type of raw samples, see ``RAW_TYPES``.
    rate : float, optional
        Samples per second, instead of the file's.
    center : float, optional
        Centre frequency in Hz, instead of the file's.
    iq : bool
        The two channels of a WAV file are real and imaginary parts.

    Returns
    -------
    Recording

    Raises
    ------
    RecordingError
        The file cannot be read as asked; one line that names it and the way out.
    ImportError
        The library a format needs is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "tone.ci8")
    >>> np.zeros((1000, 2), np.int8).tofile(path)
    >>> recording = open_recording(path, rate=1e6)
    >>> recording.samples, recording.read(0, 10).shape
    (1000, (1, 10, 2))
    """
    path = Path(path)
    if not path.exists():
        raise RecordingError(f"{path}: no such file")
    if path.is_dir():
        raise RecordingError(f"{path}: is a folder, need a recording")
    if path.stat().st_size == 0:
        raise RecordingError(f"{path}: is empty")
    if rate is not None and not rate > 0:
        raise RecordingError(f"{path}: sample rate {rate} given, need a positive number of Hz")
    request = Request(dtype, rate, center, iq)
    suffix = path.suffix.lower()
    if dtype is None and suffix in _FORMATS:
        return _FORMATS[suffix](path, request)
    return open_raw(path, dtype or guess_raw_type(path, SUFFIXES), request)


__all__ = ["RAW_TYPES", "SUFFIXES", "Recording", "open_recording"]
