"""Sums over neighbours in the kernel of a transform, run on the host."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, fftshift, irfft, lazy, rfft, xp
from fft_fused.engines.unfused import evaluate

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(0)


def array(*shape, dtype="c8"):
    values = RNG.standard_normal(shape) * 10
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


Z, TALL, CUBE = lazy(array(5, 64)), lazy(array(64, 48)), lazy(array(3, 32, 64))
REAL = lazy(array(5, 64, dtype="f4"))


def power(x):
    return abs(x) ** 2


FUSED = {
    "elements of a row": lambda: power(fft(Z)).reshape(5, 16, 4).sum(axis=-1),
    "largest of a row": lambda: power(fft(Z)).reshape(5, 4, 16).max(axis=2),
    "any of a row": lambda: (power(fft(Z)) > 1000).reshape(5, 4, 16).any(axis=2),
    "part of a row": lambda: power(fft(Z)[:, 8:56]).reshape(5, 12, 4).sum(axis=-1),
    "complex": lambda: (fft(Z) * 2).reshape(5, 16, 4).sum(axis=-1),
    "half precision": lambda: abs(fft(Z)).astype(np.float16).reshape(5, 8, 8).max(axis=-1),
    "begins anywhere in a row": lambda: power(fft(Z)[:, 3:59]).reshape(5, 14, 4).sum(axis=-1),
    "all but the mean": lambda: power(rfft(REAL)[:, 1:]).reshape(5, 8, 4).sum(axis=-1),
    "batch in one axis": lambda: power(fft(Z)).reshape(-1, 4).sum(axis=-1),
    "real": lambda: power(rfft(REAL)[:, :32]).reshape(5, 8, 4).sum(axis=-1),
    "back to real": lambda: (irfft(Z[:, :33] * 2) ** 2).reshape(5, 8, 8).sum(axis=-1),
    "adjacent columns": lambda: power(fft(TALL, axis=0)).reshape(64, 6, 8).sum(axis=-1),
    "adjacent columns of planes": lambda: power(fft(CUBE, axis=1)).reshape(3, 32, 4, 16).sum(3),
    "columns but the first": lambda: power(fft(TALL, axis=0)[:, 16:]).reshape(64, 2, 16).sum(2),
    "rows written side by side": lambda: (
        power(fft(CUBE)).transpose(0, 2, 1).reshape(3, 64, 4, 8).sum(axis=-1)
    ),
    "shifted rows": lambda: fftshift(power(fft(Z)), axes=1).reshape(5, 16, 4).sum(axis=-1),
    "interleaved elements": lambda: power(fft(Z)).reshape(5, 4, 16).sum(axis=1),
    "reversed": lambda: xp.flip(power(fft(Z)), 1).reshape(5, 16, 4).sum(axis=-1),
}
APART = {
    "columns but the first few": lambda: (
        power(fft(TALL, axis=0)[:, 4:20]).reshape(64, 2, 8).sum(axis=-1)
    ),
    "more columns than a block has": lambda: (
        power(fft(lazy(array(64, 256)), axis=0)).reshape(64, 2, 128).sum(axis=-1)
    ),
    "columns that do not fill groups": lambda: (
        power(fft(lazy(array(64, 30)), axis=0)).reshape(-1, 8).sum(axis=-1)
    ),
}


@pytest.mark.parametrize("name", [*FUSED, *APART])
def test_sums_of_neighbours_equal_numpy(name):
    value = (FUSED | APART)[name]()
    plan, arrays = emulate.planned([value], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    (wanted,) = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    assert got.dtype == value.dtype
    if got.dtype.kind == "b":
        np.testing.assert_array_equal(got, wanted)
    else:
        bound = 2e-3 if got.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(got, wanted, atol=bound * np.abs(wanted).max(), rtol=bound)
    assert (len(plan.launches) == 1) == (name in FUSED)
