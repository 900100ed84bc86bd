"""CuPy's functions on lazy arrays give what they give on arrays."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import LazyArray, fft, fuse, lazy, xp
from tests.front.test_cupy_functions import NOT_RECORDED, ON_INTEGERS, UFUNCS

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

X = np.arange(1.0, 13.0).reshape(3, 4)
Z = X - 3 + 1j * X[::-1]


def agrees(call, *arrays):
    """The values and dtypes of CuPy itself."""
    wanted = call(*(cupy.asarray(a) for a in arrays))
    found = call(*(lazy(cupy.asarray(a)) for a in arrays))
    assert isinstance(found, LazyArray)
    got = found.compute()
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    precision = 1e-5 if wanted.dtype.char in "fF" else 1e-12
    np.testing.assert_allclose(got.get() * 1, wanted.get() * 1, rtol=precision)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4"])
@pytest.mark.parametrize("name", [n for n in UFUNCS if n not in NOT_RECORDED])
def test_ufuncs(name, dtype):
    function = getattr(cupy, name)
    letter = np.dtype(dtype).char
    loop = letter * function.nin + "->"
    types = [getattr(f, "types", function.types) for f in (function, getattr(np, name))]
    if not all(any(t.startswith(loop) for t in of) for of in types):
        pytest.skip("there is no such loop, or one of CuPy's that does not compile")
    if name.startswith(ON_INTEGERS) != (dtype == "i4"):
        pytest.skip("of no interest")
    values = (Z if dtype == "c8" else X if dtype == "i4" else X / 16).astype(dtype)
    if name in ("acosh", "arccosh"):
        values = values * 16
    agrees(function, *[values, values[::-1].copy()][: function.nin])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: cupy.sum(x, axis=0, keepdims=True),
        lambda x: cupy.sum(x, dtype=np.float32),
        lambda x: cupy.prod(x, axis=1),
        lambda x: cupy.max(x, axis=-1),
        lambda x: cupy.mean(x, axis=1),
        lambda x: cupy.std(x, axis=0, ddof=1),
        lambda x: cupy.argmax(x, axis=1),
        lambda x: cupy.count_nonzero(x - 3, axis=0),
        lambda x: cupy.where(x > 5, x, 0),
        lambda x: cupy.clip(x, 2, 5),
        lambda x: cupy.angle(x * 1j, deg=True),
        lambda x: cupy.take(x, cupy.asarray([2, 0]), axis=1),
        lambda x: cupy.outer(x[0], x[1]),
        lambda x: x @ cupy.asarray(X).T,
        lambda x: cupy.asarray(X) @ x.T,
        lambda x: cupy.asarray(X) - x,
        lambda x: np.hypot(cupy.asarray(X), x),
    ],
)
def test_functions(call):
    agrees(call, X)


def test_a_function_written_with_cupy():
    @fuse
    def power(x, window):
        return cupy.sum(cupy.abs(fft(x * cupy.sqrt(window))) ** 2, axis=0)

    x, w = cupy.asarray(Z.astype(np.complex64)), cupy.asarray(X[0].astype(np.float32))
    wanted = (np.abs(np.fft.fft(Z * np.sqrt(X[0]))) ** 2).sum(axis=0)
    np.testing.assert_allclose(power(x, w).get(), wanted, rtol=1e-5)
    power(x, w)
    assert power.trace_count == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: cupy.pad(x, 1), AttributeError, "use fft_fused.xp, which has pad, roll"),
        (lambda x: cupy.roll(x, 1), AttributeError, "use fft_fused.xp, which has pad, roll"),
        (lambda x: cupy.concatenate([x, x]), TypeError, "Unsupported type .*LazyArray"),
        (lambda x: cupy.fft.fft(x), TypeError, "(?i)cupy|host"),
        (lambda x: cupy.ones(4).__iadd__(x), TypeError, r"use \.compute\(out=\.\.\.\)"),
        (lambda x: cupy.ElementwiseKernel("T x", "T y", "y = x", "k")(x), TypeError, "kernel 'k'"),
        (lambda x: assigned(cupy.ones((3, 4)), x), TypeError, "host"),
    ],
)
def test_what_is_not_recorded_is_an_error(call, error, text):
    with pytest.raises(error, match=text):
        call(lazy(cupy.asarray(X)))


def assigned(target, value):
    target[...] = value
    return target


def test_the_namespace_has_what_has_no_hook():
    x = lazy(cupy.asarray(X))
    names = x.__array_namespace__()
    assert names is xp
    np.testing.assert_array_equal(names.roll(names.pad(x, 1), 1).compute().get(), _rolled())


def _rolled():
    return np.roll(np.pad(X, 1), 1)


def test_dlpack_computes_on_the_device():
    got = cupy.from_dlpack(lazy(cupy.asarray(X)) * 2)
    np.testing.assert_array_equal(got.get(), X * 2)


def test_captured_arrays_are_recorded_once():
    table = cupy.asarray(X[0])
    weighted = fuse(lambda x: fft_fused.fft(x * table))
    for factor in (1, 2):
        table[...] = cupy.asarray(X[0] * factor)
        got = weighted(cupy.asarray(Z)).get()
        np.testing.assert_allclose(got, np.fft.fft(Z * X[0] * factor), rtol=1e-12)
    assert weighted.trace_count == 1
