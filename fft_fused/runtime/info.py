"""What is installed and what can run here."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from typing import Any

from ..options import cpu_count, current, resolve_workers

_OPTIONAL = {
    "cupy": "pip install fft_fused[cuda13]",
    "cuda-python": "pip install fft_fused[cuda13]",
    "matplotlib": "pip install fft_fused[plot]",
    "sigmf": "pip install fft_fused[io]",
    "baseband": "pip install fft_fused[io]",
}


@dataclass(frozen=True, slots=True)
class Info:
    """Versions, engines (empty text: usable; else why not), optional packages, threads."""

    versions: dict[str, str]
    engines: dict[str, str]
    optional: dict[str, str]
    cpus: int
    workers: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        lines = [f"{name:14s} {version}" for name, version in self.versions.items()]
        lines.append(f"{'threads':14s} {self.workers} of {self.cpus} CPUs")
        lines.append("engines")
        lines += [f"  {name:14s} {why or 'usable'}" for name, why in self.engines.items()]
        lines.append("optional packages")
        lines += [f"  {name:14s} {what}" for name, what in self.optional.items()]
        return "\n".join(lines)

    __repr__ = __str__


def info() -> Info:
    """Versions, engines and optional packages of this environment.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.info().engines["numpy_blocked"]
    ''
    """
    from ..engines import registry

    versions = {name: _version(name) or "?" for name in ("fft_fused", "numpy", "scipy")}
    versions["python"] = platform.python_version()
    optional = {
        name: _version(name) or f"not installed: {cure}" for name, cure in _OPTIONAL.items()
    }
    engines = {e.name: e.available() for e in registry()}
    return Info(versions, engines, optional, cpu_count(), resolve_workers(current().workers))


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
    """Forget every plan; fused functions keep the ones they use."""
    from ..passes.pipeline import PLANS

    PLANS.clear()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
