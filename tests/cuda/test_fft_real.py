"""Real FFTs of one block, run on the host, against NumPy in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused.cuda.fft.bluestein import Bluestein
from fft_fused.cuda.fft.real import real_shapes

from .fft_host import errors, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
BOTH = pytest.mark.parametrize("inverse", [False, True], ids=["r2c", "c2r"])


def check(ffts, single=1.8e-7):
    found = errors([(fft, 1 if fft.inverse else -1) for fft in ffts])
    bounds = np.array([3.5e-16 if fft.block.double else single for fft in ffts])
    assert (found < bounds).all(), [
        (fft, error) for fft, error, bad in zip(ffts, found, ~(found < bounds), strict=True) if bad
    ]


@BOTH
def test_lengths_equal_numpy(inverse):
    lengths = [*range(1, 37), 62, 66, 100, 120, 126, 243, 256, 270, 450, 500, 992, 1155, 2000]
    lengths = [n for n in lengths if n not in (37, 41, 43)]
    check([real_shapes(n, inverse, n % 3 == 0)[0] for n in lengths])


@BOTH
def test_powers_of_two_equal_numpy(inverse):
    check([real_shapes(2**k, inverse, k % 2 == 0)[0] for k in range(6, 15)])


@BOTH
def test_every_candidate_equals_numpy(inverse):
    ffts = [fft for n in (12, 28, 60, 64, 120, 256, 512) for fft in real_shapes(n, inverse)[1:]]
    assert {fft.mirrored for fft in ffts} == {True, False}
    check(ffts)


@BOTH
def test_lengths_of_large_primes_go_through_a_chirp(inverse):
    ffts = [real_shapes(n, inverse)[0] for n in (37, 74, 82, 202)]
    assert all(isinstance(fft.block, Bluestein) for fft in ffts)
    check(ffts, 2.5e-7)


@BOTH
@pytest.mark.parametrize("length", [1, 2, 9, 36, 62, 74, 512, 1024])
def test_each_bin_and_each_sample_is_in_one_place(length, inverse):
    for fft in real_shapes(length, inverse):
        for elements, count in (
            (fft.bins, length // 2 + 1),
            (fft.samples, length // 2 if length % 2 == 0 else length),
        ):
            held = []
            for t in range(fft.threads):
                for element in elements:
                    if not element.guard or _value(element.guard, t):
                        held.append(_value(element.index, t))
            assert sorted(held) == list(range(count))


def _value(text, t):
    """C text of t: a condition, or an index with at most one choice by t."""
    if "?" in text:
        inner, rest = text[1:].split(")")
        yes, no = inner.split("?")[1].split(":")
        text = f"({yes} if t else {no}){rest}"
    return eval(text, {"t": t})
