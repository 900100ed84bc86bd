"""Functions of our own: as exact as the C library's, over all of single precision."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import lazy, xp

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(7)


def spread(low, high, count=4000):
    """Numbers of both signs, their logarithms evenly spread."""
    sizes = 10 ** RNG.uniform(low, high, count)
    return (sizes * RNG.choice([-1, 1], count)).astype(np.float32)


SPECIAL = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, 3e38, np.pi / 2], np.float32)
ANGLES = np.concatenate([spread(-6, 7), spread(20, 38, 50), np.arange(-20, 21) * 1.5707964])
ANGLES = np.concatenate([ANGLES.astype(np.float32), SPECIAL])
REALS = np.concatenate([spread(-37, 38), SPECIAL])
PARTS = np.concatenate([spread(-37, 37, 200), spread(-2, 2, 200), SPECIAL])
PLANE = np.stack(np.meshgrid(PARTS, PARTS), axis=-1).view(np.complex64)[..., 0]

# name -> expression of an array and a namespace, the array, units in the last place
CASES = {
    "cis": (lambda m, x: m.exp(np.complex64(1j) * x), ANGLES, 2.0),
    "exp": (lambda m, x: m.exp(x), spread(-2, 1.5, 300)[:, None] + 1j * ANGLES[:4000:40], 4.0),
    "abs": (lambda m, x: m.abs(x), PLANE, 2.0),
    "divided by 60": (lambda m, x: x / np.float32(60), REALS, 0.0),
    "divided by -0.3": (lambda m, x: x / np.float32(-0.3), REALS, 0.0),
    "divided by 1e-35": (lambda m, x: x / np.float32(1e-35), REALS, 0.0),
    "maximum": (lambda m, x: m.maximum(x[:, None], x[-40:]), REALS, 0.0),
    "minimum": (lambda m, x: m.minimum(x[:, None], x[-40:]), REALS, 0.0),
}


def assert_within(got, x, name):
    """Equal to NumPy where that is exact; else within units of the modulus of double precision."""
    call, _, units = CASES[name]
    with np.errstate(all="ignore"):
        if not units:
            np.testing.assert_array_equal(got, call(np, x))
            return
        wide = call(np, x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    usual = np.isfinite(wide) & (np.abs(wide) < 1e38) & (np.abs(wide) > 1e-36)
    error = np.abs(got[usual] - wide[usual]) / np.spacing(np.abs(wide[usual]).astype(np.float32))
    assert error.max() <= units, f"{error.max():.2f} units at {x.reshape(-1)[error.argmax()]}"
    assert (np.isnan(got) == np.isnan(wide)).all()


def argument(name):
    """The array of a case, in single precision."""
    x = CASES[name][1]
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


@pytest.mark.parametrize("name", CASES)
def test_functions_are_exact(name):
    x = argument(name)
    plan, arrays = emulate.planned([CASES[name][0](xp, lazy(x))], "library")
    (got,) = emulate.run(plan, arrays)
    assert_within(got, x, name)
