"""Race: run the plans for the same values on the real arrays, keep the fastest that is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..cuda.cufft import CufftError
from ..errors import CompileError
from .agreement import Sample, outliers, sample
from .device import elapsed
from .execute import execute
from .plan import Lap, Plan

_ROUNDS = 5
_HOPELESS = 2.0  # times the fastest so far: no further runs
_DISAGREES = "its values differ from those of the others"


@dataclass(slots=True, eq=False)
class _Runner:
    """A plan in the race: its best time, some of its values, and what went wrong."""

    plan: Plan
    seconds: float = math.inf
    values: Sample | None = None
    fault: Exception | None = None

    def lap(self, arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        self.seconds = min(self.seconds, elapsed(lambda: execute(self.plan, arrays, scalars)))

    def result(self, disagrees: bool) -> Lap:
        fault = "" if self.fault is None else str(self.fault).splitlines()[0]
        told = _DISAGREES if disagrees else fault
        return Lap(self.plan.engines, self.seconds, told, self.plan.seconds)


def race(
    plans: Sequence[Plan], arrays: Sequence[Any], scalars: Sequence[Any]
) -> tuple[int, tuple[Lap, ...]]:
    """The place of the fastest plan, and what each took.

    Each is compiled and run once, then they run in turn, so that a drifting clock hits all. A plan
    that needs more memory than there is, that a library refuses, or whose values differ from what
    most plans agree on, drops out; when all do, the first one's exception is raised.
    """
    import cupy

    runners = [_Runner(p) for p in plans]
    for each in runners:
        _try(each, arrays, scalars)
    wrong = outliers([r.values for r in runners])
    running = [r for k, r in enumerate(runners) if r.fault is None and k not in wrong]
    if not running:
        raise next(r.fault for r in runners if r.fault is not None)
    hopeful = running
    for _ in range(_ROUNDS):
        for each in hopeful:
            each.lap(arrays, scalars)
        least = min(r.seconds for r in running)
        hopeful = [r for r in running if r.seconds < _HOPELESS * least]
    cupy.get_default_memory_pool().free_all_blocks()
    winner = min(running, key=lambda r: r.seconds)
    laps = tuple(r.result(k in wrong) for k, r in enumerate(runners))
    return runners.index(winner), laps


def _try(runner: _Runner, arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
    """Run once, choosing among the shapes of its kernels; a look at the values."""
    import cupy

    try:
        runner.values = sample(execute(runner.plan, arrays, scalars, measuring=True))
    except (cupy.cuda.memory.OutOfMemoryError, CufftError, CompileError) as error:
        runner.fault = error.with_traceback(None)
