"""The runtime's small parts: cache, threads, array conversion, access to SciPy's transforms."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.fft

from fft_fused.runtime import long_fft, pocketfft
from fft_fused.runtime.arrays import copy_with_layout, native
from fft_fused.runtime.cache import Cache
from fft_fused.runtime.threads import aligned, run_tasks, scratch


def test_cache_forgets_the_least_recently_used():
    cache: Cache[int] = Cache(2)
    cache.get("a", lambda: 1)
    cache.get("b", lambda: 2)
    cache.get("a", lambda: 0)
    cache.get("c", lambda: 3)
    assert cache.peek("b") is None
    assert cache.peek("a") == 1
    assert len(cache) == 2


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_task_runs_once(workers):
    seen = []
    lock = threading.Lock()

    def task(index):
        with lock:
            seen.append(index)

    run_tasks(37, task, workers)
    assert sorted(seen) == list(range(37))


@pytest.mark.parametrize("workers", [1, 3])
def test_an_exception_in_a_task_reaches_the_caller(workers):
    def task(index):
        if index == 5:
            raise IndexError("five")

    with pytest.raises(IndexError, match="five"):
        run_tasks(20, task, workers)


def test_errstate_of_the_caller_holds_in_the_threads():
    def task(index):
        np.log(np.zeros(3, np.float32))

    with np.errstate(divide="ignore"):
        run_tasks(8, task, 4)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        run_tasks(8, task, 4)


def test_threads_may_ask_for_pools_of_different_sizes_at_once():
    failures = []

    def ask(size):
        try:
            for _ in range(50):
                run_tasks(size * 2, lambda index: None, size)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(2 + k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_pool_works_after_a_fork():
    code = (
        "import os, warnings; warnings.simplefilter('ignore');"
        "from fft_fused.runtime.threads import run_tasks;"
        "done = []; run_tasks(4, done.append, 3); pid = os.fork();"
        "run_tasks(40, done.append, 3); assert len(done) == 44;"
        "os._exit(0) if pid == 0 else None; assert os.waitpid(pid, 0)[1] == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_scratch_is_aligned():
    assert aligned(100).ctypes.data % 64 == 0
    assert scratch(1000).ctypes.data % 64 == 0
    assert scratch(1000).nbytes >= 1000


@pytest.mark.parametrize("dtype", [">f4", ">c8", ">i2"])
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[::2], np.s_[:, ::-1], np.s_[1:3, 1:]])
def test_native_keeps_values_and_strides(dtype, cut):
    array = np.arange(24).reshape(4, 6).astype(dtype)[cut]
    got = native(array)
    assert got.dtype.isnative
    assert got.strides == array.strides
    assert (got == array).all()
    good = array.astype(array.dtype.newbyteorder("="))
    assert native(good) is good


def test_widened_copy_scales_the_strides():
    array = np.broadcast_to(np.arange(5, dtype="f4"), (3, 5))
    wide = copy_with_layout(array, "f8")
    assert wide.strides == (0, 8)
    assert (wide == array).all()


@pytest.mark.parametrize("n", [1, 2, 7, 16, 45])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_into_an_array_equal_the_public_ones(n, dtype, norm):
    rng = np.random.default_rng(n)
    z = (rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n))).astype(dtype)
    scale = {"backward": (1.0, 1 / n), "ortho": (n**-0.5,) * 2, "forward": (1 / n, 1.0)}[norm]
    forward, inverse = (pocketfft.scale_mode(s, n) for s in scale)
    out = np.empty_like(z)
    pocketfft.c2c(z, 1, n, True, forward, out, 1)
    np.testing.assert_array_equal(out, scipy.fft.fft(z, norm=norm))
    pocketfft.c2c(z, 1, n, False, inverse, out, 1)
    np.testing.assert_array_equal(out, scipy.fft.ifft(z, norm=norm))
    pocketfft.c2c(z.real.copy(), 1, n, True, forward, out, 1)
    np.testing.assert_array_equal(out, scipy.fft.fft(z.real, norm=norm))
    half = np.empty((3, n // 2 + 1), dtype)
    pocketfft.r2c(z.real, 1, n, True, forward, half, 1)
    np.testing.assert_array_equal(half, scipy.fft.rfft(z.real, norm=norm))
    real = np.empty((3, n), z.real.dtype)
    pocketfft.c2r(half, 1, n, False, inverse, real, 1)
    np.testing.assert_array_equal(real, scipy.fft.irfft(half, n, norm=norm))


def test_scipy_extension_module_was_found():
    assert pocketfft._PFFT is not None


@pytest.mark.parametrize("n", [1 << 15, 3 * 5 * 7 * 11 * 32, 1 << 18])
@pytest.mark.parametrize("dtype", ["c8", "c16", "f4"])
@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_long_transforms_in_two_passes(n, dtype, forward, mode):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((2, 2 * n)).astype(dtype)[:, ::2]
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal((2, n)).astype(x.real.dtype)
    assert long_fft.factors(n) is not None
    out = np.empty((2, n), np.result_type(x, np.complex64))
    long_fft.c2c(x, 1, n, forward, mode, out, 1)
    scale = (1, n**-0.5, 1 / n)[mode]
    wide = x.astype(np.clongdouble)
    exact = (scipy.fft.fft(wide) if forward else scipy.fft.ifft(wide) * n) * scale
    error = np.linalg.norm(out - exact) / np.linalg.norm(exact)
    plain = pocketfft.c2c(x, 1, n, forward, mode, np.empty_like(out), 1)
    known = np.linalg.norm(plain - exact) / np.linalg.norm(exact)  # of SciPy in this precision
    assert error <= 1.5 * known


@pytest.mark.parametrize("n", [1 << 14, (1 << 15) + 1, 32771, 2 * 17011])
def test_lengths_that_do_not_split_well_are_left_to_scipy(n):
    assert long_fft.factors(n) is None


def test_long_transform_in_place():
    x = np.random.default_rng(0).standard_normal((1, 1 << 15)) + 0j
    wanted = scipy.fft.fft(x)
    long_fft.c2c(x, 1, 1 << 15, True, 0, x, 1)
    np.testing.assert_allclose(x, wanted, rtol=1e-9, atol=1e-9)
