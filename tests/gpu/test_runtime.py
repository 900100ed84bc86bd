"""Streams, threads, CUDA graphs and bits: what holds of every call on a device."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fft_fused
from fft_fused import fft, fuse, ifft
from tests.gpu.calls import PROGRAMS, by_engine, by_fusing_engine, by_program, expect
from tests.gpu.cases import abs2
from tests.gpu.support import arrays, assert_close, require, z

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def delay(milliseconds):
    """Keeps the current stream busy."""
    source = (
        'extern "C" __global__ void spin(long long cycles) {'
        "long long start = clock64(); while (clock64() - start < cycles) {} }"
    )
    cupy.RawKernel(source, "spin")((1,), (1,), (np.int64(milliseconds * 1_500_000),))


# ---- streams


@by_program
@by_engine
def test_work_is_ordered_on_the_current_stream(name, engine):
    """The input is written late on a stream that waits for no other."""
    require(engine)
    first, second, w = arrays((z(33, 4096), z(33, 4096), z(4096)), "single")
    call, stream = fuse(PROGRAMS[name]), cupy.cuda.Stream(non_blocking=True)
    x, later, table = cupy.asarray(first), cupy.asarray(second), cupy.asarray(w)
    cupy.cuda.runtime.deviceSynchronize()
    with fft_fused.options(engine=engine), stream:
        call(x, table)
        stream.synchronize()
        delay(50)
        x[...] = later
        got = call(x, table)
        x[...] = 0  # after the call, so none of its business
        copy = got.copy()
    stream.synchronize()
    expect(name, copy, second, w)


@by_engine
@pytest.mark.parametrize("n", [1024, 12347, 1 << 17])
def test_two_streams_interleaved(n, engine):
    """One plan in flight twice: each call has its own work area, numbers and pointers."""
    require(engine)
    rows = max(1, (1 << 18) // n)
    bases = arrays((z(rows, n), z(rows, n)), "single")
    scaled = fuse(lambda x, gain: ifft(fft(x * gain) * gain))
    inputs = [cupy.asarray(b) for b in bases]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in bases]
    with fft_fused.options(engine=engine):
        for x in inputs:
            scaled(x, 1.0)
        cupy.cuda.runtime.deviceSynchronize()
        found = []
        for turn in range(24):
            for which, (x, stream) in enumerate(zip(inputs, streams, strict=True)):
                with stream:
                    gain = (0.5, 2.0)[turn % 2]
                    found.append((which, gain, scaled(x, gain)))
        cupy.cuda.runtime.deviceSynchronize()
    exact = [base.astype(np.complex128) for base in bases]
    for which, gain, got in found:
        assert_close(cupy.asnumpy(got), exact[which] * gain**2, np.complex64, rows * n)


@by_engine
def test_calls_in_flight_keep_their_own_numbers_and_arrays(engine):
    require(engine)
    (base,) = arrays((z(40, 8, 512),), "single")
    scaled = fuse(lambda x, gain: abs2(fft(x * gain)))
    x = cupy.asarray(base)
    with fft_fused.options(engine=engine):
        scaled(x[0], 1.0)
        found = [scaled(x[i], 1.0 + i) for i in range(40)]
    exact = abs2(np.fft.fft(base.astype(np.complex128)))
    for i, got in enumerate(found):
        assert_close(cupy.asnumpy(got), exact[i] * (1.0 + i) ** 2, np.float32)


@by_engine
def test_threads_with_streams_of_their_own(engine):
    """The first calls of all threads plan at once."""
    require(engine)
    bases = arrays([z(16, 400) for _ in range(8)], "single")
    w = arrays((z(400),), "single", seed=1)[0]
    calls = {name: fuse(function) for name, function in PROGRAMS.items()}
    start = threading.Barrier(8, timeout=60)

    def work(number):
        results = []
        with cupy.cuda.Stream(non_blocking=True) as stream, fft_fused.options(engine=engine):
            x, table = cupy.asarray(bases[number]), cupy.asarray(w)
            start.wait()
            for turn in range(12):
                name = list(calls)[(turn + number) % len(calls)]
                results.append((name, calls[name](x, table)))
            stream.synchronize()
            return [(name, cupy.asnumpy(got)) for name, got in results]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for base, results in zip(bases, found, strict=True):
        for name, got in results:
            expect(name, got, base, w)


# ---- CUDA graphs


@by_program
@by_fusing_engine
@pytest.mark.parametrize("n", [256, 6000])
def test_a_planned_call_is_captured_and_replayed(name, n, engine):
    require(engine)
    bases, w = arrays([z(16, n) for _ in range(3)], "single"), arrays((z(n),), "single")[0]
    call, stream = fuse(PROGRAMS[name]), cupy.cuda.Stream(non_blocking=True)
    with stream, fft_fused.options(engine=engine):
        contents, table = [cupy.asarray(b) for b in bases], cupy.asarray(w)
        x = contents[0].copy()
        out = call(x, table)
        call(x, table, out=out)
        stream.synchronize()
        stream.begin_capture()
        call(x, table, out=out)
        graph = stream.end_capture()
        for base, content in zip(bases, contents, strict=True):
            x[...] = content
            graph.launch(stream)
            stream.synchronize()
            expect(name, out, base, w)


@by_program
@by_engine
def test_the_same_call_gives_the_same_bits(name, engine):
    require(engine)
    x, w = (cupy.asarray(a) for a in arrays((z(3000, 256), z(256)), "single"))
    call = fuse(PROGRAMS[name])
    with fft_fused.options(engine=engine):
        for _ in range(3):
            first = call(x, w)
        for _ in range(5):
            with cupy.cuda.Stream(non_blocking=True) as stream:
                again = call(x, w)
                stream.synchronize()
            assert bool((again == first).all())
        if engine is not None:
            fft_fused.cache_clear()
            assert bool((fuse(PROGRAMS[name])(x, w) == first).all())
