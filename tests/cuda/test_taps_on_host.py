"""Sums over rows of samples before a transform, what rows have in common loaded once."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, ifft, irfft, lazy, rfft, xp
from fft_fused.engines.unfused import evaluate

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(3)
TAPS = 5


def taps(n, dtype):
    """Weights of a polyphase filter."""
    return lazy(RNG.standard_normal((TAPS, n)).astype(dtype))


def filtered(x, w):
    """Row r is the sum of rows r, r + 1, ... with weights."""
    rows = x.shape[-2] - TAPS + 1
    return sum(w[t] * x[..., t : t + rows, :] for t in range(TAPS))


def bytes_(*shape):
    return lazy(RNG.integers(-128, 128, shape).astype(np.int8)).astype(np.float32)


def reals(*shape, dtype="f4"):
    return lazy(RNG.standard_normal(shape).astype(dtype))


def pairs(*shape):
    v = bytes_(*shape, 2)
    return v.view(np.complex64)[..., 0]


CASES = {
    "bytes": lambda: rfft(filtered(bytes_(20, 128), taps(128, "f4"))),
    "channels first": lambda: abs(rfft(filtered(bytes_(23, 128), taps(128, "f4"))).T),
    "odd length": lambda: rfft(filtered(reals(13, 45), taps(45, "f4"))) * 2,
    "complex": lambda: fft(filtered(pairs(19, 64), taps(64, "f4"))) * 2,
    "complex there and back": lambda: ifft(fft(filtered(pairs(13, 64), taps(64, "f4"))) * 1j),
    "back to real": lambda: irfft(filtered(pairs(12, 33), taps(33, "f4"))) + 1,
    "double": lambda: rfft(filtered(reals(12, 64, dtype="f8"), taps(64, "f8"))),
    "two batches": lambda: rfft(filtered(bytes_(3, 9, 64), taps(64, "f4"))),
    "weights of the index": lambda: rfft(
        filtered(bytes_(12, 64), xp.cos(xp.arange(TAPS * 64, dtype="f4")).reshape(TAPS, 64))
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_filters_before_transforms_equal_numpy(name):
    value = CASES[name]()
    plan, arrays = emulate.planned([value], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    (wanted,) = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    assert got.dtype == value.dtype
    np.testing.assert_allclose(got, wanted, atol=2e-6 * np.abs(wanted).max(), rtol=0)
    kernels = [v.kernel for launch in plan.launches for v in launch.run.variants]
    assert {k.shape.shares_loads for k in kernels} == {True, False}


def test_sums_over_the_batch_load_row_by_row():
    value = (abs(rfft(filtered(bytes_(20, 128), taps(128, "f4")))) ** 2).sum(axis=0)
    plan, arrays = emulate.planned([value], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    (wanted,) = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert not any(v.kernel.shape.shares_loads for v in plan.launches[0].run.variants)
