"""Transforms longer than a block, in kernels of our own: values, accuracy, launches."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import fft, fuse
from fft_fused.cuda.kernels import map_kernel
from fft_fused.cuda.launch import LoadedKernel
from fft_fused.expr import build
from fft_fused.expr.node import Node
from tests.gpu.cases import abs2
from tests.gpu.support import check, r, stored, z

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

N = 1 << 16
by_engine = pytest.mark.parametrize("engine", [None, "one_kernel"])


def pair(m, v):
    return v.astype(m.real).view(m.complex)[..., 0]


def dedispersed(m, v, rate):
    f = m.fft.fftfreq(N).astype(m.real)
    response = m.xp.exp(m.complex(2j * np.pi) * (rate[:, None] * f**2))
    y = m.fft.ifft(m.fft.fft(pair(m, v)) * response)
    return abs2(y[:, 4096 : N - 4096]).reshape(2, -1, 16).sum(axis=-1)


PROGRAMS = {
    "power": (lambda m, x, w: abs2(m.fft.fft(x * w)), (z(3, N), r(N))),
    "of integers": (lambda m, v: m.fft.fft(pair(m, v)) * 2, (stored("i1", 3, N, 2),)),
    "summed and shifted": (
        lambda m, v: m.fft.fftshift(abs2(m.fft.fft(pair(m, v))).sum(axis=1), axes=-1),
        (stored("i1", 2, 5, N, 2),),
    ),
    "back": (lambda m, x, w: m.fft.ifft(x * w), (z(3, N), r(N))),
    "filter": (lambda m, x, h: m.fft.ifft(m.fft.fft(x * 2) * h), (z(3, N), z(N))),
    "dedispersed": (dedispersed, (stored("i1", 2, N, 2), r(2))),
    "padded": (lambda m, x, w: m.fft.fft(x * w, 2 * N), (z(3, N), r(N))),
    "not a power of two": (lambda m, x: m.fft.fft(x * 2), (z(2, 100_000),)),
    "columns": (lambda m, x: m.fft.fft(x * 2, axis=0), (z(N, 3),)),
    "real": (lambda m, x: abs2(m.fft.rfft(x * 2)), (r(3, 2 * N),)),
    "back to real": (lambda m, x: m.fft.irfft(x * 2), (z(3, N + 1),)),
    "real filter": (lambda m, x, h: m.fft.irfft(m.fft.rfft(x) * h), (r(3, 2 * N), z(N + 1))),
}


@by_engine
@pytest.mark.parametrize("name", PROGRAMS)
def test_long_programs(name, engine):
    program, inputs = PROGRAMS[name]
    check(program, inputs, "single", engine)


@by_engine
@pytest.mark.parametrize("name", ["power", "filter"])
def test_long_programs_in_double_precision(name, engine):
    program, inputs = PROGRAMS[name]
    check(program, inputs, "double", engine)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("n", [1 << 16, 10**6, 1 << 20, 1 << 22, 1 << 24])
def test_as_accurate_as_cufft(n, dtype):
    """The relative L2 error of random values."""
    rng = np.random.default_rng(n)
    x = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    exact = np.fft.fft(x.astype(np.clongdouble if dtype == "c16" else np.complex128))
    given = cupy.asarray(x)
    with fft_fused.options(engine="one_kernel"):
        function = fuse(lambda a: fft(a * 2) * 0.5)
        assert {launch.engine for launch in function.compile(given).launches} == {"one_kernel"}
        ours = cupy.asnumpy(function(given))
    theirs = cupy.asnumpy(cupy.fft.fft(given))
    error, wanted = (np.linalg.norm((v - exact).astype("c16")) for v in (ours, theirs))
    assert error <= 1.3 * wanted


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("n", [64, 1 << 20, 1 << 25, 1 << 28, 10**6, 3**17])
def test_roots_of_one(n, dtype, sign):
    rng = np.random.default_rng(n)
    near = np.arange(-8, 9)[:, None] + np.arange(9) * n // 8
    steps = np.concatenate([rng.integers(0, n, 1 << 20), np.clip(near.ravel(), 0, n - 1)])
    leaf = Node("operand", (), 0, steps.shape, np.dtype("i4"))
    root = build.root(leaf, build.const(np.int32(1)), sign, n, np.dtype(dtype))
    kernel = LoadedKernel(map_kernel("roots", root, [leaf], {id(leaf): (1,)}))
    out = cupy.empty(steps.shape, dtype)
    kernel(cupy.cuda.runtime.getDevice(), (cupy.asarray(steps.astype("i4")), out))
    whole = 8 * np.arctan(np.longdouble(1))
    exact = np.exp(sign * 1j * whole * (steps.astype(np.longdouble) / n))
    errors = np.abs(cupy.asnumpy(out).astype(np.clongdouble) - exact) / np.finfo(dtype).eps
    assert errors.max() <= 2
    assert np.sqrt((errors**2).mean()) <= 0.5
