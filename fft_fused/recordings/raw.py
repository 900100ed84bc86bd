"""Raw interleaved samples without a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import RecordingError
from .base import Recording, Request


@dataclass(frozen=True, slots=True)
class RawType:
    """Item type in the file, layout, and what is subtracted from it."""

    item: str
    layout: str
    offset: float = 0.0

    @property
    def sample_bytes(self) -> int:
        return np.dtype(self.item).itemsize * (2 if self.layout == "pairs" else 1)


_CU8, _CI8 = RawType("u1", "pairs", 127.5), RawType("i1", "pairs")
_CI16, _CF32 = RawType("<i2", "pairs"), RawType("<c8", "complex")
RAW_TYPES = {
    "cu8": _CU8,
    "ci8": _CI8,
    "cs8": _CI8,
    "ci16": _CI16,
    "cs16": _CI16,
    "sc16": _CI16,
    "ci32": RawType("<i4", "pairs"),
    "cf32": _CF32,
    "fc32": _CF32,
    "cfile": _CF32,
    "cf64": RawType("<c16", "complex"),
    "ri8": RawType("i1", "real"),
    "ru8": RawType("u1", "real", 127.5),
    "ri16": RawType("<i2", "real"),
    "rf32": RawType("<f4", "real"),
}


def guess_raw_type(path: Path, known: Sequence[str]) -> str:
    """The type a suffix stands for."""
    name = path.suffix.lower().lstrip(".")
    if name in RAW_TYPES:
        return name
    what = f"suffix {path.suffix!r}" if path.suffix else "a name without suffix"
    raise RecordingError(
        f"{path}: {what} does not tell the type of the samples; "
        f"say --dtype {', '.join(RAW_TYPES)}, or use one of {' '.join(known)}"
    )


def open_raw(path: Path, name: str, request: Request) -> Recording:
    """A file of samples of a named type."""
    if name not in RAW_TYPES:
        raise RecordingError(
            f"{path}: dtype {name!r} is not known; there are {', '.join(RAW_TYPES)}"
        )
    kind = RAW_TYPES[name]
    size = path.stat().st_size
    if size % kind.sample_bytes:
        raise RecordingError(
            f"{path}: {size} bytes are no whole number of {name} samples of {kind.sample_bytes} "
            "bytes; the file is cut off or of another type, say which by --dtype"
        )
    try:
        items = np.memmap(path, np.dtype(kind.item), mode="r")
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from None
    return of_items(path, f"raw {name}", kind, items, request.rate, request.center)


def of_items(
    path: Path,
    title: str,
    kind: RawType,
    items: np.ndarray,
    rate: float | None,
    center: float | None,
) -> Recording:
    """One stream over an array of items."""
    shaped = items.reshape(1, -1, 2) if kind.layout == "pairs" else items.reshape(1, -1)

    def read(start: int, stop: int) -> np.ndarray:
        return shaped[:, start:stop]

    return Recording(
        path=path,
        format=title,
        layout=kind.layout,
        samples=shaped.shape[1],
        rate=rate,
        centers=(center or 0.0,),
        reader=read,
        offset=kind.offset,
    )
