"""What explain and compare say is what runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import fft, fft2, fuse, ifft2
from fft_fused.cuda.fft.shape import shapes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((256, 1024, 2), dtype=np.float32).view(np.complex64)[..., 0]
W = np.hanning(1024).astype(np.float32)


@fuse
def power(x, window):
    return abs(fft(x * window)) ** 2


@fuse
def round_trip(x, transfer):
    return ifft2(fft2(x) * transfer)


def test_summary_names_operands_engine_and_parts():
    text = str(power.explain(X, W))
    assert "power(x: c8[256,1024], window: f4[1024]) -> f4[256, 1024]" in text
    assert "numpy_blocked" in text
    assert "load      to complex64 > multiply" in text
    assert "transform c2c n=1024 axis=1 -" in text
    assert "store     abs2" in text
    assert "bytes moved: fused 3.1 MB, unfused" in text


def test_summary_says_why_two_launches_are_not_one():
    text = str(round_trip.explain(X, np.ones(1024, np.complex64)))
    assert "through memory: joined would be" in text


@pytest.mark.parametrize(
    ("stage", "parts"),
    [
        ("expr", ["transform[fft n=1024 axis=1](", "power(", ": f4[256,1024]"]),
        ("normal", ["dft[c2c n=1024 axis=1 -](", "abs2("]),
        ("chain", ["transform", "map       abs2"]),
        ("selection", ["taken", "numpy_blocked", "unfused", "not taken"]),
        ("source", ["def block(", "c2c(", "abs2("]),
    ],
)
def test_stages_are_readable(stage, parts):
    text = str(power.explain(X, W, stage=stage))
    for part in parts:
        assert part in text


def test_unknown_stage_is_refused():
    with pytest.raises(ValueError, match="stage 'plan' does not exist; there are expr, normal"):
        power.explain(X, W, stage="plan")


def test_explain_computes_nothing():
    spec = fft_fused.ArraySpec((1 << 20, 1 << 20), np.dtype("c8"), (8 << 20, 8))
    text = str(fuse(lambda x: abs(fft(x)) ** 2).explain(spec))
    assert "numpy_blocked" in text


def test_explanation_is_data_and_html():
    explanation = power.explain(X, W)
    data = json.loads(json.dumps(explanation.to_dict()))
    assert data["operands"] == {"x": "c8[256,1024]", "window": "f4[1024]"}
    assert [launch["engine"] for launch in data["launches"]] == ["numpy_blocked"]
    assert data["bytes_moved"]["fused"] < data["bytes_moved"]["unfused"]
    assert "<table>" in explanation._repr_html_()
    assert "<pre>" in power.explain(X, W, stage="expr")._repr_html_()


def test_launches_named_are_the_launches_run(monkeypatch):
    ran = []
    plan = round_trip.compile(X, np.ones(1024, np.complex64))
    from fft_fused.runtime import execute

    for step in plan.steps:
        run = step.launch.run
        object.__setattr__(
            step.launch,
            "run",
            lambda *a, run=run, name=step.launch.engine: (ran.append(name), run(*a))[1],
        )
    execute.execute(plan, [X, np.ones(1024, np.complex64)])
    named = [
        launch["engine"]
        for launch in round_trip.explain(X, np.ones(1024, np.complex64)).to_dict()["launches"]
    ]
    assert ran == named


def test_compare_gives_times_memory_and_error():
    result = power.compare(X, W, repeat=2)
    assert result.unfused.peak_bytes > result.fused.peak_bytes > 0
    assert 0 < result.fused.error < 1e-6
    assert result.ratio == result.unfused.seconds / result.fused.seconds
    assert "unfused" in str(result)
    assert set(result.to_dict()) >= {"fused", "unfused", "ratio", "repeat"}
    assert "<table>" in result._repr_html_()


def test_compare_refuses_no_runs():
    with pytest.raises(ValueError, match="repeat is 0"):
        power.compare(X, W, repeat=0)


def test_unfused_is_the_expression_as_typed():
    wanted = np.abs(scipy.fft.fft(X * W)) ** 2
    np.testing.assert_array_equal(power.unfused(X, W), wanted)


def test_error_is_measured_against_double_precision():
    shifted = fuse(lambda x: x + np.float32(1e8) - np.float32(1e8))
    x = np.full(64, 3.0, np.float32)
    assert shifted.compare(x, repeat=1).unfused.error > 0.1


def test_strict_names_what_was_not_fused_and_why():
    product = fuse(lambda x, m: fft(x @ m))
    m = np.ones((1024, 16), np.complex64)
    with fft_fused.options(strict=True), pytest.raises(fft_fused.NotFusedError) as caught:
        fuse(lambda x: fft(np.cumsum(x, axis=1)) * 2)(X)
    assert "cumsum runs on whole arrays" in str(caught.value)
    assert product(X, m).shape == (256, 16)


def test_strict_lets_fused_expressions_run():
    with fft_fused.options(strict=True):
        assert power(X, W).shape == X.shape


def test_options_are_checked():
    with pytest.raises(ValueError, match="engine 'cuda' does not exist; there are numpy_blocked"):
        fft_fused.options(engine="cuda").__enter__()
    with pytest.raises(TypeError, match="options: no option 'threads'; there are engine"):
        fft_fused.options(threads=2).__enter__()
    with pytest.raises(ValueError, match="workers must not be zero"):
        fft_fused.options(workers=0).__enter__()


def test_unfused_engine_runs_what_was_recorded():
    with fft_fused.options(engine="unfused"):
        plan = power.compile(X, W)
        assert [launch.engine for launch in plan.launches] == ["unfused"]
        np.testing.assert_array_equal(power(X, W), power.unfused(X, W))


def test_cache_info_counts_and_clears():
    fft_fused.cache_clear()
    fft_fused.lazy(X).real.compute()
    fft_fused.lazy(X).real.compute()
    counts = fft_fused.cache_info()
    assert counts["plans"] == 1
    assert counts["hits"] == 1
    assert counts["misses"] == 1


def test_clearing_forgets_what_was_worked_out_about_lengths():
    shapes(1000)
    assert shapes.cache_info().currsize
    fft_fused.cache_clear()
    assert not shapes.cache_info().currsize
