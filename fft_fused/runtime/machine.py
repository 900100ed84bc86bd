"""What the planner assumes of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..options import current, resolve_workers


@dataclass(frozen=True, slots=True)
class Machine:
    """Rates in bytes per second, sizes in bytes.

    The defaults are a core of a current x86 server: what counts is their ratio. ``thorough``:
    many shapes of kernels are to be tried.
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

    def rate(self, nbytes: int) -> float:
        """At which data of this size are read and written by one core."""
        if nbytes <= self.cache:
            return math.inf
        return self.shared_rate if nbytes <= self.shared_cache else self.memory_rate

    def preferring(self, engine: str) -> Machine:
        """This machine with an engine taken wherever it offers, whatever its cost."""
        return replace(self, preferred=engine)


def here(device: str = "cpu") -> Machine:
    """The machine as the options in force see it, for arrays on a device."""
    options = current()
    return Machine(
        workers=resolve_workers(options.workers),
        device=device,
        thorough=options.planning == "exhaustive",
    )
