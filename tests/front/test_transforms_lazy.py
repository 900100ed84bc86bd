"""Transforms of lazy arrays against scipy.fft, of arrays as scipy.fft itself, and frequencies."""

from __future__ import annotations

import inspect
import pickle
import timeit

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import fuse, lazy, transforms

from .agreement import assert_same, recorded

RNG = np.random.default_rng(20261201)
REAL = RNG.standard_normal((3, 4, 6))
BASES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
COSINES = ["dct", "idct", "dst", "idst"]
HALF = ("rfft", "ihfft")
NORMS = [None, "backward", "ortho", "forward"]


def sample(name: str, code: str = "f8") -> np.ndarray:
    """Complex where the transform takes it."""
    dtype = np.dtype(code)
    array = REAL.astype(dtype)
    if dtype.kind == "f" and not name.startswith((*HALF, *COSINES)):
        array = array + 1j * REAL[::-1].astype(dtype)
    return array if dtype.kind != "f" else array.astype(np.result_type(array, dtype))


def assert_transforms(name: str, array: np.ndarray, *args: object, **kwargs: object) -> None:
    """The same shape, dtype and values as scipy.fft, as recorded and as computed."""
    expected = getattr(scipy.fft, name)(array, *args, **kwargs)
    found = getattr(fft_fused, name)(lazy(array), *args, **kwargs)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(recorded(found), expected, strict=True)
    scale = 50 * np.finfo(expected.dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(found.compute(), expected, 0, scale)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("n", "axis"), [(None, -1), (4, -1), (9, 1), (1, 0), (None, 1)])
@pytest.mark.parametrize("name", BASES)
def test_one_axis(name, n, axis, norm):
    assert_transforms(name, sample(name), n, axis, norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("s", "axes"),
    [
        *((None, None), (None, (0, 2)), (None, (2, 0)), ((5, 3), (1, 0)), ((4, 7), (-1, -2))),
        *((None, (1,)), ((5, -1), (0, 2))),
    ],
)
@pytest.mark.parametrize("name", BASES)
def test_several_axes(name, s, axes, norm):
    assert_transforms(name + "n", sample(name), s, axes, norm)


@pytest.mark.parametrize("name", BASES)
def test_two_axes_are_the_last_by_default(name):
    assert_transforms(name + "2", sample(name))
    assert_transforms(name + "2", sample(name), (5, 8))
    assert_transforms(name + "2", sample(name), axes=(0, 1), norm="ortho")


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("s", [(5,), (4, 3), 7])
def test_lengths_alone_take_the_last_axes(name, s):
    assert_transforms(name + "n", sample(name), s)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", COSINES)
def test_cosine_and_sine_transforms(name, kind, norm):
    assert_transforms(name, sample(name), kind, None, 1, norm)
    assert_transforms(name, sample(name), kind, n=5, norm=norm)
    assert_transforms(name + "n", sample(name), kind, (5, 3), (2, 1), norm)


@pytest.mark.parametrize("orthogonalize", [None, True, False])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", COSINES)
def test_orthogonalize(name, norm, orthogonalize):
    assert_transforms(name, sample(name), 3, norm=norm, orthogonalize=orthogonalize)
    assert_transforms(name + "n", sample(name), norm=norm, orthogonalize=orthogonalize)


@pytest.mark.parametrize("code", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", [*BASES, *COSINES])
def test_dtypes_are_scipys(name, code):
    if code[0] == "c" and name in HALF:
        return
    array = (10 * REAL).astype(code)
    assert_transforms(name, array)
    assert_transforms(name + "n", array)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "dctn", "idstn"])
@pytest.mark.parametrize("code", ["f8", "f4", "c8", "i4"])
def test_no_axes_give_the_input(name, code):
    array = REAL.astype(code)
    expected = getattr(scipy.fft, name)(array, axes=())
    assert_same(getattr(fft_fused, name)(lazy(array), axes=()), expected)


@pytest.mark.parametrize("name", ["irfft", "hfft"])
def test_imaginary_parts_of_the_end_bins_count_for_nothing(name):
    half = sample(name)
    half[..., 0] += 100j
    half[..., -1] += 100j
    assert_transforms(name, half)


