"""While candidates are built calls are answered; then they are raced, and the choice is kept."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from fft_fused import fft, lazy, options
from fft_fused.engines import one_kernel
from fft_fused.passes import pipeline
from fft_fused.runtime import contest
from fft_fused.runtime.builds import wait
from fft_fused.runtime.contest import Contest
from fft_fused.runtime.device import Resources
from fft_fused.runtime.plan import Lap
from tests.cuda import emulate

PROGRAM = ("a program",)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(contest, "machine_name", lambda device: "a GPU")
    monkeypatch.setattr(contest, "wisdom_key", lambda program, device: "0" * 64)
    monkeypatch.setattr(contest, "PATIENCE", 0.05)


def planned(monkeypatch, build=lambda number: None, length=2048):
    """A plan with rivals whose launches build by calls of ``build`` with their number."""
    x = lazy(np.zeros((4096, length), np.complex64))
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


@pytest.mark.parametrize("capturing", [False, True])
def test_calls_take_the_winner_once_it_is_known(monkeypatch, capturing):
    plan, calls = planned(monkeypatch), racing(monkeypatch)
    resources = Resources(capturing=capturing)
    monkeypatch.setattr(pipeline, "resources_now", lambda workers: resources)
    found = pipeline.settled(plan, [], ())
    assert wait(30)
    found = pipeline.settled(plan, [], ())
    if capturing:
        assert found is plan
        assert not calls
        return
    assert not found.is_open
    assert pipeline.plan_for(plan.expr) is found
    assert pipeline.settled(found, [], ()) is found
    assert len(calls) == 1


def test_exhaustive_planning_waits(monkeypatch):
    plan = planned(monkeypatch, lambda number: threading.Event().wait(0.05))
    racing(monkeypatch)
    monkeypatch.setattr(pipeline, "resources_now", lambda workers: Resources())
    with options(planning="exhaustive"):
        assert not pipeline.settled(plan, [], ()).is_open


@pytest.mark.parametrize("case", ["fastest", "fastest is wrong"])
def test_of_the_shapes_that_agree_the_fastest_runs(monkeypatch, case):
    monkeypatch.setattr(one_kernel, "_lap", lambda variant, *given: variant.laps)
    monkeypatch.setattr(one_kernel, "sample", lambda outputs: (outputs[0].copy(),))
    plan, _ = emulate.planned([abs(fft(lazy(np.zeros((65536, 256), "c8"))))], "one_kernel")
    (launch,) = plan.launches
    run, output, ran = launch.run, np.ones(100, np.float32), []
    assert len(run.variants) > 2
    seconds = [3.0, 1.0, *[2.0] * (len(run.variants) - 2)]

    class Variant:
        def __init__(self, number):
            self.number = number

        @property
        def laps(self):
            output[:] = -1 if case == "fastest is wrong" and self.number == 1 else 1
            return seconds[self.number]

        def run(self, *given):
            ran.append(self.number)

    run.variants = tuple(Variant(k) for k in range(len(seconds)))
    run([], [output], Resources())
    run([], [output], Resources(measuring=True))
    run([], [output], Resources())
    assert ran[0] == 0
    assert ran[1] == ran[2] == (2 if case == "fastest is wrong" else 1)
    assert run.chosen(0) == ran[1]
    assert not run.has_choice(0)
    assert run.has_choice(1)


def with_array_calls(plan):
    """The plan, with the expression as recorded as its only rival."""
    recorded = pipeline._as_recorded(plan.expr, pipeline.registry(), pipeline.here("cuda:0"))
    return replace(plan, rivals=(recorded,))


def test_array_calls_are_no_answer_while_code_is_compiled(monkeypatch):
    gate = threading.Event()
    plan = with_array_calls(planned(monkeypatch, lambda number: gate.wait(30)))
    threading.Timer(0.3, gate.set).start()
    assert Contest(plan, 0, PROGRAM).answer([], (), True).engines == plan.engines
    assert wait(30)


def test_array_calls_are_the_answer_when_nothing_can_be_compiled(monkeypatch):
    def build(number):
        raise ValueError("no code")

    monkeypatch.setattr(contest, "race", lambda *given: (0, ()))
    plan = with_array_calls(planned(monkeypatch, build))
    assert Contest(plan, 0, PROGRAM).answer([], (), True).engines == "unfused"
    assert wait(30)
