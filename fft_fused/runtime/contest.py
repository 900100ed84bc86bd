"""Contest: calls are answered while candidates are built; then these are raced on real arrays."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..progress import Progress
from .builds import Build, first_usable, submit
from .locks import new_lock
from .plan import Lap, Plan
from .race import race
from .wisdom import Choice, machine_name, recall, remember, wisdom_key

PATIENCE = 0.8  # seconds that the first call waits for the plan expected to be fastest


class Contest:
    """The plans for a program on a device, until the fastest is known.

    What an earlier process found fastest is taken at its word. Otherwise all candidates are built
    in the background, and a call after that races them.

    Parameters
    ----------
    plan : Plan
        The one expected to be fastest, with its rivals.
    device : int
        The GPU's number.
    program : sequence of str
        What tells the program from others; the first text says what it is.
    """

    def __init__(self, plan: Plan, device: int, program: Sequence[str]) -> None:
        self._plans = tuple(replace(p, is_open=True) for p in (plan, *plan.rivals))
        self._device, self._program = device, program
        self._key = wisdom_key(program, plan.expr.device)
        self._lock = new_lock()
        self._winner = self._recalled()
        if self._winner is None:
            shared: set[int] = set()
            self._builds = [
                submit(_tasks(p, "prepare", device, shared), urgency=k > 0)
                for k, p in enumerate(self._plans)
            ]
            shared = set()
            self._shapes = [
                submit(_tasks(p, "prepare_choices", device, shared), urgency=2) for p in self._plans
            ]

    def answer(self, arrays: Sequence[Any], scalars: Sequence[Any], background: bool) -> Plan:
        """A plan for a call; it is no longer open when it is the last word.

        Raises
        ------
        Exception
            What building raised, when no plan could be built.
        """
        if self._winner is not None:
            return self._winner
        everything = (*self._builds, *self._shapes)
        if not background:
            _wait_for(everything)
        ready = all(b.is_done for b in everything) and any(b.is_usable for b in self._builds)
        if ready and self._lock.acquire(blocking=not background):
            try:
                if self._winner is None:
                    self._winner = self._raced(arrays, scalars)
                return self._winner
            finally:
                self._lock.release()
        return self._first_built()

    def _first_built(self) -> Plan:
        """The expected best plan, or whichever is built first; one of array calls, whose code is
        compiled only when they are made, where no other can be built."""
        compiled = [k for k, p in enumerate(self._plans) if _is_compiled(p)]
        for places in (compiled, [k for k in range(len(self._plans)) if k not in compiled]):
            builds = [self._builds[k] for k in places]
            place = first_usable(builds, PATIENCE) if builds else None
            if place is not None:
                return self._plans[places[place]]
        raise next(b.fault for b in self._builds if b.fault is not None)

    def _raced(self, arrays: Sequence[Any], scalars: Sequence[Any]) -> Plan:
        there = [k for k, b in enumerate(self._builds) if b.is_usable]
        place, found = race([self._plans[k] for k in there], arrays, scalars)
        place, plan = there[place], self._plans[there[place]]
        built = zip(self._plans, self._builds, strict=True)
        laps = (*found, *(_failed(p, b) for p, b in built if b.fault is not None))
        shapes = tuple(_shape(launch.run, self._device) for launch in plan.launches)
        machine = machine_name(plan.expr.device)
        remember(self._key, Choice(self._program[0], machine, place, plan.engines, shapes, laps))
        return _closed(plan, laps)

    def _recalled(self) -> Plan | None:
        """What an earlier process found, when it fits the plans of this one."""
        choice = recall(self._key)
        if choice is None or not 0 <= choice.place < len(self._plans):
            return None
        plan = self._plans[choice.place]
        if plan.engines != choice.engines or len(choice.shapes) != len(plan.launches):
            return None
        try:
            for launch, shape in zip(plan.launches, choice.shapes, strict=True):
                if hasattr(launch.run, "choose"):
                    launch.run.choose(self._device, shape)
        except ValueError:
            return None
        return _closed(plan, choice.laps)


def _wait_for(builds: Sequence[Build]) -> None:
    """Until all are done; a terminal sees how far they are."""
    with Progress(sys.stderr) as progress:
        for k, build in enumerate(builds):
            while not build.wait(0.1):
                progress(k + 1, len(builds) + 1)


def _failed(plan: Plan, build: Build) -> Lap:
    return Lap(plan.engines, math.inf, str(build.fault).partition("\n")[0], plan.seconds)


def _closed(plan: Plan, laps: tuple[Lap, ...]) -> Plan:
    return replace(plan, rivals=(), is_open=False, measured=laps)


def _is_compiled(plan: Plan) -> bool:
    """Is all of its code compiled in advance?"""
    return all(hasattr(launch.run, "prepare") for launch in plan.launches)


def _shape(run: Any, device: int) -> int:
    """The shape that a launch's kernel has; 0 where there is but one."""
    return int(run.chosen(device)) if hasattr(run, "chosen") else 0


def _tasks(plan: Plan, what: str, device: int, shared: set[int]) -> list[Callable[[], Any]]:
    """What the launches of a plan have to do, but for launches that an earlier plan has too."""
    tasks: list[Callable[[], Any]] = []
    for launch in plan.launches:
        if id(launch.run) not in shared and hasattr(launch.run, what):
            shared.add(id(launch.run))
            tasks += getattr(launch.run, what)(device)
    return tasks
