"""Arrays of other libraries: the same library out, the same values, no library imported unasked."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.fft

import fft_fused

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 6))
Z = X + 1j * RNG.standard_normal((3, 4, 6))
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [f"{n}{suffix}" for n in ONE for suffix in ("2", "n")]
REAL = ["dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"]


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param)


def sample(name, library, dtype):
    real = name.startswith(("r", "ih", "d", "id"))
    values = (X if real else Z).astype(dtype if real else np.result_type(dtype, "c8"))
    return values, library.asarray(values)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ONE + MANY + REAL)
def test_values_dtype_and_library(name, library, dtype):
    values, x = sample(name, library, dtype)
    got = getattr(fft_fused, name)(x)
    wanted = getattr(scipy.fft, name)(values)
    assert type(got) is type(x)
    tolerance = 1e-5 if dtype == "f4" else 1e-12
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=tolerance, atol=tolerance * 30)
    assert np.asarray(got).dtype == wanted.dtype


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "irfft", "hfft", "ihfftn", "hfft2", "ifftn"])
def test_norms(name, norm, library):
    values, x = sample(name, library, "f8")
    got = np.asarray(getattr(fft_fused, name)(x, norm=norm))
    np.testing.assert_allclose(got, getattr(scipy.fft, name)(values, norm=norm), atol=1e-12)


def test_lengths_and_axes(library):
    values, x = sample("fft", library, "f8")
    for options in ({"n": 9, "axis": 1}, {"n": 2, "axis": -3}):
        got = np.asarray(fft_fused.fft(x, **options))
        np.testing.assert_allclose(got, scipy.fft.fft(values, **options), atol=1e-12)
    for options in ({"s": (5, 7), "axes": (0, 2)}, {"s": (5, -1)}, {"axes": (1,)}):
        got = np.asarray(fft_fused.fftn(x, **options))
        np.testing.assert_allclose(got, scipy.fft.fftn(values, **options), atol=1e-12)


def test_integers_become_double(library):
    x = library.asarray(np.arange(6))
    np.testing.assert_allclose(np.asarray(fft_fused.fft(x)), np.fft.fft(np.arange(6)), atol=1e-12)
    np.testing.assert_allclose(np.asarray(fft_fused.rfft(x)), np.fft.rfft(np.arange(6)), atol=1e-12)


def test_shifts(library):
    x = library.asarray(np.arange(15.0).reshape(3, 5))
    for name in ("fftshift", "ifftshift"):
        got = getattr(fft_fused, name)(x, axes=1)
        assert type(got) is type(x)
        wanted = getattr(np.fft, name)(np.arange(15.0).reshape(3, 5), axes=1)
        np.testing.assert_array_equal(np.asarray(got), wanted)


def test_frequencies_of_a_library(library):
    import array_api_compat

    xp = array_api_compat.array_namespace(library.asarray([0.0]))
    got = fft_fused.fftfreq(6, d=0.5, xp=xp, dtype=xp.float32)
    np.testing.assert_allclose(np.asarray(got), np.fft.fftfreq(6, 0.5))
    assert got.dtype == xp.float32


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"plan": 1}, NotImplementedError, "precomputed plan"),
        ({"norm": "x"}, ValueError, "Invalid norm value"),
        ({"n": 0}, ValueError, "invalid number of data points"),
        ({"axis": 5}, IndexError, "out of (bounds|range)"),
        ({"workers": 0}, ValueError, "workers"),
    ],
)
def test_bad_arguments(library, options, error, text):
    with pytest.raises(error, match=text):
        fft_fused.fft(library.asarray(Z), **options)


def test_complex_into_a_real_transform(library):
    with pytest.raises(TypeError, match="x must be a real sequence"):
        fft_fused.rfft(library.asarray(Z))


def test_through_scipy_with_the_backend_set(library):
    x = library.asarray(Z)
    with scipy.fft.set_backend(fft_fused, only=True):
        got = scipy.fft.fft(x)
    assert type(got) is type(x)


def test_what_only_arrays_of_numpy_cupy_and_torch_have():
    x = pytest.importorskip("array_api_strict").asarray(Z)
    with pytest.raises(TypeError, match="no NumPy array"):
        fft_fused.fuse(lambda x: x)(x)
    with pytest.raises(ValueError, match="only supported for numpy arrays"):
        fft_fused.fft(x, workers=2)
    with pytest.raises(TypeError, match="fft: out is only supported for NumPy, CuPy and torch"):
        fft_fused.fft(x, out=x)


def test_arrays_that_say_they_are_on_a_device_are_not_copied_to_the_host(monkeypatch):
    x = pytest.importorskip("array_api_strict").asarray(X)
    monkeypatch.setattr(type(x), "__dlpack_device__", lambda self: (2, 0))
    for name, rest in (("dct", ()), ("fht", (0.1, 0.0))):
        with pytest.raises(TypeError, match=f"{name}: .* would be copied to the host"):
            getattr(fft_fused, name)(x, *rest)


def test_no_library_is_imported_unasked():
    code = (
        "import sys, numpy as np, fft_fused; fft_fused.fft([1.0, 2.0]); fft_fused.dct(np.ones(3));"
        "fft_fused.fft(fft_fused.lazy(np.ones(4))).compute();"
        "assert not {'torch', 'cupy', 'jax', 'dask', 'array_api_strict'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
