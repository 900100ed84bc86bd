"""What a function captured is compared at each call: a stale value is never used."""

from __future__ import annotations

import functools
import types

import numpy as np
import pytest

from fft_fused import fft, fuse, lazy

X = np.arange(8.0)
GLOBAL = np.full(8, 2.0)
FACTOR = 3


def helper(x):
    return x * FACTOR


class Settings:
    __slots__ = ("gain",)

    def __init__(self, gain):
        self.gain = gain


def first_bin(f):
    return float(np.real(f(X)[0]))


def test_rebound_closure_cell():
    gain = 2.0
    f = fuse(lambda x: fft(x * gain))
    before = first_bin(f)
    gain = 4.0
    assert first_bin(f) == 2 * before


def test_rebound_closure_array():
    table = np.ones(8)
    f = fuse(lambda x: fft(x * table))
    before = first_bin(f)
    table = np.full(8, 5.0)
    assert first_bin(f) == 5 * before
    assert table[0] == 5


def test_rebound_global_array(monkeypatch):
    f = fuse(lambda x: fft(x * GLOBAL))
    before = first_bin(f)
    monkeypatch.setitem(globals(), "GLOBAL", np.full(8, 6.0))
    assert first_bin(f) == 3 * before


def test_global_of_a_helper_function(monkeypatch):
    f = fuse(lambda x: fft(helper(x)))
    before = first_bin(f)
    monkeypatch.setitem(globals(), "FACTOR", 9)
    assert first_bin(f) == 3 * before


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: {0: v}])
def test_changed_container(make):
    box = make(2.0)
    f = fuse(lambda x: fft(x * box[0]))
    before = first_bin(f)
    box[0] = 6.0
    assert first_bin(f) == 3 * before


@pytest.mark.parametrize("make", [lambda v: types.SimpleNamespace(gain=v), Settings])
def test_changed_attribute(make):
    settings = make(2.0)
    f = fuse(lambda x: fft(x * settings.gain))
    before = first_bin(f)
    settings.gain = 4.0
    assert first_bin(f) == 2 * before


def test_changed_default_of_a_partial():
    scaled = functools.partial(lambda x, gain: x * gain, gain=2.0)
    f = fuse(lambda x: fft(scaled(x)))
    before = first_bin(f)
    scaled = functools.partial(lambda x, gain: x * gain, gain=4.0)
    assert first_bin(f) == 2 * before


def test_rewritten_lazy_array():
    table = lazy(np.ones(8))
    f = fuse(lambda x: fft(x * table))
    before = first_bin(f)
    table *= 3
    assert first_bin(f) == 3 * before


def test_user_module_attribute():
    module = types.ModuleType("settings_of_the_user")
    module.GAIN = 2.0
    f = fuse(lambda x: fft(x * module.GAIN))
    before = first_bin(f)
    module.GAIN = 8.0
    assert first_bin(f) == 4 * before


def test_unchanged_surroundings_are_not_recorded_again():
    table, settings, box = np.ones(8), types.SimpleNamespace(gain=2.0), [1, 2]
    f = fuse(lambda x: fft(helper(x) * table * settings.gain * box[0]))
    for _ in range(3):
        f(X)
    assert f.trace_count == 1


def test_equal_number_from_another_object_is_the_same():
    gain = float("2.5")
    f = fuse(lambda x: fft(x * gain))
    f(X)
    gain = float("2.5")
    f(X)
    assert f.trace_count == 1


def test_zero_and_minus_zero_are_different():
    sign = 0.0
    f = fuse(lambda x: np.copysign(x, sign))
    assert not np.signbit(f(X)).any()
    sign = -0.0
    assert np.signbit(f(X)).all()


def test_what_cannot_be_followed_is_recorded_at_every_call():
    values = iter([2.0, 4.0, 8.0])
    f = fuse(lambda x: fft(x * next(values)))
    assert [first_bin(f) for _ in range(3)] == [56.0, 112.0, 224.0]
