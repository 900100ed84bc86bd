"""What the planner assumes of the machine."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass, replace
from pathlib import Path

from ..options import current, resolve_workers


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates in bytes per second, sizes in bytes.

    The defaults are a core of a current x86 server: what counts is their ratio. ``thorough``:
    many shapes of kernels are to be tried. ``block_scale``: how much larger the blocks of an engine
    on the CPU are than it takes them to be best.
    """

    workers: int
    cache: int = 1 << 20
    shared_cache: int = 16 << 20
    shared_rate: float = 20e9
    memory_rate: float = 6e9
    fault_rate: float = 4e9
    call_seconds: float = 1e-6
    preferred: str | None = None
    device: str = "cpu"
    thorough: bool = False
    block_scale: float = 1.0

    def rate(self, nbytes: int) -> float:
        """At which data of this size are read and written by one core."""
        if nbytes <= self.cache:
            return math.inf
        return self.shared_rate if nbytes <= self.shared_cache else self.memory_rate

    def preferring(self, engine: str) -> Machine:
        """This machine with an engine taken wherever it offers, whatever its cost."""
        return replace(self, preferred=engine)


def processor_name() -> str:
    """The model name that the system gives, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def here(device: str = "cpu") -> Machine:
    """The machine as the options in force see it, for arrays on a device."""
    options = current()
    return Machine(
        workers=resolve_workers(options.workers),
        device=device,
        thorough=options.planning == "exhaustive",
    )
