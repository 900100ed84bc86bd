"""What is installed and what can run here."""

from __future__ import annotations

import importlib
import platform
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy

from ..options import cpu_count, current, resolve_workers
from .cache import clear_all
from .gpus import CURE, Gpu, cuda_versions, gpus, why_no_gpu

_OPTIONAL = {
    "matplotlib": "pip install fft_fused[plot]",
    "sigmf": "pip install fft_fused[io]",
    "baseband": "pip install fft_fused[io]",
}


@dataclass(frozen=True, slots=True)
class Info:
    """What is installed and what can run here.

    Attributes
    ----------
    versions : dict
        Of the package, NumPy, SciPy and Python.
    engines : dict
        By name: empty text when usable, else why not.
    gpus : tuple of Gpu
    no_gpu : str
        Why there are none; empty when there are.
    cuda : dict
        Versions of driver, runtime and CUDA libraries, or what is missing.
    optional : dict
        Versions of optional packages, or how to install them.
    cpus, workers : int
        CPUs this process may use, and threads it does use.
    """

    versions: dict[str, str]
    engines: dict[str, str]
    gpus: tuple[Gpu, ...]
    no_gpu: str
    cuda: dict[str, str]
    optional: dict[str, str]
    cpus: int
    workers: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    def __str__(self) -> str:
        lines = _rows(self.versions, "")
        lines.append(f"{'threads':14s} {self.workers} of {self.cpus} CPUs")
        lines.append("GPUs")
        lines += [f"  {gpu}" for gpu in self.gpus] or [f"  none: {self.no_gpu}"]
        lines += ["CUDA", *_rows(self.cuda)]
        lines += ["engines", *_rows({name: why or "usable" for name, why in self.engines.items()})]
        lines += ["optional packages", *_rows(self.optional)]
        return "\n".join(lines)

    __repr__ = __str__


def _rows(table: dict[str, str], indent: str = "  ") -> list[str]:
    return [f"{indent}{name:14s} {text}" for name, text in table.items()]


def info() -> Info:
    """Versions, GPUs, CUDA libraries, engines and optional packages of this environment.

    Returns
    -------
    Info
        Text by ``str()``, data by ``to_dict()``.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.info().engines["numpy_blocked"]
    ''
    """
    from .. import __version__
    from ..engines import registry

    versions = {
        "fft_fused": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
    optional = {"cuda-python": _cuda_bindings() or f"not installed: {CURE}"}
    optional |= {
        name: _version(name) or f"not installed: {cure}" for name, cure in _OPTIONAL.items()
    }
    engines = {e.name: e.available() for e in registry()}
    workers = resolve_workers(current().workers)
    return Info(
        versions, engines, gpus(), why_no_gpu(), cuda_versions(), optional, cpu_count(), workers
    )


def cache_info() -> dict[str, int]:
    """Plans kept, the most that are kept, hits and misses."""
    from ..passes.pipeline import PLANS

    return {
        "plans": len(PLANS),
        "limit": PLANS.limit,
        "hits": PLANS.hits,
        "misses": PLANS.misses,
    }


def cache_clear() -> None:
    """Forget every plan, of cuFFT too, and every table; fused functions keep what they use."""
    clear_all()


def _cuda_bindings() -> str | None:
    """Version of what cuda-python is used for; it is also installed without that package."""
    try:
        found = importlib.import_module("cuda.bindings")
    except ImportError:
        return None
    return str(getattr(found, "__version__", "of unknown version"))


def _version(name: str) -> str | None:
    from importlib import metadata  # not at the top: it takes longer than much of the package

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
