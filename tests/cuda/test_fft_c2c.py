"""Complex FFTs of one block, run on the host, against NumPy in extended precision."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest
import scipy.fft

from fft_fused.cuda.fft.bluestein import Bluestein, bluestein_shapes
from fft_fused.cuda.fft.shape import BlockFFT, best, shapes

from . import fft_host
from .fft_host import errors, exact, host, relative_error, signal

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
BOUND = {False: 1.8e-7, True: 3.2e-16}


def check(cases):
    """Errors of cases stay within the bounds of their type."""
    found = errors(cases)
    bounds = np.array([BOUND[fft.double] for fft, _ in cases])
    assert (found < bounds).all(), [
        (case, error)
        for case, error, bad in zip(cases, found, ~(found < bounds), strict=True)
        if bad
    ]
    return found


def test_every_length_to_256_of_small_primes_equals_numpy():
    kinds = cycle([(False, -1), (True, 1), (False, 1), (True, -1), (False, -1)])
    lengths = [n for n in range(1, 257) if shapes(n)]
    assert len(lengths) == 168
    check([(best(n, double), sign) for n, (double, sign) in zip(lengths, kinds, strict=False)])


@pytest.mark.parametrize("double", [False, True], ids=["float", "double"])
def test_powers_of_two_equal_numpy_about_as_closely_as_scipy_does(double):
    cases = [(best(2**k, double), -1 if k % 2 else 1) for k in range(9, 14 if double else 15)]
    for (fft, sign), error in zip(cases, check(cases), strict=True):
        x = signal(fft)
        transform = scipy.fft.fft if sign < 0 else scipy.fft.ifft
        theirs = transform(x, norm="backward" if sign < 0 else "forward")
        assert error < 1.3 * relative_error(theirs, exact(fft, x, sign))


def test_products_of_small_primes_equal_numpy():
    lengths = [899, 961, 1000, 1155, 2310, 3125, 4199, 6144, 6859, 10000, 15625, 20480]
    check([(best(n), (-1) ** n) for n in lengths])


def test_every_candidate_equals_numpy():
    lengths = [12, 60, 62, 64, 100, 243, 360, 1024, 1536]
    cases = [(fft, -1) for n in lengths for fft in shapes(n)[1:]]
    assert len(cases) > 25
    check(cases + [(fft, 1) for fft in shapes(2048, True)[1:]])


def test_parts_exchanged_one_after_the_other_give_the_same_values():
    pairs = [
        [BlockFFT(n, elements, radices, double, split) for split in (False, True)]
        for n, elements, radices, double in [
            (512, 8, (8, 8, 8), False),
            (899, 29, (29, 31), False),
            (1000, 10, (10, 10, 10), True),
            (16, 4, (4, 4), True),
        ]
    ]
    found = check([(fft, -1) for pair in pairs for fft in pair]).reshape(-1, 2)
    assert (found[:, 0] == found[:, 1]).all()


def test_other_lengths_go_through_a_chirp():
    singles = [bluestein_shapes(n)[0] for n in (37, 41, 74, 127, 1009, 2053)]
    doubles = [bluestein_shapes(n, True)[0] for n in (37, 111, 509)]
    split = Bluestein(53, BlockFFT(128, 16, (16, 8), split=True))
    cases = [(fft, (-1) ** k) for k, fft in enumerate([*singles, *doubles, split])]
    found = errors(cases)
    assert (found < [2.4e-7 if not fft.double else 4e-16 for fft, _ in cases]).all(), found


@pytest.mark.parametrize("boundary", range(3))
def test_a_missing_barrier_would_show(boundary, monkeypatch):
    fft, whole = BlockFFT(64, 4, (4, 4, 4)), fft_host.phases_of

    def joined(*given):
        phases = whole(*given)
        both = ["{", *phases[boundary], "} {", *phases[boundary + 1], "}"]
        return [*phases[:boundary], both, *phases[boundary + 2 :]]

    check([(fft, -1)])
    monkeypatch.setattr(fft_host, "phases_of", joined)
    with pytest.raises(AssertionError):
        check([(fft, -1)])
