"""Plans are compared by their values; the odd one out is found, rounding is none."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused.runtime.agreement import agree, outliers, sample

RNG = np.random.default_rng(0)


def values(dtype, size=10_000):
    x = RNG.standard_normal(size) * 100
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(size)
    return x.astype(dtype)


def rounded_otherwise(x):
    if x.dtype.kind in "fc":
        return (x * (1 + 4 * np.finfo(x.dtype).eps)).astype(x.dtype)
    return x + (RNG.random(x.size) < 0.5).astype(x.dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i2", "u1"])
def test_rounding_is_no_disagreement_a_wrong_value_is(dtype):
    x = abs(values(dtype)).astype(dtype) if dtype == "u1" else values(dtype)
    assert agree(sample([x]), sample([rounded_otherwise(x)]))
    wrong = x.copy()
    wrong[::7] = wrong[::7] // 2 if wrong.dtype.kind in "iu" else -wrong[::7]
    assert not agree(sample([x]), sample([wrong]))


def test_nan_and_infinity_have_to_be_at_the_same_places():
    x = values("f4")
    x[3] = np.nan
    moved = values("f4")
    assert agree(sample([x]), sample([x.copy()]))
    assert not agree(sample([x]), sample([moved]))


def test_every_place_of_a_row_is_met():
    for width in (2, 8, 64, 1000, 4096):
        x = np.arange(1 << 20).reshape(-1, width) % width if (1 << 20) % width == 0 else None
        if x is not None:
            (some,) = sample([x])
            assert len(np.unique(some)) == min(width, np.unique(some).size)
            assert len(np.unique(some)) >= min(width, 1000)


def test_empty_and_single_results_have_samples():
    assert agree(
        sample([np.zeros((0, 3)), np.float32(2) * np.ones(())]),
        sample([np.zeros((0, 3)), np.ones(()) * 2]),
    )


def test_the_minority_is_found():
    x, wrong = values("f4"), values("f4")
    good = [sample([rounded_otherwise(x)]) for _ in range(3)]
    assert outliers([*good, sample([wrong])]) == {3}
    assert outliers([sample([wrong]), None, *good]) == {0}


def test_two_that_disagree_and_pure_noise_decide_nothing():
    a, b, c = (sample([values("f4")]) for _ in range(3))
    assert outliers([a, b]) == set()
    assert outliers([a, b, c]) == set()
    assert outliers([]) == set()
