"""All 28 functions of scipy.fft on CuPy arrays: SciPy's arguments, dtypes, values and errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import transforms
from tests.pretend import cupy, on_gpu, pretending, seen

__all__ = ["pretending"]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6, 8))
Z = X + 1j * RNG.standard_normal((4, 6, 8))
FOURIER = [n for n in transforms.MULTIMETHODS if n.rstrip("2n").endswith("fft")]
REAL = [n for n in transforms.MULTIMETHODS if n.rstrip("n").endswith(("ct", "st"))]


def served(name, x, *args, **options):
    """By scipy.fft with the backend set, on an array on a GPU."""
    with scipy.fft.set_backend(fft_fused, only=True):
        return getattr(scipy.fft, name)(on_gpu(x), *args, **options)


def agrees(name, x, *args, **options):
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.fft, name)(x.copy(), *args, **options)
    found = served(name, x, *args, **options)
    assert isinstance(found, cupy.ndarray)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    precision = np.finfo(wanted.dtype).eps * 50
    bound = precision * np.abs(wanted).max()
    np.testing.assert_allclose(seen(found), wanted, rtol=precision, atol=bound)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(pretending, name, dtype):
    x = X.astype(dtype) if name.startswith(("r", "ih")) else Z.astype(np.result_type(dtype, "c8"))
    agrees(name, x)
    agrees(name, x, norm="ortho")
    agrees(name, x, overwrite_x=True, workers=2)
    if name[-1] in "2n":
        agrees(name, x, s=(5, -1), axes=(0, 2), norm="forward")
    else:
        agrees(name, x, 5, 1, "forward")


@pytest.mark.parametrize("dtype", ["?", "i2", "u4", "f2"])
@pytest.mark.parametrize("name", ["fft", "rfftn", "irfft2", "hfft", "dct", "idstn"])
def test_dtypes_become_what_scipy_makes_them(pretending, name, dtype):
    agrees(name, (X * 10).astype(dtype))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", REAL)
def test_cosine_and_sine_transforms(pretending, name, kind):
    for orthogonalize in (None, True, False):
        for norm in (None, "ortho", "forward"):
            agrees(name, X, kind, norm=norm, orthogonalize=orthogonalize)
    agrees(name, X.astype("f4"), kind, overwrite_x=True, workers=-1)
    agrees(name, Z, kind)
    if name.endswith("n"):
        agrees(name, X, kind, s=(-1, 5), axes=(0, 1))
    else:
        agrees(name, X, kind, 5, 1)


@pytest.mark.parametrize("name", REAL)
def test_complex_cosine_transforms_are_those_of_the_parts(pretending, name):
    function = getattr(scipy.fft, name)
    found = served(name, Z, 2, norm="ortho", orthogonalize=False)
    given = {"norm": "ortho", "orthogonalize": False}
    wanted = function(Z.real.copy(), 2, **given) + 1j * function(Z.imag.copy(), 2, **given)
    np.testing.assert_allclose(seen(found), wanted, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms(pretending, name, bias, n, dtype):
    x = (np.abs(RNG.standard_normal((3, n))) * 9 + 1).astype(dtype)
    offset = fft_fused.fhtoffset(0.1, 0.5, bias=bias)
    agrees(name, x, 0.1, 0.5, offset, bias)
    agrees(name, x, dln=0.1, mu=0.5, bias=bias)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_singular_hankel_transforms_warn_and_give_scipys_values(pretending, name):
    x = np.abs(RNG.standard_normal(16)) + 1
    mu, bias = (-3.5, 0.5) if name == "fht" else (-3.5, -0.5)
    with pytest.warns(Warning, match="singular"):
        agrees(name, x, 0.1, mu, 0.0, bias)


def test_hankel_transforms_are_recorded():
    @fft_fused.fuse
    def through(x):
        return abs(fft_fused.fht(x, 0.1, 0.5, bias=0.2))

    x = np.abs(RNG.standard_normal((3, 16)))
    for _ in range(2):
        np.testing.assert_allclose(through(x), abs(scipy.fft.fht(x, 0.1, 0.5, bias=0.2)))
    assert through.trace_count == 1
    again = fft_fused.ifht(fft_fused.fht(fft_fused.lazy(x), 0.1, 0.5), 0.1, 0.5)
    np.testing.assert_allclose(again.compute(), x)


def test_a_step_given_as_an_argument_is_static():
    through = fft_fused.fuse(lambda x, dln: fft_fused.fht(x, dln, 0.5))
    x = np.abs(RNG.standard_normal(16))
    for dln in (0.1, 0.2):
        np.testing.assert_allclose(through(x, dln), scipy.fft.fht(x, dln, 0.5))


# ---- errors


@pytest.mark.parametrize(
    ("name", "options", "error", "text"),
    [
        ("fft", {"plan": object()}, NotImplementedError, "precomputed plan"),
        ("fft", {"workers": 0}, ValueError, "workers must not be zero"),
        ("dct", {"workers": -(10**6)}, ValueError, "workers value out of range"),
        ("dctn", {"type": 5}, ValueError, "invalid value for type"),
        ("fft", {"norm": "orth"}, ValueError, 'Invalid norm value.*should be "backward"'),
        ("fft", {"n": 0}, ValueError, "invalid number of data points"),
        ("fftn", {"s": (2, 3), "axes": (0,)}, ValueError, "have to be of the same length"),
        ("irfftn", {"axes": ()}, ValueError, "at least 1 axis must be transformed"),
        ("rfft", {}, TypeError, "rfft: x must be a real sequence"),
        ("fht", {"dln": 0.1, "mu": 0.0}, TypeError, "rfft: x must be a real sequence"),
    ],
)
def test_bad_arguments(pretending, name, options, error, text):
    with pytest.raises(error, match=text):
        served(name, Z, **options)


def test_a_length_that_is_no_integer_is_refused_though_one_like_it_was_planned(pretending):
    served("fft", Z, 5)
    for wrong in (5.0, "5", np.float64(5)):
        with pytest.raises(ValueError, match="n must be integers"):
            served("fft", Z, wrong)


_ARRAY_API = """
import numpy as np, pytest, scipy.fft, fft_fused
from tests.pretend import on_gpu
x = on_gpu(np.ones(3, complex))
scipy.fft.set_global_backend(fft_fused, only=True)
for name in ("fft", "ifft", "irfft", "hfft", "fftn", "ifftn", "irfftn"):
    for given, text in (({"workers": 2}, "workers"), ({"plan": 1}, "plan")):
        with pytest.raises(ValueError, match=f"`{text}` is only supported for numpy arrays"):
            getattr(scipy.fft, name)(x, **given)
with pytest.raises(ValueError, match="invalid value for type"):
    scipy.fft.dct(x, 7, workers=2)
"""


def test_with_scipys_array_api_on_workers_and_plans_are_refused_as_scipy_does():
    run_python(_ARRAY_API, SCIPY_ARRAY_API="1")


def run_python(code, **environment):
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={"PYTHONPATH": root, "PATH": "/usr/bin:/bin", **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]
