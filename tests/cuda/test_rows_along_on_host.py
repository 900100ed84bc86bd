"""Row kernels whose results reduce a row, or read neighbours in it, run on the host."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, ifft, irfft, lazy, rfft, xp
from fft_fused.engines.unfused import evaluate

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(1)


def array(*shape, dtype="c8"):
    values = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return lazy(values.astype(dtype))


Z, PLANES, REAL, HALF = array(5, 60), array(3, 60, 7), array(9, 120, dtype="f4"), array(9, 61)
EMPTY = lazy(np.zeros((4, 32), np.complex64))

CASES = {
    "largest of a row": lambda: abs(ifft(fft(Z) * 2)).max(axis=-1),
    "least of a column": lambda: abs(fft(PLANES, axis=1)).min(axis=1, keepdims=True),
    "sum of a row": lambda: (abs(rfft(REAL)) ** 2).sum(axis=-1),
    "sum of real values": lambda: irfft(HALF).sum(axis=-1),
    "any of a row": lambda: (abs(fft(Z)) > 20).any(axis=-1),
    "all of a part of a row": lambda: (abs(fft(Z)[:, 3:50]) > 0.1).all(axis=-1),
    "product of a row": lambda: abs(fft(Z[:, :8])).prod(axis=-1),
    "place of the largest": lambda: xp.argmax(abs(fft(Z)), axis=1),
    "place of the least of a column": lambda: xp.argmin(abs(fft(PLANES, axis=1)), axis=1),
    "place of the largest of a shifted row": lambda: xp.argmax(
        xp.roll(abs(fft(Z)), 7, axis=1), axis=1
    ),
    "the first of equals": lambda: xp.argmax(abs(fft(EMPTY)), axis=-1),
    "in double precision": lambda: abs(fft(array(3, 48, dtype="c16"))).max(axis=-1),
    "beside other results": lambda: (abs(fft(Z)).max(axis=1), abs(fft(Z)).sum(axis=0), fft(Z)),
    "before another transform": lambda: (abs(fft(Z)).max(axis=1), ifft(fft(Z) * 3)),
    "neighbours": lambda: fft(Z) * xp.conj(xp.roll(fft(Z), 1, axis=-1)),
    "mirrors": lambda: abs(fft(PLANES, axis=1) + xp.flip(fft(PLANES, axis=1), axis=1)),
    "repeated elements": lambda: xp.pad(fft(Z), ((0, 0), (3, 2))),
    "polyphase sum": lambda: abs(
        rfft(
            (
                xp.lib.stride_tricks.sliding_window_view(REAL, (4,), axis=0).swapaxes(1, 2)
                * array(4, 120, dtype="f4")
            ).sum(axis=1)
        )
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_launch_equals_numpy(name):
    values = CASES[name]()
    values = values if isinstance(values, tuple) else (values,)
    plan, arrays = emulate.planned(values, "one_kernel")
    assert {launch.engine for launch in plan.launches} == {"one_kernel"}
    assert len(plan.launches) == 1
    wanted = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    for got, want in zip(emulate.run(plan, arrays), wanted, strict=True):
        if got.dtype.kind in "bi":
            np.testing.assert_array_equal(got, want)
            continue
        eps = np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, want, rtol=40 * eps, atol=20 * eps * abs(want).max())


def test_nan_wins():
    x = np.array(Z.compute())
    x[2, 5] = np.nan
    plan, arrays = emulate.planned([abs(fft(lazy(x))).max(axis=1)], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    np.testing.assert_array_equal(np.isnan(got), [False, False, True, False, False])


@pytest.mark.parametrize(
    "value",
    [
        lambda: abs(fft(Z)).sum(),
        lambda: xp.argmax(abs(fft(PLANES, axis=1)), axis=0),
        lambda: abs(fft(array(4, 4096))).reshape(4, 4, 1024).sum(axis=-1),
    ],
    ids=["rows and elements", "place among rows", "long parts of a row"],
)
def test_what_does_not_fit_is_done_by_two_launches(value):
    plan, _ = emulate.planned([value()], "one_kernel")
    assert len(plan.launches) > 1
