"""Wisdom: which plan and which shapes of kernels were fastest, on disk for later processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..options import cache_folder
from .cache import remembered
from .disk_cache import DiskCache, fingerprint
from .machine import processor_name
from .plan import Lap

_BYTES = 16 << 20
_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found fastest for a program.

    Attributes
    ----------
    program, machine : str
        What was measured, and where.
    place : int
        Of the plan among the candidates, in the order of the model's estimates.
    engines : str
        Those of the plan.
    shapes : tuple of int
        For each launch the number of the kernel's shape; 0 where there is but one.
    laps : tuple of Lap
        What each candidate took.
    """

    program: str
    machine: str
    place: int
    engines: str
    shapes: tuple[int, ...]
    laps: tuple[Lap, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        times = [lap.seconds for lap in self.laps if not lap.fault]
        best = f"{min(times) * 1e3:.4g} ms" if times else "not measured"
        return f"{self.engines:40s} {best:>12s}  {self.program}"


def choice_of(data: Any) -> Choice:
    """A choice from plain data.

    Raises
    ------
    ValueError
        When it is none.
    """
    try:
        laps = tuple(
            Lap(str(x["engines"]), float(x["seconds"]), str(x["fault"]), float(x["estimate"]))
            for x in data["laps"]
        )
        shapes = tuple(int(s) for s in data["shapes"])
        names = (str(data["program"]), str(data["machine"]))
        return Choice(*names, int(data["place"]), str(data["engines"]), shapes, laps)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"no record of a choice: {error!r}") from None


def wisdom_key(program: Iterable[str], device: str) -> str:
    """The name of a program's choice on a device with the libraries and the code of today."""
    return fingerprint((*program, machine_name(device), _code()))


def recall(key: str) -> Choice | None:
    """What was found fastest; None when it is not known, or the record is damaged."""
    content = _disk().peek(key)
    with contextlib.suppress(ValueError):
        return None if content is None else choice_of(json.loads(content))
    return None


def remember(key: str, choice: Choice) -> None:
    """Keep a choice for later processes; where that is impossible, it is forgotten."""
    _disk().put(key, json.dumps(choice.to_dict()).encode())


def everything() -> dict[str, Choice]:
    """Every choice that is kept, by its name."""
    found = {key: recall(key) for key in _disk().names()}
    return {key: choice for key, choice in found.items() if choice is not None}


def forget() -> int:
    """Remove every choice; how many there were."""
    names = _disk().names()
    for key in names:
        _disk().remove(key)
    return len(names)


def export(path: Path) -> int:
    """Write every choice to a file, for ``import_from`` elsewhere; how many there are."""
    choices = everything()
    text = json.dumps({key: c.to_dict() for key, c in choices.items()}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    return len(choices)


def import_from(path: Path) -> int:
    """Keep the choices of a file; how many there are.

    Raises
    ------
    ValueError
        When the file was not written by ``export``.
    OSError
        When it cannot be read.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        choices = {str(key): choice_of(value) for key, value in data.items()}
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path}: not written by fft-fused wisdom export: {error}") from None
    for key, choice in choices.items():
        if len(key) != 64 or not set(key) <= set("0123456789abcdef"):
            raise ValueError(f"{path}: {key[:80]!r} is no name of a choice")
        remember(key, choice)
    return len(choices)


def _disk() -> DiskCache:
    return DiskCache(cache_folder() / "wisdom", _BYTES)


@remembered(16)
def machine_name(device: str) -> str:
    """A device with the versions of all that makes its speed."""
    if device == "cpu":
        return f"{processor_name()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    from ..cuda.compile import nvrtc_version
    from .gpus import gpu_name, quick_versions

    compiler = ".".join(map(str, nvrtc_version()))
    return f"{gpu_name(device)}, {quick_versions()}, NVRTC {compiler}"


@cache
def _code() -> str:
    """The package's own code."""
    files = sorted(_PACKAGE.rglob("*.py"))
    return fingerprint(part for f in files for part in (f.name, f.read_bytes()))
