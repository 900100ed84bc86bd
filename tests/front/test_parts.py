"""Parts and other views of complex arrays, and what may be assigned."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import lazy

from .agreement import X, Z, assert_agrees, sample


def real_part_writes(z):
    z.real *= 2
    z.real[0] = 1
    return z, z.real


def imag_part_writes(z):
    part = z.imag
    part[:, 1] = 0
    z.imag = 3
    z[0, 0] = 1 - 1j
    return z, part


def parts_by_function_are_views(z):
    np.real(z)[0] = 0
    np.imag(z)[1] += 1
    return z


def part_of_a_strided_view(z):
    part = z[:, ::2].real
    flat = part.reshape(-1)
    flat[:] = 0
    return z, part, flat


def merged_part_of_rows_of_a_part(z):
    flat = z[:, 1:].real.reshape(-1)
    flat[:] = 0
    return z, flat


def floats_of_complex(z):
    pairs = z.view(np.float32)
    pairs[:, ::2] = 0
    flat = pairs.reshape(-1)
    flat[1::8] = 7
    return z, pairs


@pytest.mark.parametrize(
    "program",
    [
        *(real_part_writes, imag_part_writes, parts_by_function_are_views),
        *(part_of_a_strided_view, merged_part_of_rows_of_a_part, floats_of_complex),
    ],
)
def test_parts_of_complex_arrays_are_views(program):
    assert_agrees(program, Z)


def test_part_of_a_zero_d_view_can_be_written():
    def program(z):
        z[0, 0, ...].real[...] = 9
        return z

    assert_agrees(program, Z)


def test_complex_view_of_float_pairs():
    def program(x):
        z = x.view(np.complex64)
        z *= 1j
        z.reshape(-1)[1::2] = 5j
        return x, z

    assert_agrees(program, sample("f4"))


@pytest.mark.parametrize("code", ["i4", "u1", "f4", "c8"])
@pytest.mark.parametrize("value", [1, 2.75, True, np.float64(1.5), np.int8(3)])
def test_assigned_values_are_cast(code, value):
    def program(x):
        x[0] = value
        x[1:, 0] = value
        return x

    assert_agrees(program, sample(code))


def test_assigning_an_integer_out_of_range_is_numpys_overflow_error():
    x = lazy(sample("u1"))
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        x[0] = 300


@pytest.mark.parametrize("key", [0, X > 3])
def test_assigning_complex_to_real_is_refused(key):
    x = lazy(X)
    with pytest.raises(TypeError, match=r"value is complex128, x is float64; take value\.real"):
        x[key] = 1j


def test_assigning_a_wrong_shape_is_numpys_error():
    x = lazy(X)
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\)"):
        x[0] = np.ones(3)
