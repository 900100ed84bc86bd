"""WAV, .npy and SigMF."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecordingError
from .base import Recording, Request
from .raw import RawType, of_items


def open_wav(path: Path, request: Request) -> Recording:
    """A WAV file through scipy.io.wavfile; channels are streams, or with ``iq`` one complex."""
    from scipy.io import wavfile

    with path.open("rb") as file:
        head = file.read(4)
    if head not in (b"RIFF", b"RIFX", b"RF64"):
        raise RecordingError(
            f"{path}: is no WAV file (it begins with {head!r}); for raw samples say --dtype"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", wavfile.WavFileWarning)
            warnings.filterwarnings("ignore", "Chunk", wavfile.WavFileWarning)
            rate, data = wavfile.read(path, mmap=True)
    except Exception as error:  # scipy raises many kinds for damaged files
        raise RecordingError(f"{path}: cannot be read as WAV: {_first_line(error)}") from None
    offset = 128.0 if data.dtype == np.uint8 else 0.0
    channels = data.reshape(len(data), -1)
    rate = request.rate or float(rate)
    if request.iq:
        if channels.shape[1] != 2:
            raise RecordingError(
                f"{path}: has {channels.shape[1]} channels; --iq needs a real and an imaginary one"
            )
        kind = RawType(data.dtype.str, "pairs", offset)
        if data.dtype.kind == "f":
            kind = RawType(data.dtype.str, "complex")
            channels = channels.view(np.dtype(f"c{2 * data.dtype.itemsize}"))
        return of_items(path, "WAV IQ", kind, channels, rate, request.center)
    count = channels.shape[1]
    return Recording(
        path=path,
        format=f"WAV {data.dtype.name}",
        layout="real",
        samples=len(channels),
        rate=rate,
        centers=(request.center or 0.0,) * count,
        reader=lambda start, stop: channels[start:stop].T,
        streams=("",) if count == 1 else tuple(f"channel {i}" for i in range(count)),
        offset=offset,
    )


def open_npy(path: Path, request: Request) -> Recording:
    """A .npy file: complex (n,) or (streams, n); real likewise; integers (..., n, 2) are pairs."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise RecordingError(f"{path}: cannot be read as .npy: {_first_line(error)}") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufc":
        kind = getattr(array, "dtype", type(array).__name__)
        raise RecordingError(f"{path}: holds {kind}, need an array of numbers")
    pairs = array.dtype.kind in "iu" and array.ndim > 1 and array.shape[-1] == 2
    layout = "complex" if array.dtype.kind == "c" else "pairs" if pairs else "real"
    sample_shape = array.shape[:-1] if pairs else array.shape
    if len(sample_shape) not in (1, 2) or 0 in sample_shape:
        raise RecordingError(
            f"{path}: has shape {array.shape}; need (n,) or (streams, n), and for integer pairs "
            "(n, 2) or (streams, n, 2)"
        )
    streams = array if len(sample_shape) == 2 else array[None]
    count = streams.shape[0]
    return Recording(
        path=path,
        format=f"npy {array.dtype.name}",
        layout=layout,
        samples=streams.shape[1],
        rate=request.rate,
        centers=(request.center or 0.0,) * count,
        reader=lambda start, stop: streams[:, start:stop],
        streams=("",) if count == 1 else tuple(f"stream {i}" for i in range(count)),
    )


def open_sigmf(path: Path, request: Request) -> Recording:
    """A SigMF dataset or archive through the ``sigmf`` library."""
    sigmf = needed("sigmf", "SigMF")
    try:
        handle = sigmf.sigmffile.fromfile(path, skip_checksum=True, autoscale=False)
        kind = _sigmf_type(handle.get_global_field("core:datatype"))
        count = int(handle.num_channels)
        samples = int(handle.sample_count)
        rate = handle.get_global_field("core:sample_rate")
        captures = handle.get_captures()
    except Exception as error:  # the library raises many kinds for damaged files
        raise RecordingError(f"{path}: cannot be read as SigMF: {_first_line(error)}") from None
    if count != 1:
        raise RecordingError(f"{path}: has {count} interleaved channels; only 1 is read")
    if samples < 1:
        raise RecordingError(f"{path}: the dataset of this SigMF recording is empty or missing")
    center = captures[0].get("core:frequency") if captures else None
    read = _sigmf_reader(handle, kind)
    plain = of_items(
        path,
        f"SigMF {handle.get_global_field('core:datatype')}",
        kind,
        np.empty(0, kind.item),
        request.rate or (None if rate is None else float(rate)),
        request.center if request.center is not None else center,
    )
    return replace(plain, samples=samples, reader=read)


def _sigmf_type(name: str) -> RawType:
    """SigMF's ``cu8``, ``ci16_le`` ... as item type and layout."""
    body, _, order = name.partition("_")
    size = int(body[2:]) // 8
    prefix = ">" if order == "be" else "<"
    letter = body[1]
    if letter == "f" and body[0] == "c":
        return RawType(f"{prefix}c{2 * size}", "complex")
    layout = "pairs" if body[0] == "c" else "real"
    offset = (2 ** (8 * size) - 1) / 2 if letter == "u" else 0.0
    return RawType(f"{prefix}{letter}{size}", layout, offset)


def _sigmf_reader(handle: Any, kind: RawType) -> Callable[[int, int], np.ndarray]:
    if kind.layout != "pairs":
        return lambda start, stop: handle.read_samples(start, stop - start).reshape(1, -1)
    component = np.dtype(kind.item)
    whole = np.iinfo(component)

    def read(start: int, stop: int) -> np.ndarray:
        values = handle.read_samples(start, stop - start).reshape(1, -1)
        pairs = np.stack([values.real, values.imag], axis=-1)
        middle = (whole.max + 1) // 2 if component.kind == "u" and pairs.min() < 0 else 0
        return (pairs + middle).astype(component)

    return read


def needed(module: str, format: str) -> Any:
    """Import a library of the ``io`` extra."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise RecordingError(
            f"{format} files are read through {module}, which is not installed: "
            "pip install fft_fused[io]"
        ) from None


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
