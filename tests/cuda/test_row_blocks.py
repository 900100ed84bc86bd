"""How rows lie in a block's shared memory, and what a block decides once for a row."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, ifft, lazy, xp
from fft_fused.cuda.row_block import Block

from . import emulate, host

RNG = np.random.default_rng(0)


def complex_values(*shape):
    return (RNG.standard_normal((*shape, 2)).astype("f4").view("c8"))[..., 0]


def first_launch(value):
    plan, _ = emulate.planned([value], "one_kernel")
    (launch,) = (each for each in plan.launches if each.engine == "one_kernel")
    return launch


def blocks(value):
    """The blocks of every shape tried."""
    plan, _ = emulate.planned([value], "one_kernel")
    for offer in plan.selection.offers:
        if offer.engine == "one_kernel":
            for shape in offer.detail.shapes:
                strides = {id(n): (0,) * n.ndim for n in offer.problem.inputs}
                yield Block(offer.detail.rows, shape, strides)


@pytest.mark.parametrize("length", [64, 256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize("is_chain", [False, True], ids=["one", "chain"])
def test_columns_of_powers_of_two_have_no_bank_conflicts(length, is_chain):
    x = lazy(np.zeros((4, length, 64), np.complex64))
    value = ifft(fft(x, axis=1) * 2, axis=1) if is_chain else fft(x, axis=1)
    found = list(blocks(value))
    assert found
    for block in found:
        assert block.bank_conflicts(block.pitch) == 0, block.shape


def test_the_pitch_is_the_smallest_of_the_best():
    x = lazy(np.zeros((4, 250, 64), np.complex64))
    for block in blocks(fft(x, axis=1)):
        best = block.bank_conflicts(block.pitch)
        needed = max(f.shared_reals for f in block.shape.ffts)
        assert block.pitch >= needed
        for pitch in range(needed + needed % 2, block.pitch, 2):
            assert block.bank_conflicts(pitch) > best


def joined_rows():
    parts = [complex_values(6, 64), complex_values(10, 64), complex_values(4, 64)]
    return parts, fft(xp.concatenate([lazy(p) for p in parts], axis=0) * 2)


needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")


@pytest.mark.parametrize("case", ["joined rows", "padded rows"])
def test_what_the_row_decides_is_not_tested_for_every_element(case):
    value = joined_rows()[1] if case == "joined rows" else fft(padded_rows()[1])
    text = first_launch(value).source
    loops = [part.split("r.x0[k] = ")[0] for part in text.split("const int k = i;")[1:]]
    assert "r.x0[k] = " in text
    assert not [loop for loop in loops if "if (b0" in loop or "if ((b0" in loop]
    assert text.count("r.x0[k] = ") == (3 if case == "joined rows" else 2)


def padded_rows():
    x = complex_values(12, 64)
    return x, xp.pad(lazy(x), ((3, 5), (0, 0)))


@needs_compiler
def test_rows_of_joined_arrays_are_right():
    parts, value = joined_rows()
    plan, arrays = emulate.planned([value], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    wanted = np.fft.fft(np.concatenate(parts).astype(complex) * 2)
    assert np.abs(got - wanted).max() <= 1e-6 * np.abs(wanted).max()


@needs_compiler
def test_rows_added_by_padding_are_zeros():
    x, value = padded_rows()
    plan, arrays = emulate.planned([fft(value)], "one_kernel")
    (got,) = emulate.run(plan, arrays)
    wanted = np.fft.fft(np.pad(x, ((3, 5), (0, 0))).astype(complex))
    assert np.abs(got - wanted).max() <= 1e-6 * np.abs(wanted).max()
    assert not got[:3].any()
    assert not got[15:].any()
