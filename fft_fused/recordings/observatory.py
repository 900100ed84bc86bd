"""GUPPI, DADA and VDIF through the ``baseband`` library."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecordingError
from .base import Recording, Request
from .tables import needed


def open_guppi(path: Path, request: Request) -> Recording:
    """GUPPI raw voltages: streams are polarisations and coarse channels."""
    _check_guppi_size(path)
    stream = _stream("baseband.guppi", "GUPPI", path)
    header = stream.header0
    width = float(header["OBSBW"]) * 1e6 / int(header["OBSNCHAN"])
    middle = float(header["OBSFREQ"]) * 1e6
    return _recording(path, "GUPPI", stream, request, middle, width)


def open_dada(path: Path, request: Request) -> Recording:
    """DADA voltages."""
    stream = _stream("baseband.dada", "DADA", path)
    header = stream.header0
    channels = max(int(header.get("NCHAN", 1)), 1)
    width = float(header.get("BW", 0)) * 1e6 / channels
    return _recording(path, "DADA", stream, request, float(header.get("FREQ", 0)) * 1e6, width)


def open_vdif(path: Path, request: Request) -> Recording:
    """VDIF voltages; the sample rate is the file's where it has one, else asked for."""
    extra: dict[str, Any] = {}
    if request.rate is not None:
        units = needed("astropy.units", "VDIF")
        extra["sample_rate"] = request.rate * units.Hz
    return _recording(path, "VDIF", _stream("baseband.vdif", "VDIF", path, **extra), request, 0, 0)


def _stream(module: str, name: str, path: Path, **extra: Any) -> Any:
    library = needed(module, name)
    with _one_line(path, name):
        stream = library.open(str(path), "rs", squeeze=False, **extra)
        try:
            stream.shape  # noqa: B018 - looks for the last frame
        except BaseException:
            stream.close()
            raise
        return stream


@contextmanager
def _one_line(path: Path, name: str) -> Iterator[None]:
    """Whatever the library raises for a damaged file, in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise RecordingError(
            f"{path}: cannot be read as {name}: {lines[0]}; "
            "is it cut off, or another format (raw samples need --dtype)?"
        ) from None


def _check_guppi_size(path: Path) -> None:
    """The library looks for the last header in vain when a file is cut off: say so first."""
    guppi = needed("baseband.guppi", "GUPPI")
    with _one_line(path, "GUPPI"), guppi.open(str(path), "rb") as file:
        header = file.read_header()
        frame, size = header.nbytes + header.payload_nbytes, path.stat().st_size
    if size < frame:
        raise RecordingError(
            f"{path}: is cut off: its header announces frames of {frame} bytes, the file has {size}"
        )
    if size % frame:
        whole = size // frame * frame
        raise RecordingError(
            f"{path}: is cut off in the middle of a frame of {frame} bytes; "
            f"head -c {whole} {path.name} > whole.raw keeps the complete ones"
        )


def _recording(
    path: Path, name: str, stream: Any, request: Request, middle: float, width: float
) -> Recording:
    """``middle`` is the centre of the band and ``width`` of one channel (signed), in Hz."""
    shape = tuple(stream.sample_shape)
    fields = list(getattr(stream.sample_shape, "_fields", [f"axis{i}" for i in range(len(shape))]))
    channel_axis = fields.index("nchan") if "nchan" in fields else None
    streams, centers = [], []
    for index in np.ndindex(*shape):
        label = " ".join(
            f"{f.removeprefix('n')} {i}"
            for f, i, n in zip(fields, index, shape, strict=True)
            if n > 1
        )
        channel, count = (
            (0, 1) if channel_axis is None else (index[channel_axis], shape[channel_axis])
        )
        streams.append(label)
        centers.append(middle + (channel - (count - 1) / 2) * width)
    if request.center is not None:
        centers = [c - middle + request.center for c in centers]
    rate = request.rate or float(stream.sample_rate.to_value("Hz"))
    return Recording(
        path=path,
        format=name,
        layout="complex" if stream.complex_data else "real",
        samples=int(stream.shape[0]),
        rate=rate,
        centers=tuple(centers),
        reader=_reader(path, name, stream, len(streams)),
        streams=tuple(streams),
        reversed=width < 0,
        closer=stream.close,
    )


def _reader(path: Path, name: str, stream: Any, count: int) -> Callable[[int, int], np.ndarray]:
    def read(start: int, stop: int) -> np.ndarray:
        with _one_line(path, name):
            stream.seek(start)
            values = stream.read(stop - start)
        return values.reshape(stop - start, count).T

    return read
