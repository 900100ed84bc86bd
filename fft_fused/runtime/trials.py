"""Trials: on a CPU the calls of a program are themselves the laps of its candidates' race."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from .locks import new_lock
from .plan import Lap, Plan
from .wisdom import Choice, machine_name, recall, remember, wisdom_key

_LAPS = 2
_HOPELESS = 1.5  # times the fastest, after a lap of each
_GAIN = 1.03  # by which another plan must be faster than the expected best to take its place


class Trials:
    """The plans for a program, one after another, until the fastest is known.

    No call computes anything twice; what an earlier process found is taken at its word.

    Parameters
    ----------
    plan : Plan
        The one expected to be fastest, with its rivals.
    program : sequence of str
        What tells the program from others; the first text says what it is.
    """

    def __init__(self, plan: Plan, program: Sequence[str]) -> None:
        self._plans = (plan, *plan.rivals)
        self._program, self._key = program, wisdom_key(program, "cpu")
        self._lock = new_lock()
        self._laps: list[list[float]] = [[] for _ in self._plans]
        self._given = [0] * len(self._plans)
        self._winner = self._recalled()

    def answer(self) -> Plan:
        """The plan for a call; it is no longer open when it is the last word."""
        with self._lock:
            if self._winner is not None:
                return self._winner
            place = min(self._running(), key=lambda k: (self._given[k], k))
            self._given[place] += 1
            return replace(self._plans[place], is_open=True, told=partial(self._note, place))

    def _note(self, place: int, seconds: float) -> None:
        """A lap is done. The first one of a plan warms it up: the least of them counts."""
        with self._lock:
            self._laps[place].append(seconds)
            if self._winner is None and all(len(self._laps[k]) >= _LAPS for k in self._running()):
                self._winner = self._settled()

    def _running(self) -> list[int]:
        """The plans that may still win."""
        best = [min(laps, default=math.inf) for laps in self._laps]
        if math.inf in best or any(len(laps) < 2 for laps in self._laps[:1]):
            return list(range(len(best)))
        return [k for k, seconds in enumerate(best) if seconds <= _HOPELESS * min(best)]

    def _settled(self) -> Plan:
        best = [min(laps) for laps in self._laps]
        place = min(range(len(best)), key=lambda k: best[k] * (1 if k == 0 else _GAIN))
        measured = zip(self._plans, best, strict=True)
        laps = tuple(Lap(p.engines, t, estimate=p.seconds) for p, t in measured)
        engines = self._plans[place].engines
        remember(self._key, Choice(self._program[0], machine_name("cpu"), place, engines, (), laps))
        return _closed(self._plans[place], laps)

    def _recalled(self) -> Plan | None:
        choice = recall(self._key)
        if choice is None or not 0 <= choice.place < len(self._plans):
            return None
        plan = self._plans[choice.place]
        return _closed(plan, choice.laps) if plan.engines == choice.engines else None


def _closed(plan: Plan, laps: tuple[Lap, ...]) -> Plan:
    return replace(plan, rivals=(), is_open=False, measured=laps)
