"""Keys of lazy arrays: basic slicing records, all else names its cure."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import lazy

from .agreement import X, assert_agrees


@pytest.mark.parametrize(
    "key",
    [
        *(0, -1, slice(1, None), (slice(None), 2), (..., 1), (None, 0), (slice(None, None, -1), 1)),
        *((), (..., None), (1, slice(3, 0, -2)), slice(5, 9), (np.int64(1), np.int8(-1)), ...),
    ],
)
def test_basic_indexing(key):
    assert_agrees(lambda x: x[key], X)


@pytest.mark.parametrize(
    ("key", "cure"),
    [
        (X > 3, r"x\[mask\].*xp\.where"),
        ((0, X[0] > 3), r"x\[mask\].*xp\.where"),
        (np.array([0, 1]), r"x\[array\].*xp\.take"),
        ([0, 1], r"xp\.take"),
        (True, r"xp\.where"),
        (1.5, "not recorded"),
    ],
)
def test_other_indexing_names_the_cure(key, cure):
    with pytest.raises(IndexError, match=cure):
        lazy(X)[key]


def test_reading_by_a_lazy_mask_names_the_cure():
    x = lazy(X)
    with pytest.raises(IndexError, match=r"x\[mask\].*xp\.where"):
        x[x > 3]


@pytest.mark.parametrize("value", [X, [1.0, 2.0]])
def test_mask_assignment_of_several_values_names_the_cure(value):
    x = lazy(X)
    with pytest.raises(IndexError, match=r"value must be a number; use fft_fused\.xp\.where"):
        x[x > 3] = value


def test_mask_of_another_shape_names_the_cure():
    x = lazy(X)
    with pytest.raises(IndexError, match=r"shape \(3,\) does not fit an array of \(3, 4\)"):
        x[X[:, 0] > 3] = 0


@pytest.mark.parametrize("key", [3, (0, 4), (0, 0, 0), (..., ...)])
def test_index_errors_are_numpys(key):
    with pytest.raises(IndexError):
        X[key]
    with pytest.raises(IndexError):
        lazy(X)[key]
