"""Memory around results and inputs: no write beyond a result, no read beyond an input.

That a library leaves the result's buffer alone when a store writes other types and sizes is an
observation, not a promise: these tests notice when it stops being true.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import fft_fused
from tests.gpu.cases import abs2, pairs
from tests.gpu.support import (
    ENGINES,
    Given,
    arrays,
    as_tuple,
    assert_close,
    assert_unchanged,
    fused,
    oracle,
    r,
    require,
    stored,
    z,
)

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

POISON = 0xFF  # NaN in every float type
LENGTHS = (7, 256, 1000, 1009, 6000, 4096, 16384, 65536, 1 << 20)
by_engine = pytest.mark.parametrize("engine", ENGINES[:-1], ids=lambda e: e or "planned")


def poisoned(shape, dtype, margin):
    """An array in the middle of poisoned memory, and all of that memory as bytes."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = cupy.full(margin + size + margin, POISON, np.uint8)
    return memory[margin : margin + size].view(dtype).reshape(shape), memory


def margins_untouched(memory, margin):
    return bool((memory[:margin] == POISON).all()) and bool((memory[-margin:] == POISON).all())


def check_margins(program, inputs, engine, precision="single"):
    """Run between margins as large as the complex spectrum; values right, margins untouched."""
    require(engine)
    bases = arrays(inputs, precision)
    wanted = oracle(program, bases, [g.view for g in inputs], precision)
    margin = -(-16 * max(a.size for a in bases) // 4096) * 4096
    device, memories = [], []
    for base in bases:
        array, memory = poisoned(base.shape, base.dtype, margin)
        array[...] = cupy.asarray(base)
        device.append(array)
        memories.append(memory)
    results = [poisoned(w.values.shape, w.dtype, margin) for w in wanted]
    out = [array for array, _ in results]
    with fft_fused.options(engine=engine):
        for _ in range(2):
            returned = as_tuple(fused(program, precision)(*device, out=out))
    assert all(a is b for a, b in zip(returned, out, strict=True))
    for (array, memory), want in zip(results, wanted, strict=True):
        assert margins_untouched(memory, margin), "memory beside a result was written to"
        got = cupy.asnumpy(array)
        if precision == "single" and got.dtype == np.float64:
            got = got.astype(np.float32)
        assert_close(got, want.values, got.dtype, max(a.size for a in bases))
    assert all(margins_untouched(m, margin) for m in memories), "an input's surroundings changed"
    assert_unchanged(device, bases)


@by_engine
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("n", LENGTHS)
def test_power_of_a_complex_transform(n, rows, engine):
    check_margins(lambda m, x, w: abs2(m.fft.fft(x * w)), (z(rows, n), r(n)), engine)


SMALLER: dict[str, tuple] = {
    "int8 in, float out": (
        lambda m, v: abs2(m.fft.fft(pairs(m, v))),
        lambda n: stored("i1", 2, n, 2),
    ),
    "to float16": (lambda m, x: abs(m.fft.fft(x)).astype("f2"), lambda n: z(2, n)),
    "to int8": (lambda m, x: m.xp.rint(m.fft.ifft(x).real * 50).astype("i1"), lambda n: z(2, n)),
    "a band": (lambda m, x: m.fft.fft(x)[:, 1:4] * 2, lambda n: z(2, n)),
    "power of reals": (lambda m, x: abs2(m.fft.rfft(x * 2)), lambda n: r(2, n)),
    "reals to int16": (
        lambda m, s: m.xp.rint(m.fft.irfft(s) * 100).astype("i2"),
        lambda n: z(2, n // 2 + 1),
    ),
    "half a spectrum to double": (
        lambda m, s: m.fft.irfft(s).astype("f8"),
        lambda n: z(2, n // 2 + 1),
    ),
}


@by_engine
@pytest.mark.parametrize("kind", SMALLER)
@pytest.mark.parametrize("n", [7, 256, 1009, 16384])
def test_stores_of_other_types_and_sizes(n, kind, engine):
    program, given = SMALLER[kind]
    check_margins(program, (given(n),), engine)


@by_engine
@pytest.mark.parametrize("n", [7, 1000, 4096, 65536])
def test_double_precision(n, engine):
    check_margins(lambda m, x, w: abs2(m.fft.fft(x * w)), (z(2, n), r(n)), engine, "double")


SEVERAL: dict[str, tuple[object, tuple[Given, ...]]] = {
    "power of fft2": (lambda m, x: abs2(m.fft.fft2(x * 2)), (z(3, 64, 60),)),
    "power of fftn": (lambda m, x: abs2(m.fft.fftn(x * 2)), (z(16, 32, 30),)),
    "rfft2 to float16": (lambda m, x: abs(m.fft.rfft2(x)).astype("f2"), (r(3, 64, 60),)),
    "irfft2 to int8": (lambda m, s: m.xp.rint(m.fft.irfft2(s) * 99).astype("i1"), (z(3, 64, 33),)),
    "a padded transform": (lambda m, x: abs2(m.fft.fft(x, 1024)), (z(3, 600),)),
    "frames": (
        lambda m, x: abs2(
            m.fft.rfft(m.xp.lib.stride_tricks.sliding_window_view(x, 256, axis=-1)[:, ::64])
        ),
        (r(2, 1024),),
    ),
    "two results": (lambda m, x: (abs2(m.fft.fft(x)), m.fft.fft(x) * 2), (z(3, 1000),)),
    "a sum": (lambda m, x: abs2(m.fft.fft(x)).sum(axis=0), (z(37, 1000),)),
    "a column transform": (lambda m, x: abs2(m.fft.fft(x * 2, axis=0)), (z(256, 33),)),
}


@by_engine
@pytest.mark.parametrize("kind", SEVERAL)
def test_other_programs_between_margins(kind, engine):
    check_margins(*SEVERAL[kind], engine)


def test_the_margins_notice_a_byte():
    array, memory = poisoned((5,), np.float32, 4096)
    array[...] = 1
    assert margins_untouched(memory, 4096)
    memory[4096 + 20] = 0
    assert not margins_untouched(memory, 4096)
    assert bool(cupy.isnan(memory[:4096].view(np.complex64).real).all())
