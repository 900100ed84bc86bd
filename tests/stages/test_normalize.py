"""Rewrites: the normal form of an expression, as text, and its values unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, fft2, fftshift, ifft, ifft2, ifftshift, irfft, lazy, xp
from fft_fused.engines.unfused import evaluate
from fft_fused.passes.normalize import normalize
from fft_fused.passes.trace import collect

RNG = np.random.default_rng(0)
Z = (RNG.standard_normal((6, 8)) + 1j * RNG.standard_normal((6, 8))).astype(np.complex64)
R = RNG.standard_normal((6, 8)).astype(np.float32)
I8 = RNG.integers(-9, 9, (6, 8, 2)).astype(np.int8)


def normal(value):
    """The operations of the normal form in order, and the check that values are unchanged."""
    expr, sources = collect([value.node])
    better = normalize(expr)
    arrays = [s.array for s in sources]
    (before,), (after,) = evaluate(expr, arrays), evaluate(better, arrays)
    assert before.dtype == after.dtype
    np.testing.assert_allclose(after, before, rtol=2e-5, atol=1e-5)
    return str(better)


def ops(value):
    """Operation and attribute of every line."""
    found = []
    for line in normal(value).splitlines()[:-1]:
        text = line.split(" = ")[1]
        head, attribute, _ = text.partition("](")
        found.append(head + "]" if attribute else text.split("(")[0])
    return found


@pytest.mark.parametrize(
    "power",
    [
        lambda z: abs(z) ** 2,
        lambda z: abs(z) * abs(z),
        lambda z: np.abs(z) ** 2.0,
        lambda z: (z.conj() * z).real,
        lambda z: (z * np.conj(z)).real,
        lambda z: z.real**2 + z.imag**2,
        lambda z: np.square(z.imag) + np.square(z.real),
        lambda z: z.real * z.real + z.imag * z.imag,
    ],
)
def test_square_of_the_modulus_is_one_operation(power):
    assert ops(power(lazy(Z))) == ["abs2"]


def test_exponential_of_an_imaginary_is_a_sine_and_a_cosine():
    assert ops(np.exp(1j * lazy(R)))[-1] == "cis"
    assert ops(np.exp(np.complex64(-2j * np.pi) * (lazy(R) * 3)))[-1] == "cis"
    assert ops(np.exp(-1j * lazy(R) / 4))[-1] == "cis"


def test_exponential_of_a_complex_stays():
    assert ops(np.exp(lazy(Z))) == ["exp"]


def test_phase_of_a_value_is_the_value_over_its_modulus():
    assert ops(np.exp(1j * np.angle(lazy(Z)))) == ["phasor"]


def test_norm_is_a_scale_of_the_transform():
    assert "*0.125](" in normal(ifft(lazy(Z)))
    assert "*0.353553](" in normal(fft(lazy(Z), norm="ortho"))
    assert "*" not in normal(fft(lazy(Z)))
    assert "*" not in normal(ifft(lazy(Z), norm="forward"))


def test_shift_and_its_inverse_are_gone():
    assert ops(ifftshift(fftshift(lazy(Z)))) == []
    assert ops(xp.roll(xp.roll(lazy(Z), 3, 1), -3, 1)) == []


def test_shifts_of_one_axis_compose():
    assert ops(xp.roll(xp.roll(lazy(Z), 3, 1), 2, 1)) == ["remap[1, 3:8 0:3, None]"]


def test_crop_of_a_pad_is_one_map():
    z = xp.pad(lazy(Z), ((0, 0), (4, 4)))[:, 4:12]
    assert ops(z) == []


def test_crop_moves_below_a_transform_over_another_axis():
    text = normal(fft(lazy(Z), axis=1)[:2])
    assert "remap[0, 0:2, None](x0) : c8[2,8]" in text
    assert text.index("remap") < text.index("dft")


def test_zero_pad_moves_above_a_transform_over_another_axis():
    text = normal(fft2(xp.pad(lazy(Z), ((0, 6), (0, 0)))))
    assert "dft[c2c n=8 axis=1 -](x0) : c8[6,8]" in text


def test_rows_of_zeros_are_not_transformed_after_a_centred_pad():
    padded = xp.pad(lazy(Z), ((3, 3), (4, 4)))
    text = normal(fft2(ifftshift(padded, axes=(0, 1))))
    assert "dft[c2c n=16 axis=1 -](%0) : c8[6,16]" in text


def test_longer_n_is_a_pad_and_shorter_n_a_crop():
    assert ops(fft(lazy(Z), 12))[0] == "remap[1, 0:8 fill*4, 0j]"
    assert ops(fft(lazy(Z), 5))[0] == "remap[1, 0:5, None]"


def test_half_of_the_spectrum_of_real_input_is_a_real_transform():
    assert "dft[r2c n=8 axis=1 -]" in normal(fft(lazy(R))[:, :5])
    assert "dft[rfull n=8 axis=1 -]" in normal(fft(lazy(R))[:, :6])


def test_round_trip_in_two_dimensions_meets_on_one_axis():
    text = [line for line in normal(ifft2(fft2(lazy(Z)) * 2)).splitlines() if "dft" in line]
    axes = [line.split("axis=")[1][0] for line in text]
    assert axes == ["1", "0", "0", "1"]


def test_equal_subexpressions_are_computed_once():
    z = lazy(Z)
    assert ops(fft(z * 2) + fft(z * 2)).count("multiply") == 1


def test_casts_are_explicit():
    text = normal(lazy(I8).astype(np.float32) * np.float64(2) + lazy(R)[..., None])
    assert text.count("astype") == 3


def test_integer_pairs_are_read_as_complex_numbers():
    z = lazy(I8).astype(np.float32).view(np.complex64)[..., 0]
    assert ops(z) == ["astype", "pairs", "reshape"]


def test_division_of_a_complex_by_a_real_divides_both_parts():
    assert ops(lazy(Z) / 3) == ["divide_real"]
    assert ops(lazy(Z) / lazy(R)) == ["divide_real"]


def test_division_by_a_power_of_two_is_a_multiplication():
    assert ops(lazy(R) / 4) == ["multiply"]
    assert ops(lazy(R) / 3) == ["divide"]


def test_constants_are_folded():
    assert normal(lazy(R) * (xp.full((), 2.0, dtype="f4") * 3)).count("multiply") == 1


def test_mean_is_a_sum_and_a_division():
    assert ops(lazy(R).mean(axis=0)) == ["sum[(0,), False, None, False]", "divide"]


def test_inner_slice_assignment_is_an_update():
    z = lazy(R) * 1
    z[:, 1:-1] *= 2
    assert ops(z)[-1] == "update[0:6, 1:7]"


def test_whole_assignment_forgets_what_was_there():
    z = lazy(R) * 3
    z[...] = 1
    assert ops(z) == ["broadcast_to"]


def test_irfft_is_a_real_transform_of_half_a_spectrum():
    assert "dft[c2r n=9 axis=1 + *0.111111]" in normal(irfft(lazy(Z[:, :5]), 9))


def test_fftfreq_of_a_power_of_two_needs_no_double_precision():
    f = xp.arange(-4, 4) * (1 / 8)
    assert "f8" not in normal(lazy(R) * f.astype(np.float32))
    g = xp.arange(-3, 3) * (1 / 6)
    assert "f8" in normal(lazy(R[:, :6]) * g.astype(np.float32))
    far = xp.arange(1 << 25, (1 << 25) + 8) * (1 / 8)
    assert "f8" in normal(lazy(R) * far.astype(np.float32))
