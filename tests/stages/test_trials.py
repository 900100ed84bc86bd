"""On a CPU the calls themselves are the laps: nothing is computed twice, the fastest stays."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from fft_fused import fft, fuse, options, planning
from fft_fused.passes import pipeline
from fft_fused.runtime import trials, wisdom
from fft_fused.runtime.trials import Trials


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path))


X = np.random.default_rng(0).standard_normal((256, 1024, 2)).astype("f4").view("c8")[..., 0]


def made():
    @fuse
    def power(x):
        return abs(fft(x * 2)) ** 2

    return power


def laps_until_settled(found, seconds):
    """Answers and what they are told, by a table of seconds for each plan's engines."""
    order = []
    for _ in range(100):
        plan = found.answer()
        if not plan.is_open:
            return plan, order
        order.append(plan.engines)
        plan.told(seconds(plan.engines))
    raise AssertionError("never settled")


def test_candidates_are_fewer_threads_the_recorded_expression_and_other_blocks():
    with options(workers=2):
        plan = made().compile(X)
        with planning("exhaustive"):
            thorough = made().compile(X)
    assert plan.is_open
    assert {p.engines for p in plan.rivals} <= {"unfused", "numpy_blocked, 1 thread"}
    assert "numpy_blocked, 1 thread" in [p.engines for p in plan.rivals]
    found = [p.engines for p in thorough.rivals]
    assert "numpy_blocked, blocks 0.5 times as large" in found
    assert "numpy_blocked, blocks 4 times as large" in found


def test_the_fastest_stays_and_is_remembered():
    with options(workers=2):
        plan = made().compile(X)
    fast = plan.rivals[-1].engines
    first = Trials(plan, ("p",))
    winner, order = laps_until_settled(first, lambda e: 1.0 if e == fast else 1.2)
    assert winner.engines == fast
    assert winner.told is None
    assert sorted(set(order)) == sorted({plan.engines, *(p.engines for p in plan.rivals)})
    assert all(order.count(e) >= 2 for e in order)
    assert Trials(plan, ("p",)).answer().engines == fast
    assert Trials(plan, ("another",)).answer().is_open


def test_a_small_gain_does_not_move_the_choice():
    plan = made().compile(X)
    winner, _ = laps_until_settled(
        Trials(plan, ("p",)), lambda e: 1.0 if e == plan.engines else 0.99
    )
    assert winner.engines == plan.engines


def test_hopeless_plans_get_few_calls():
    plan = made().compile(X)
    _, order = laps_until_settled(Trials(plan, ("p",)), lambda e: 1.0 if e == plan.engines else 3.0)
    for other in plan.rivals:
        assert order.count(other.engines) <= 2


def test_real_calls_settle_and_stay_right():
    power = made()
    wanted = np.abs(np.fft.fft(X.astype(complex) * 2)) ** 2
    for _ in range(40):
        np.testing.assert_allclose(power(X), wanted, rtol=1e-4, atol=1e-4 * wanted.max())
    text = str(power.explain(X))
    assert "measured on the arrays of calls, ms" in text
    assert len(wisdom.everything()) == 1


def test_threads_share_the_trials():
    power, faults = made(), []
    wanted = np.abs(np.fft.fft(X.astype(complex) * 2)) ** 2

    def work():
        for _ in range(10):
            if not np.allclose(power(X), wanted, rtol=1e-4, atol=1e-4 * wanted.max()):
                faults.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults
    assert not power.compile(X).is_open


@pytest.mark.parametrize("how", ["estimate", "engine", "strict", "small", "large"])
def test_nothing_is_tried(how, monkeypatch):
    power = made()
    if how == "large":
        monkeypatch.setattr(pipeline, "_MOST_TRIED", 1000)
    given = {"engine": {"engine": "numpy_blocked"}, "strict": {"strict": True}}.get(how, {})
    with options(**given), planning("estimate" if how == "estimate" else "measure"):
        assert not power.compile(X[:1] if how == "small" else X).is_open


def test_a_call_that_fails_is_no_lap(monkeypatch):
    plan = made().compile(X)
    found = Trials(plan, ("p",))
    for _ in range(50):
        assert found.answer().is_open
    winner, _ = laps_until_settled(found, lambda e: 1.0)
    assert winner.engines == plan.engines
    assert trials.recall(found._key).place == 0


def test_a_comparison_is_of_the_settled_plan():
    power = made()
    power.compare(X, repeat=1)
    assert not power.compile(X).is_open
