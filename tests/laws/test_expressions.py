"""Random expressions: what is computed fused equals NumPy in shape, dtype and value."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings

import fft_fused
from fft_fused.engines import numpy_blocked
from fft_fused.passes import pipeline
from tests.programs import assert_equal_to_numpy, programs, quiet

MANY = 4 * settings().max_examples


_empty = np.empty


def poisoned(*args, **kwargs):
    """``numpy.empty`` whose contents are wrong for sure, so that what is not written shows."""
    array = _empty(*args, **kwargs)
    if array.flags.c_contiguous and array.dtype.kind in "biufc":
        array.reshape(-1).view(np.uint8)[...] = 1 if array.dtype.kind == "b" else 0x5A
    return array


@contextmanager
def tiny_blocks():
    """Blocks of one row, so that loops and partial sums happen on small arrays."""
    tiny = {
        "TARGET_BYTES": 256,
        "TABLE_BYTES": 64,
        "SMALL_WORK_BYTES": 0,
        "LANE_BYTES": 0,
        "COLUMN_BYTES": 0,
    }
    pipeline.PLANS.clear()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in tiny.items():
            patch.setattr(numpy_blocked, name, value)
        patch.setattr(np, "empty", poisoned)
        yield
    pipeline.PLANS.clear()


def lazily(program, arrays):
    with quiet():
        outputs = program.run([fft_fused.lazy(a) for a in arrays], fft_fused.xp, fft_fused)
        results = fft_fused.compute(*outputs)
    return [results] if len(outputs) == 1 else list(results)


@settings(max_examples=MANY)
@given(programs())
def test_lazy_results_equal_numpy(program):
    assert_equal_to_numpy(program, lazily(program, program.inputs))


@settings(max_examples=MANY)
@given(programs(empty=False))
def test_blocked_results_equal_numpy(program):
    with tiny_blocks(), fft_fused.options(engine="numpy_blocked", workers=2):
        assert_equal_to_numpy(program, lazily(program, program.inputs))


@given(programs(empty=False))
def test_results_are_the_same_bits_for_any_number_of_threads(program):
    with tiny_blocks():
        with fft_fused.options(engine="numpy_blocked", workers=1):
            alone = lazily(program, program.inputs)
        with fft_fused.options(engine="numpy_blocked", workers=2):
            together = lazily(program, program.inputs)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


@given(programs())
def test_engine_unfused_equals_numpy(program):
    with fft_fused.options(engine="unfused"):
        assert_equal_to_numpy(program, lazily(program, program.inputs))


@given(programs())
def test_fused_function_equals_numpy_and_reads_its_arguments_anew(program):
    function = fft_fused.fuse(
        lambda *arrays: tuple(program.run(list(arrays), fft_fused.xp, fft_fused))
    )
    with quiet():
        first = function(*program.inputs)
        assert_equal_to_numpy(program, list(first))
        zeros = [np.zeros_like(a) for a in program.inputs]
        again = function(*program.inputs)
        function(*zeros)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


@given(programs())
def test_inputs_are_never_written_to(program):
    copies = [a.copy() for a in program.inputs]
    results = lazily(program, program.inputs)
    for array, copy in zip(program.inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert not any(np.shares_memory(array, r) for r in results if r.size)


@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("dtype", ["?", "i2", "u1", "f4", "c8"])
def test_reductions_of_one_array_over_different_axes(op, dtype):
    """Together they cut every axis into blocks: each begins, and adds to, parts of its own."""
    if dtype == "c8" and op in ("max", "min"):
        pytest.skip("complex numbers have no order here")
    x = np.random.default_rng(0).integers(0, 4, (6, 5, 4)).astype(dtype)
    axes = [None, 0, 1, 2, (0, 1), (1, 2)]
    with tiny_blocks(), fft_fused.options(engine="numpy_blocked", workers=2):
        values = [getattr(fft_fused.xp, op)(fft_fused.lazy(x), axis=a) for a in axes]
        results = fft_fused.compute(*values)
    for axis, got in zip(axes, results, strict=True):
        np.testing.assert_array_equal(got, getattr(np, op)(x, axis=axis))