def test_arrays_give_arrays_as_scipy_does():
    for name in [b + e for b in [*BASES, *COSINES] for e in ("", "n")]:
        array = sample(name)
        found, expected = getattr(fft_fused, name)(array), getattr(scipy.fft, name)(array)
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(fft_fused.fft([1, 2, 3]), scipy.fft.fft([1, 2, 3]))


@pytest.mark.parametrize(
    "name", [b + e for b in BASES for e in ("", "2", "n")] + [c + e for c in COSINES for e in "_n"]
)
def test_signatures_are_scipys(name):
    name = name.rstrip("_")
    ours = [
        p
        for p in inspect.signature(getattr(fft_fused, name)).parameters.values()
        if p.name != "out"
    ]  # numpy.fft has it besides
    theirs = inspect.signature(getattr(scipy.fft, name)).parameters.values()
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]
    assert all(
        o.kind is p.kind or p.name in ("plan", "orthogonalize")
        for o, p in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda m, x: m.fft(x, norm="orth"),
            ValueError,
            'Invalid norm value \'?orth\'?, should be "backward", "ortho" or "forward"',
        ),
        (lambda m, x: m.fft(x, 0), ValueError, "nvalid number of data points"),
        (lambda m, x: m.fft(x, -2), ValueError, "nvalid number of data points"),
        (lambda m, x: m.fft(x, plan=object()), NotImplementedError, "precomputed plan"),
        (lambda m, x: m.fftn(x, plan=object()), NotImplementedError, "precomputed plan"),
        (lambda m, x: m.rfft(x + 0j), TypeError, "real sequence"),
        (lambda m, x: m.ihfft(x + 0j), TypeError, "real sequence"),
        (lambda m, x: m.rfftn(x + 0j), TypeError, "real sequence"),
        (lambda m, x: m.fftn(x, (3,), (0, 1)), ValueError, "have to be of the same length"),
        (lambda m, x: m.fftn(x, axes=(0, 0)), ValueError, "all axes must be unique"),
        (lambda m, x: m.fftn(x, axes=(3,)), ValueError, "exceeds dimensionality of input"),
        (lambda m, x: m.rfftn(x, axes=()), ValueError, "at least 1 axis must be transformed"),
        (lambda m, x: m.irfftn(x, axes=()), ValueError, "at least 1 axis must be transformed"),
        (lambda m, x: m.dct(x, norm="no"), ValueError, "norm"),
        (lambda m, x: m.dct(x, type=5), (ValueError, NotImplementedError), "type"),
        (lambda m, x: m.fft(x, 2.5), (ValueError, TypeError), "integer"),
        (lambda m, x: m.fft(x, axis=3), (IndexError, ValueError), "axis|index"),
    ],
)
def test_refusals_are_scipys(call, error, text):
    with pytest.raises(error, match=text):
        call(scipy.fft, REAL)
    with pytest.raises(error, match=text):
        call(fft_fused, lazy(REAL))


def test_hankel_transforms_compute_lazy_arrays():
    values = np.exp(-(np.linspace(-2, 2, 16) ** 2))
    for name in ("fht", "ifht"):
        expected = getattr(scipy.fft, name)(values, 0.25, 0.5, 0.1, 0.2)
        np.testing.assert_array_equal(
            getattr(fft_fused, name)(values, 0.25, 0.5, 0.1, 0.2), expected
        )
        found = getattr(fft_fused, name)(lazy(values), 0.25, 0.5, 0.1, 0.2)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_lengths_that_are_fast():
    assert fft_fused.next_fast_len(13) == scipy.fft.next_fast_len(13)
    assert fft_fused.next_fast_len(13, real=True) == scipy.fft.next_fast_len(13, real=True)
    assert fft_fused.prev_fast_len(13) == scipy.fft.prev_fast_len(13)


def test_functions_go_by_their_own_names():
    for name in transforms.__all__:
        function = getattr(fft_fused, name)
        assert function.__name__ == name
        assert function.__doc__
    assert pickle.loads(pickle.dumps(fft_fused.fft2)) is fft_fused.fft2


