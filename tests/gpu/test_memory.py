"""Memory: arrays and plans are let go, running out is survived, large arrays are whole."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fft_fused
from fft_fused import fft, fuse, lazy, rfft
from tests.gpu.calls import PROGRAMS, by_engine, by_fusing_engine, by_program, filtered
from tests.gpu.cases import abs2
from tests.gpu.support import ENGINES, arrays, require, z

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

MB = 1 << 20


def used():
    gc.collect()
    return cupy.get_default_memory_pool().used_bytes()


@by_program
@by_engine
def test_arrays_are_not_kept_alive(name, engine):
    require(engine)
    call = fuse(PROGRAMS[name])

    def once():
        x, w = (cupy.asarray(a) for a in arrays((z(64, 4096), z(4096)), "single"))
        out = call(x, w)
        function = PROGRAMS[name]
        other = function(lazy(x), lazy(w)).compute()
        return [weakref.ref(a) for a in (x, w, out, other)]

    with fft_fused.options(engine=engine):
        once()
        before = used()
        for _ in range(3):
            alive = once()
            gc.collect()
            assert [r() for r in alive] == [None] * 4
    assert used() == before


def test_captured_arrays_are_not_kept_alive():
    def capturing():
        table = cupy.ones(4096, np.float32)
        call = fuse(lambda x: fft(x * table))
        call(cupy.ones((4, 4096), np.complex64))
        return weakref.ref(table)

    alive = capturing()
    gc.collect()
    assert alive() is None


def resident():
    """Bytes of this process in the host's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def make_and_drop(lengths, kernels):
    """A plan for each length; every ``kernels``-th with work that has to be compiled."""
    for n in lengths:
        x = cupy.ones((64, n), np.complex64)
        (abs2(fft(lazy(x) * 2)) if n % kernels == 0 else fft(lazy(x))).compute()


def settled():
    """Bytes in the pool, on the device and in the host's memory, and objects, without caches.

    Nothing else may use the device meanwhile.
    """
    pool = cupy.get_default_memory_pool()
    fft_fused.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy calls its plan cache experimental
        cupy.fft.config.clear_plan_cache()
    cupy.cuda.runtime.deviceSynchronize()
    gc.collect()
    pool.free_all_blocks()
    on_device = -cupy.cuda.runtime.memGetInfo()[0]
    kinds = Counter(f"{type(o).__module__}.{type(o).__name__}" for o in gc.get_objects())
    ours = Counter({k: c for k, c in kinds.items() if k.startswith(("fft_fused.", "cupy"))})
    return np.array([pool.total_bytes(), on_device, resident()]), ours


@pytest.mark.parametrize(
    ("engine", "plans"),  # few where each plan is a kernel of its own
    [("library", 1000), ("cufft_callbacks", 800), ("one_kernel", 100), (None, 100)],
)
def test_thousands_of_plans_leave_memory_where_it_was(engine, plans):
    """2,000 distinct plans over the engines, one in 20 with kernels of its own."""
    require(engine)
    start = 1000 + 1200 * ENGINES.index(engine)
    with fft_fused.options(engine=engine):
        make_and_drop(range(start - 100, start - 100 + plans // 6), kernels=10)
        before, objects = settled()
        make_and_drop(range(start, start + plans), kernels=20)
        after, more = settled()
    grown = after - before
    assert (grown <= (MB, 64 * MB, 100 * MB)).all(), grown
    assert (more - objects).total() <= 30, more - objects


@by_engine
def test_out_of_memory_fails_and_the_next_smaller_call_works(engine):
    require(engine)
    pool = cupy.get_default_memory_pool()
    call = fuse(filtered)
    with fft_fused.options(engine=engine):
        x = cupy.ones((16, 1 << 20), np.complex64)
        h = cupy.ones(1 << 20, np.complex64)
        pool.free_all_blocks()
        pool.set_limit(size=pool.total_bytes() + 64 * MB)
        try:
            with pytest.raises(cupy.cuda.memory.OutOfMemoryError):
                call(x, h)
            small = call(x[:1, :4096], h[:4096])
        finally:
            pool.set_limit(size=0)
        np.testing.assert_allclose(cupy.asnumpy(small), 2, rtol=1e-5)
        again = call(x, h)
    assert abs(float(abs(again - 2).max())) < 1e-4


COLUMNS, PATTERNS, REPEATS, LATE = 1024, 64, 1 << 15, 1 << 10


def large_samples():
    """2**31 + 2**20 samples: 64 rows repeated, and rows of their own past 2**31."""
    cupy.get_default_memory_pool().free_all_blocks()
    if cupy.cuda.runtime.memGetInfo()[0] < 30 << 30:
        pytest.skip("needs 30 GB of free device memory")
    rng = np.random.default_rng(5)
    pattern = rng.integers(-10, 11, (PATTERNS, COLUMNS)).astype(np.int8)
    late = rng.integers(-100, 100, (LATE, COLUMNS)).astype(np.int8)
    x = cupy.empty((PATTERNS * REPEATS + LATE, COLUMNS), np.int8)
    x[:-LATE].reshape(REPEATS, PATTERNS, COLUMNS)[...] = cupy.asarray(pattern)
    x[-LATE:] = cupy.asarray(late)
    return x, pattern, late


@by_fusing_engine
def test_more_than_2_to_31_elements(engine):
    require(engine)
    x, pattern, late = large_samples()
    call = fuse(lambda v: abs2(rfft(v.astype(np.float32) * 0.5)).sum(axis=0))
    try:
        with fft_fused.options(engine=engine):
            got = cupy.asnumpy(call(x))
    finally:
        del x
        cupy.get_default_memory_pool().free_all_blocks()
    each = [abs2(np.fft.rfft(v.astype(np.float64) * 0.5)).sum(axis=0) for v in (pattern, late)]
    np.testing.assert_allclose(got, REPEATS * each[0] + each[1], rtol=5e-5)


def test_maps_and_sums_of_more_than_2_to_31_elements():
    x, pattern, late = large_samples()
    try:
        turned = fuse(lambda v: 1 - v[::-1])(x)
        sums = fuse(lambda v: v.astype(np.int64).sum(axis=0))(x)
        assert turned.dtype == np.int8
        assert (cupy.asnumpy(turned[:LATE]) == 1 - late[::-1]).all()
        assert (cupy.asnumpy(turned[-PATTERNS:]) == 1 - pattern[::-1]).all()
    finally:
        del x
        cupy.get_default_memory_pool().free_all_blocks()
    each = [v.astype(np.int64).sum(axis=0) for v in (pattern, late)]
    assert (cupy.asnumpy(sums) == REPEATS * each[0] + each[1]).all()
