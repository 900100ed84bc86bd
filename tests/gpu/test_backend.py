"""scipy.fft's functions on CuPy arrays through the backend, computed by the device."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

import fft_fused
from tests.conformance.test_cupy_backend import FOURIER, REAL, X, Z

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def agrees(name, x, *args, **options):
    wanted = getattr(scipy.fft, name)(x.copy(), *args, **options)
    given = cupy.asarray(x)
    with scipy.fft.set_backend(fft_fused, only=True):
        found = getattr(scipy.fft, name)(given, *args, **options)
    assert isinstance(found, cupy.ndarray)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    bound = np.finfo(wanted.dtype).eps * 50 * np.abs(wanted).max()
    np.testing.assert_allclose(found.get(), wanted, rtol=0, atol=bound)
    if not options.get("overwrite_x"):
        np.testing.assert_array_equal(given.get(), x)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(name, dtype):
    real = name.startswith(("r", "ih"))
    x = X.astype(dtype) if real else Z.astype(np.result_type(dtype, "c8"))
    agrees(name, x)
    agrees(name, x, norm="ortho", overwrite_x=True, workers=2)
    if name[-1] in "2n":
        agrees(name, x, s=(5, -1), axes=(0, 2), norm="forward")
    else:
        agrees(name, x, 5, 1, "forward")


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", REAL)
def test_cosine_and_sine_transforms(name, kind):
    for orthogonalize in (None, True, False):
        agrees(name, X, kind, norm="ortho", orthogonalize=orthogonalize)
    agrees(name, X.astype("f4"), kind, overwrite_x=True, workers=-1)
    agrees(name, Z, kind, norm="forward")
    if name.endswith("n"):
        agrees(name, X, kind, s=(-1, 5), axes=(0, 1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("n", [63, 64])
@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms(name, bias, n, dtype):
    x = (np.abs(np.random.default_rng(1).standard_normal((3, n))) * 9 + 1).astype(dtype)
    agrees(name, x, 0.1, 0.5, fft_fused.fhtoffset(0.1, 0.5, bias=bias), bias)


@pytest.mark.parametrize("name", ["fht", "ifht"])
@pytest.mark.filterwarnings("ignore:singular")
def test_singular_hankel_transforms(name):
    x = np.abs(np.random.default_rng(1).standard_normal(16)) + 1
    agrees(name, x, 0.1, -3.5, 0.0, 0.5 if name == "fht" else -0.5)


def test_out_of_a_transform():
    x, out = cupy.asarray(Z), cupy.empty(Z.shape, np.complex128)
    assert fft_fused.fft(x, out=out) is out
    np.testing.assert_allclose(out.get(), np.fft.fft(Z), atol=1e-12)
    single = cupy.empty(Z.shape, np.complex64)
    assert fft_fused.ifftn(x, out=single) is single
    np.testing.assert_allclose(single.get(), np.fft.ifftn(Z), atol=1e-6)
    with pytest.raises(TypeError, match="out: an array on cpu given, the result is on cuda:0"):
        fft_fused.fft(x, out=np.empty(Z.shape, complex))