def test_scipys_backend_setting_does_not_reach_an_eager_call():
    class Refusing:
        __ua_domain__ = "numpy.scipy.fft"

        @staticmethod
        def __ua_function__(method, args, kwargs):
            raise AssertionError("asked")

    with scipy.fft.set_backend(Refusing, only=True):
        fft_fused.fft(np.ones(4))
        fft_fused.dctn(np.ones((4, 4)))


def test_numpys_functions_record_ours():
    z = sample("fft")
    for name in ("fft", "ifft", "fft2", "ifftn"):
        assert_same(getattr(np.fft, name)(lazy(z)), getattr(scipy.fft, name)(z))
    assert_same(np.fft.rfft(lazy(REAL), axis=0), scipy.fft.rfft(REAL, axis=0))
    assert_same(np.fft.fftshift(lazy(z), axes=1), np.fft.fftshift(z, axes=1))


# ---- shifts and frequencies


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), (1,)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 2, 7), (6, 6, 6)])
def test_shifts(name, axes, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    expected = getattr(np.fft, name)(array, axes)
    assert_same(getattr(fft_fused, name)(lazy(array), axes), expected)
    np.testing.assert_array_equal(getattr(fft_fused, name)(array, axes), expected)


def test_a_shift_of_an_axis_that_is_not_there():
    with pytest.raises(np.exceptions.AxisError):
        fft_fused.fftshift(lazy(REAL), 3)


LENGTHS = [1, 2, 3, 8, 9, 1000, 1001]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("d", [1.0, 0.1, 3, 1 / 48000])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_are_bit_equal_to_numpys(name, n, d):
    expected = getattr(np.fft, name)(n, d)
    np.testing.assert_array_equal(getattr(fft_fused, name)(n, d), expected, strict=True)

    @fuse
    def frequencies(x):
        k = getattr(fft_fused, name)(n, d)
        assert isinstance(k, fft_fused.LazyArray)
        return k + x

    np.testing.assert_array_equal(frequencies(np.zeros(())), expected, strict=True)
    np.testing.assert_array_equal(frequencies.unfused(np.zeros(())), expected, strict=True)


def test_frequencies_of_a_run_time_spacing_are_recorded_once():
    @fuse
    def derivative(x, d):
        k = fft_fused.fftfreq(x.shape[-1], d)
        return fft_fused.fft(x) * k

    for d in (0.1, 0.25, 3.0):
        expected = scipy.fft.fft(REAL) * np.fft.fftfreq(6, d)
        np.testing.assert_allclose(derivative(REAL, d), expected, 1e-12, 1e-12)
    assert derivative.trace_count == 1


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_in_a_dtype_and_on_a_device(name):
    function = getattr(fft_fused, name)
    assert function(8, dtype=np.float32).dtype == np.float32
    assert function(8, device="cpu").shape == getattr(np.fft, name)(8).shape
    with pytest.raises(ValueError, match="only 'cpu'"):
        function(8, device="cuda")
    found = fuse(lambda x: function(8, 0.5, dtype="f4") + x)(np.zeros((), "f4"))
    np.testing.assert_array_equal(found, getattr(np.fft, name)(8, 0.5).astype("f4"), strict=True)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_need_an_integer_length(name):
    function = getattr(fft_fused, name)
    for call in (lambda: function(2.5), lambda: fuse(lambda x: x * function(2.5))(REAL)):
        with pytest.raises(ValueError, match="n should be an integer"):
            call()


# ---- overhead


def test_an_eager_call_costs_little_more_than_scipys():
    """The dispatch by type; SciPy's own dispatch is skipped, so usually it is less."""
    x = np.ones(16, np.complex64)
    calls = {
        f: min(timeit.repeat(lambda f=f: f(x), number=500, repeat=9)) / 500
        for f in (fft_fused.fft, scipy.fft.fft)
    }
    assert calls[fft_fused.fft] - calls[scipy.fft.fft] < 5e-6
