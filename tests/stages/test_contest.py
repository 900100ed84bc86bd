"""While candidates are built calls are answered; then they are raced, and the choice is kept."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from fft_fused import fft, lazy
from fft_fused.runtime import contest
from fft_fused.runtime.builds import wait
from fft_fused.runtime.contest import Contest
from fft_fused.runtime.plan import Lap
from tests.cuda import emulate

PROGRAM = ("a program",)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(contest, "machine_name", lambda device: "a GPU")
    monkeypatch.setattr(contest, "wisdom_key", lambda program, device: "0" * 64)
    monkeypatch.setattr(contest, "PATIENCE", 0.05)


def planned(monkeypatch, build=lambda number: None):
    """A plan with rivals whose launches build by calls of ``build`` with their number."""
    x = lazy(np.zeros((4096, 2048), np.complex64))
    plan, _ = emulate.planned([abs(fft(x * 2)) ** 2], None)
    runs = {id(launch.run): launch.run for p in (plan, *plan.rivals) for launch in p.launches}
    for number, run in enumerate(runs.values()):
        if hasattr(run, "prepare"):
            monkeypatch.setattr(
                type(run), "prepare", lambda self, device: [lambda: build(_number(runs, self))]
            )
        if hasattr(run, "prepare_choices"):
            monkeypatch.setattr(type(run), "prepare_choices", lambda self, device: [])
        assert number < 40
    return plan


def _number(runs, run):
    return list(runs).index(id(run))


def racing(monkeypatch, place=1):
    calls = []

    def race(plans, arrays, scalars):
        calls.append(len(plans))
        return place, tuple(Lap(p.engines, 1.0 + k) for k, p in enumerate(plans))

    monkeypatch.setattr(contest, "race", race)
    return calls


def test_plans_of_a_gpu_are_open_with_rivals_and_shapes(monkeypatch):
    plan = planned(monkeypatch)
    assert plan.is_open
    assert plan.rivals
    assert any(getattr(launch.run, "has_shapes", False) for launch in plan.launches)


def test_once_all_is_built_the_winner_is_found_and_closed(monkeypatch):
    plan, calls = planned(monkeypatch), racing(monkeypatch)
    made = Contest(plan, 0, PROGRAM)
    assert wait(30)
    winner = made.answer([], (), True)
    assert not winner.is_open
    assert winner.engines == plan.rivals[0].engines
    assert winner.rivals == ()
    assert [lap.engines for lap in winner.measured] == [p.engines for p in (plan, *plan.rivals)]
    assert made.answer([], (), True) is winner
    assert calls == [1 + len(plan.rivals)]


def test_calls_are_answered_while_the_best_is_built(monkeypatch):
    gate = threading.Event()
    plan = planned(monkeypatch, lambda number: gate.wait(30) if number == 0 else None)
    racing(monkeypatch)
    made = Contest(plan, 0, PROGRAM)
    for _ in range(3):
        found = made.answer([], (), True)
        assert found.is_open
        assert found.engines != plan.engines
    gate.set()
    assert wait(30)
    assert not made.answer([], (), True).is_open


def test_without_a_background_the_first_call_waits_and_races(monkeypatch):
    plan, calls = planned(monkeypatch), racing(monkeypatch, place=0)
    found = Contest(plan, 0, PROGRAM).answer([], (), False)
    assert not found.is_open
    assert len(calls) == 1


def test_a_plan_that_cannot_be_built_is_passed_over_and_told(monkeypatch):
    def build(number):
        if number == 0:
            raise ValueError("no code\nand more")

    plan = planned(monkeypatch, build)
    racing(monkeypatch, place=0)
    found = Contest(plan, 0, PROGRAM).answer([], (), False)
    assert found.engines == plan.rivals[0].engines
    assert found.measured[-1] == Lap(plan.engines, float("inf"), "no code", plan.seconds)


def test_what_building_raised_is_raised_when_no_plan_is_left(monkeypatch):
    def build(number):
        raise ValueError(f"no code for {number}")

    plan = planned(monkeypatch, build)
    plans = [p for p in plan.rivals if p.engines != "unfused"]
    made = Contest(replace(plan, rivals=tuple(plans)), 0, PROGRAM)
    monkeypatch.setattr(contest, "race", lambda *given: pytest.fail("nothing to race"))
    with pytest.raises(ValueError, match="no code for"):
        made.answer([], (), True)
    assert wait(30)
    with pytest.raises(ValueError, match="no code for"):
        made.answer([], (), False)


def test_a_later_process_takes_the_choice(monkeypatch):
    plan, calls = planned(monkeypatch), racing(monkeypatch)
    first = Contest(plan, 0, PROGRAM).answer([], (), False)
    again = Contest(plan, 0, PROGRAM).answer([], (), True)
    assert not again.is_open
    assert again.engines == first.engines
    assert again.measured == first.measured
    assert len(calls) == 1


def test_the_choice_of_another_set_of_plans_is_not_taken(monkeypatch):
    plan = planned(monkeypatch)
    calls = racing(monkeypatch, place=len(plan.rivals))
    Contest(plan, 0, PROGRAM).answer([], (), False)
    racing(monkeypatch, place=0)
    found = Contest(replace(plan, rivals=plan.rivals[:-1]), 0, PROGRAM).answer([], (), False)
    assert found.engines == plan.engines
    assert len(calls) == 1


def test_threads_get_answers_while_one_races(monkeypatch):
    plan = planned(monkeypatch)
    inside, gate = threading.Event(), threading.Event()

    def race(plans, arrays, scalars):
        inside.set()
        gate.wait(30)
        return 0, ()

    monkeypatch.setattr(contest, "race", race)
    made = Contest(plan, 0, PROGRAM)
    assert wait(30)
    results = []
    racer = threading.Thread(target=lambda: results.append(made.answer([], (), True)))
    racer.start()
    assert inside.wait(30)
    assert made.answer([], (), True).is_open
    gate.set()
    racer.join(30)
    assert not results[0].is_open
