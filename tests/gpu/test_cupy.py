"""Expressions on CuPy arrays: the same values as NumPy's, nothing copied to the host."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings

import fft_fused
from fft_fused import fft, fft2, fuse, ifft, ifft2, irfft, lazy, rfft, xp
from fft_fused.passes import pipeline
from tests.programs import assert_equal_to_numpy, programs, quiet

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

RNG = np.random.default_rng(0)
Z = (RNG.standard_normal((6, 16)) + 1j * RNG.standard_normal((6, 16))).astype(np.complex64)
W = RNG.standard_normal(16).astype(np.float32)


def test_fused_function_on_cupy():
    @fuse
    def power(x, window, scale=1.0):
        return scale * abs(fft(x * window)) ** 2

    for scale in (0.5, 2.0):
        got = power(cupy.asarray(Z), cupy.asarray(W), scale)
        assert isinstance(got, cupy.ndarray)
        wanted = scale * np.abs(scipy.fft.fft(Z * W)) ** 2
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-5, atol=1e-5)
    assert power.trace_count == 1
    x, w = cupy.ones((4096, 1024), "c8"), cupy.ones(1024, "f4")
    assert "to be measured on the arrays" in str(power.explain(x, w, 2.0))
    power(x, w, 2.0)
    assert "measured on the arrays of calls" in str(power.explain(x, w, 2.0))


def lazily(program, arrays):
    with quiet():
        outputs = program.run([lazy(cupy.asarray(a)) for a in arrays], xp, fft_fused)
        results = fft_fused.compute(*outputs)
    found = [results] if len(outputs) == 1 else results
    return [cupy.asnumpy(r) for r in found]  # what depends on no array is NumPy's


@settings(max_examples=400)
@given(programs(empty=False))
def test_random_expressions_equal_numpy(program):
    assert_equal_to_numpy(program, lazily(program, program.inputs))


@pytest.mark.parametrize("shape", [(4, 6, 8), (2, 3, 5, 7), (128,), (3, 4096)])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_transforms_over_every_axis(shape, dtype):
    z = (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)
    tolerance = 1e-5 if dtype == "c8" else 1e-12
    for axis in range(len(shape)):
        for function, oracle in ((fft, scipy.fft.fft), (ifft, scipy.fft.ifft)):
            got = function(lazy(cupy.asarray(z)), axis=axis).compute().get()
            wanted = oracle(z.astype("c16"), axis=axis)
            np.testing.assert_allclose(got, wanted, atol=tolerance * np.abs(wanted).max())
    if len(shape) > 1:
        got = ifft2(fft2(lazy(cupy.asarray(z))) * 2).compute().get()
        np.testing.assert_allclose(got, 2 * z, atol=tolerance * 10)


@pytest.mark.parametrize("n", [7, 8, 256, 4096])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_half_spectra_with_dirty_edges(n, dtype):
    z = (RNG.standard_normal((64, n // 2 + 1)) + 1j).astype(dtype)
    got = irfft(lazy(cupy.asarray(z)), n).compute().get()
    wanted = scipy.fft.irfft(z.astype("c16"), n)
    np.testing.assert_allclose(got, wanted, atol=(1e-6 if dtype == "c8" else 1e-13) * 10)
    real = RNG.standard_normal((5, n)).astype(z.real.dtype)
    got = rfft(lazy(cupy.asarray(real))).compute().get()
    np.testing.assert_allclose(got, scipy.fft.rfft(real), atol=1e-4)


def test_long_sums_over_the_batch():
    v = RNG.integers(-100, 100, (4096, 256, 2)).astype(np.int8)
    x = lazy(cupy.asarray(v)).astype(np.float32).view(np.complex64)[..., 0]
    got = (abs(fft(x)) ** 2).sum(axis=0).compute().get()
    z = v[..., 0].astype(float) + 1j * v[..., 1]
    np.testing.assert_allclose(got, (np.abs(np.fft.fft(z)) ** 2).sum(axis=0), rtol=1e-5)


def test_results_are_the_same_bits_every_time():
    x = cupy.asarray(RNG.standard_normal((3000, 64)).astype(np.float32))
    first = (lazy(x) * 2).sum(axis=0).compute()
    for _ in range(5):
        assert bool(((lazy(x) * 2).sum(axis=0).compute() == first).all())


def test_mixed_devices_are_refused():
    with pytest.raises(TypeError, match="arrays on different devices in one expression"):
        (lazy(cupy.asarray(Z)) * lazy(W)).compute()


def test_nothing_goes_to_the_host_silently():
    with pytest.raises(TypeError, match="is not copied to the host silently"):
        np.asarray(lazy(cupy.asarray(Z)))


def test_unfused_and_compare():
    power = fuse(lambda x: abs(fft(x)) ** 2)
    x = cupy.asarray(Z)
    np.testing.assert_allclose(power.unfused(x).get(), power(x).get(), rtol=1e-5)
    with fft_fused.options(engine="unfused"):
        np.testing.assert_allclose(power(x).get(), np.abs(scipy.fft.fft(Z)) ** 2, rtol=1e-4)


def test_out_and_streams():
    power = fuse(lambda x: abs(fft(x)) ** 2)
    x = cupy.asarray(Z)
    out = cupy.empty((6, 16), np.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        assert power(x, out=out) is out
        stream.synchronize()
    np.testing.assert_allclose(out.get(), np.abs(scipy.fft.fft(Z)) ** 2, rtol=1e-4)


def test_many_plans_leave_device_memory_where_it_was():
    pool = cupy.get_default_memory_pool()
    for n in range(8, 200):
        (lazy(cupy.ones((2, n), np.complex64)) * 2).compute()
    pipeline.PLANS.clear()
    pool.free_all_blocks()
    before = pool.total_bytes()
    for n in range(200, 400):
        (lazy(cupy.ones((2, n), np.complex64)) * 2).compute()
    pool.free_all_blocks()
    assert pool.total_bytes() <= before + (1 << 20)
