"""Long transforms in kernels of our own, run on the host: a low limit makes short ones long."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from fft_fused import fft, fft2, fftfreq, fftshift, ifft, ifftshift, irfft, lazy, rfft, xp
from fft_fused.cuda.ctypes import PREAMBLE
from fft_fused.cuda.operators import template
from fft_fused.engines.unfused import evaluate
from fft_fused.expr import build

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(0)
TWO_PI = 8 * np.arctan(np.longdouble(1))


def array(*shape, dtype="c8"):
    values = RNG.standard_normal(shape) * 10
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def up_to_32(n, dtype):
    return n <= 32


def pair(v):
    return v.astype(np.float32).view(np.complex64)[..., 0]


N = 256
Z, W = lazy(array(3, N)), lazy(array(N, dtype="f4"))
I8 = lazy(array(2, 5, N, 2, dtype="i1"))
ODD = lazy(array(2, 210))
D = lazy(array(2, N, dtype="c16"))
TALL = lazy(array(N, 3))
PLANES = lazy(array(2, 64, 96))
REAL, SHORTS = lazy(array(3, N, dtype="f4")), lazy(array(3, N, dtype="i2"))
HALF = lazy(array(3, N // 2 + 1))
ROWS = lazy(array(4, dtype="f4"))


def dedispersed(n=1024, edge=64, step=16):
    f = fftfreq(n).astype(np.float32)
    response = xp.exp(np.complex64(2j * np.pi) * (ROWS[:2, None] * f**2))
    y = ifft(fft(pair(lazy(array(2, n, 2, dtype="i1")))) * response)
    return (abs(y[:, edge : n - edge]) ** 2).reshape(2, -1, step).sum(axis=-1)


def chirped():
    t = xp.arange(N, dtype=np.float32) / np.float32(N)
    return fft(Z * xp.exp(np.complex64(-1j * np.pi) * (ROWS[:3, None] * t**2)))


VALUES = {
    "window, power": (2, lambda: abs(fft(Z * W)) ** 2),
    "integer pairs": (2, lambda: fft(pair(I8))),
    "power summed over the batch": (2, lambda: (abs(fft(pair(I8))) ** 2).sum(axis=1)),
    "summed and shifted": (2, lambda: fftshift((abs(fft(pair(I8))) ** 2).sum(1), axes=-1)),
    "mean of all rows": (3, lambda: (abs(fft(Z * W)) ** 2).mean(axis=0)),
    "chirp": (2, chirped),
    "inverse": (2, lambda: ifft(Z * W)),
    "not a power of two": (2, lambda: fft(ODD * 2) + 1),
    "double": (2, lambda: abs(fft(D * 2)) ** 2),
    "three passes": (3, lambda: fft(lazy(array(2, 4096)) * 2)),
    "padded": (2, lambda: fft(Z[:, :200] * W[:200], N)),
    "shifted": (2, lambda: fftshift(fft(ifftshift(Z, axes=1) * W), axes=1)),
    "part of the spectrum": (2, lambda: (fft(Z * W) * 2)[:, 10:90]),
    "filter": (3, lambda: ifft(fft(Z) * W)),
    "filter in the middle": (3, lambda: fftshift(ifft(ifftshift(fftshift(fft(Z)) * W)))),
    "filter and spectrum": (4, lambda: (ifft(Y := fft(Z) * W), Y)),
    "band": (3, lambda: ifft(fft(Z)[:, 16:144] * W[:128])),
    "there, back, there": (4, lambda: fft(ifft(fft(Z) * W) * W)),
    "dedispersed": (3, dedispersed),
    "real": (3, lambda: abs(rfft(REAL * 2)) ** 2),
    "real of integers": (3, lambda: (abs(rfft(SHORTS.astype(np.float32))) ** 2).sum(axis=0)),
    "back to real": (2, lambda: irfft(HALF * 2, N) * W),
    "real there and back": (4, lambda: irfft(rfft(REAL * W) * W[:129])),
    "columns": (2, lambda: fft(TALL * 2, axis=0)),
    "planes": (4, lambda: abs(fft2(PLANES * 2)) ** 2),
}


@pytest.mark.parametrize("name", VALUES)
def test_long_transforms_equal_numpy(name):
    launches, make = VALUES[name]
    values = make()
    values = values if isinstance(values, tuple) else (values,)
    plan, arrays = emulate.planned_long(values, up_to_32)
    wanted = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    for got, exact in zip(emulate.run(plan, arrays), wanted, strict=True):
        eps = np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, exact, atol=40 * eps * np.abs(exact).max(), rtol=40 * eps)
    assert len(plan.launches) == launches
    assert plan.launches[0].engine == "one_kernel"


@pytest.mark.parametrize("name", ["window, power", "not a power of two", "filter", "double"])
def test_a_thread_makes_its_twiddle_factors_of_a_few_roots(name):
    """These values are compared above; some with the factors before, some after a transform."""
    plan, _ = emulate.planned_long([VALUES[name][1]()], up_to_32)
    assert "roots0_low[0] = " in plan.source
    assert "roots0_high[" in plan.source


def roots(n, sign, dtype, steps):
    """What a device computes for ``1 * steps``."""
    i = build.iota(0, 1, n, np.dtype("i4"))
    text = template(build.root(i, i, sign, n, np.dtype(dtype))).format("1", "steps[i]")
    kind = "complex_t<double>" if dtype == "D" else "complex_t<float>"
    source = f"""typedef int index_t;{PREAMBLE}
extern "C" void all(const int* steps, {kind}* out, long long count) {{
  for (long long i = 0; i < count; ++i) out[i] = {text}; }}
"""
    out = np.empty(steps.shape, dtype)
    given = (ctypes.c_void_p(a.ctypes.data) for a in (steps, out))
    host.library(source).all(*given, ctypes.c_longlong(steps.size))
    return out


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("n", [64, 1 << 20, 1 << 25, 1 << 28, 210, 10**6, 31**4, 3**17])
def test_roots_are_as_accurate_as_their_precision(n, dtype, sign):
    """Apart from the device's own sine: the angle is exact, or rounded within an eighth turn."""
    near = np.arange(-8, 9)[:, None] + (np.arange(9) * n // 8)
    steps = np.concatenate([RNG.integers(0, n, 20000), np.clip(near.ravel(), 0, n - 1)])
    got = roots(n, sign, dtype, steps.astype("i4"))
    exact = np.exp(sign * 1j * TWO_PI * (steps.astype(np.longdouble) / n))
    errors = np.abs(got.astype(np.clongdouble) - exact) / np.finfo(dtype).eps
    assert errors.max() <= (0.5 if n & (n - 1) == 0 and n <= 1 << 25 else 1.25)
    assert np.sqrt((errors**2).mean()) <= 0.36
