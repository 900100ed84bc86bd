"""Race: run the plans for the same values on the real arrays, keep the fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..cuda.cufft import CufftError
from ..errors import CompileError
from .device import elapsed, prepare
from .execute import execute
from .plan import Lap, Plan

_ROUNDS = 5
_HOPELESS = 2.0  # times the fastest so far: no further runs


def race(plan: Plan, arrays: Sequence[Any], scalars: Sequence[Any]) -> Plan:
    """The fastest of a plan and its rivals, with what each took.

    Each is compiled and run once, then they run in turn, so that a drifting clock hits all. A plan
    that needs more memory than there is, or that a library refuses, drops out; when all do, the
    first one's exception is raised.
    """
    import cupy

    device = cupy.cuda.runtime.getDevice()
    laps: list[float] = []
    faults: list[Exception | None] = []
    plans = [plan, *plan.rivals]
    prepare([launch.run for each in plans for launch in each.launches], device)
    for each in plans:
        fault = _tried(each, arrays, scalars)
        faults.append(fault)
        laps.append(_lap(each, arrays, scalars) if fault is None else math.inf)
    if faults[0] is not None and all(f is not None for f in faults):
        raise faults[0]
    for _ in range(_ROUNDS - 1):
        for k, each in enumerate(plans):
            if laps[k] < _HOPELESS * min(laps):
                laps[k] = min(laps[k], _lap(each, arrays, scalars))
    cupy.get_default_memory_pool().free_all_blocks()
    winner = min(range(len(plans)), key=lambda k: laps[k])
    measured = tuple(
        Lap(p.engines, t, "" if f is None else str(f).splitlines()[0])
        for p, t, f in zip(plans, laps, faults, strict=True)
    )
    return replace(plans[winner], rivals=(), measured=measured)


def _tried(plan: Plan, arrays: Sequence[Any], scalars: Sequence[Any]) -> Exception | None:
    """Run once; what went wrong."""
    import cupy

    try:
        execute(plan, arrays, scalars)
        cupy.cuda.get_current_stream().synchronize()
    except (cupy.cuda.memory.OutOfMemoryError, CufftError, CompileError) as error:
        return error.with_traceback(None)
    return None


def _lap(plan: Plan, arrays: Sequence[Any], scalars: Sequence[Any]) -> float:
    return elapsed(lambda: execute(plan, arrays, scalars))
