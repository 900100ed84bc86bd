"""A program run on NumPy arrays and on lazy arrays has to give the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fft_fused import LazyArray, lazy
from fft_fused.engines.unfused import evaluate
from fft_fused.passes.trace import collect

X = np.arange(1.0, 13.0).reshape(3, 4)
Z = (X + 1j * X[::-1]).astype(np.complex64)


def sample(code: str, shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    """Small values of a dtype, no zeros but for bool."""
    values = np.arange(1, math.prod(shape) + 1).reshape(shape)
    if code == "?":
        return values % 3 == 0
    return (values * (1 - 0.5j)).astype(code) if np.dtype(code).kind == "c" else values.astype(code)


def recorded(value: LazyArray) -> np.ndarray:
    """The graph as recorded, one NumPy call a node: no pass or engine in between."""
    expr, sources = collect([value.node])
    return evaluate(expr, [s.array for s in sources])[0]


def assert_same(found: LazyArray, expected: Any) -> None:
    """Shape, dtype and every bit of the recorded graph; ``compute`` to rounding."""
    expected = np.asarray(expected)
    assert isinstance(found, LazyArray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(recorded(found), expected, strict=True)
    computed = found.compute()
    assert computed.dtype == expected.dtype
    tolerance = 1e-5 if expected.dtype.char in "efF" else 1e-12
    np.testing.assert_allclose(computed, expected, tolerance, tolerance)


def assert_agrees(program: Callable[..., Any], *arrays: np.ndarray) -> None:
    """``program`` on copies of the arrays and on lazy ones; the user's arrays stay as they are."""
    expected = program(*(a.copy(order="K") for a in arrays))
    given = [a.copy(order="K") for a in arrays]
    found = program(*map(lazy, given))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for theirs, ours in zip(expected, found, strict=True):
        assert_same(ours, theirs)
    for before, after in zip(arrays, given, strict=True):
        np.testing.assert_array_equal(after, before)
