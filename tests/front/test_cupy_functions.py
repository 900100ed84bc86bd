"""CuPy's own functions on lazy arrays: recorded through its hooks, or refused with a cure."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import LazyArray, fuse, lazy, xp
from tests.pretend import cupy, on_gpu, pretending, seen

__all__ = ["pretending"]
X = np.arange(1.0, 13.0).reshape(3, 4)
Z = (X - 3 + 1j * X[::-1]).astype(np.complex64)
I4 = X.astype(np.int32)

UFUNCS = sorted(n for n in dir(cupy) if isinstance(getattr(cupy, n), cupy.ufunc))
NOT_RECORDED = {"bitwise_count", "divmod", "fix", "frexp", "gcd", "i0", "lcm", "ldexp", "modf"}
ON_INTEGERS = ("bitwise", "invert", "left_shift", "right_shift")


def agrees(call, *arrays, rtol=1e-6):
    """``call(library, *arrays)`` of CuPy on lazy arrays gives what NumPy's gives on arrays."""
    with np.errstate(all="ignore"):
        wanted = call(np, *arrays)
    found = call(cupy, *(lazy(on_gpu(a)) for a in arrays))
    assert isinstance(found, LazyArray)
    assert (found.shape, found.dtype, found.device) == (wanted.shape, wanted.dtype, "cuda:0")
    got = seen(found.compute())
    if wanted.dtype.kind == "b":
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=rtol)


@pytest.mark.parametrize("name", [n for n in UFUNCS if n not in NOT_RECORDED])
def test_every_ufunc_is_numpys(pretending, name):
    values = I4 if name.startswith(ON_INTEGERS) else X / 16
    if name in ("acosh", "arccosh"):
        values = X
    numbers = [values, values[::-1].copy()][: getattr(cupy, name).nin]
    agrees(lambda lib, *given: getattr(lib, name)(*given), *numbers)


@pytest.mark.parametrize("name", sorted(NOT_RECORDED))
def test_other_ufuncs_are_refused(name):
    function = getattr(cupy, name)
    with pytest.raises(TypeError, match=f"^fft_fused cannot record cupy.{name}. Compute it outs"):
        function(*[lazy(on_gpu(I4))] * function.nin)


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.sum(x),
        lambda lib, x: lib.sum(x, 0, None, None, True),
        lambda lib, x: lib.sum(x, axis=(0, 1), dtype=np.float32),
        lambda lib, x: lib.prod(x, axis=1, keepdims=True),
        lambda lib, x: lib.max(x, axis=-1),
        lambda lib, x: lib.amin(x, axis=0),
        lambda lib, x: lib.mean(x, axis=1, dtype=np.float32),
        lambda lib, x: lib.var(x, axis=0, ddof=1),
        lambda lib, x: lib.var(x, dtype=np.float32),
        lambda lib, x: lib.std(x, axis=1, keepdims=True),
        lambda lib, x: lib.argmax(x, axis=1),
        lambda lib, x: lib.argmin(x),
        lambda lib, x: lib.add.reduce(x),
        lambda lib, x: lib.count_nonzero(x - 3, axis=0),
    ],
)
def test_reductions(pretending, call):
    agrees(call, X)


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x, z: lib.where(x > 5, z, 0),
        lambda lib, x, z: lib.where(abs(z) > 5, x, lib.sqrt(x)),
        lambda lib, x, z: lib.angle(z),
        lambda lib, x, z: lib.angle(z, deg=True),
        lambda lib, x, z: lib.conj(z) * x,
        lambda lib, x, z: lib.clip(x, 2, 5),
        lambda lib, x, z: lib.clip(x, None, 5),
        lambda lib, x, z: lib.exp(1j * x),
        lambda lib, x, z: lib.true_divide(x, 3),
        lambda lib, x, z: lib.add(x, 1, dtype=np.float32),
        lambda lib, x, z: lib.abs(z, dtype=np.float32),
        lambda lib, x, z: lib.maximum(2.0, x),
        lambda lib, x, z: lib.take(x, [2, 0], axis=1),
        lambda lib, x, z: lib.repeat(x, 2, axis=0),
        lambda lib, x, z: lib.ravel(x),
        lambda lib, x, z: lib.reshape(x, (2, 6)),
        lambda lib, x, z: lib.transpose(x),
        lambda lib, x, z: lib.swapaxes(x, 0, 1),
        lambda lib, x, z: lib.squeeze(x[:1]),
        lambda lib, x, z: lib.outer(x[0], x[1]),
    ],
)
def test_functions(pretending, call):
    agrees(call, X, Z)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a * b,
        lambda a, b: a - b,
        lambda a, b: b / a,
        lambda a, b: a**b,
        lambda a, b: a > b,
        lambda a, b: a == b,
        lambda a, b: a @ b.T,
        lambda a, b: np.add(a, b),
        lambda a, b: np.hypot(b, a),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_operators_with_arrays_of_cupy(pretending, call, swap):
    given = [on_gpu(X), lazy(on_gpu(X[::-1] / 4))]
    numbers = [X, X[::-1] / 4]
    if swap:
        given, numbers = given[::-1], numbers[::-1]
    found = call(*given)
    assert isinstance(found, LazyArray)
    np.testing.assert_allclose(seen(found.compute()) * 1, call(*numbers) * 1)


def test_out_is_a_lazy_array(pretending):
    x, y = lazy(on_gpu(X)), lazy(on_gpu(np.zeros((3, 4), np.float32)))
    view = y[:2]
    assert cupy.add(x, 1, out=y) is y
    assert cupy.multiply(view, 2, view) is view
    wanted = X + 1
    wanted[:2] *= 2
    np.testing.assert_allclose(seen(y.compute()), wanted)
    row = lazy(on_gpu(np.zeros(4)))
    assert cupy.sum(x, axis=0, out=row) is row
    np.testing.assert_allclose(seen(row.compute()), X.sum(axis=0))
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output from dtype.'float64'"):
        cupy.add(x, 1, out=lazy(on_gpu(I4)))


def doubled(x):
    kernel = cupy.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")
    return kernel(x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (doubled, TypeError, "cannot record the CuPy kernel 'twice'. Compute it outside"),
        (cupy.nanmax, TypeError, "cannot record cupy.nanmax"),
        (lambda x: cupy.add(x, 1, casting="no"), TypeError, "cupy.add: the argument 'casting'"),
        (lambda x: cupy.sinc(x, dtype="f4"), TypeError, "cupy.sinc: the argument 'dtype' is not"),
        (
            lambda x: cupy.add(x, 1, out=on_gpu(X)),
            TypeError,
            r"cupy.add: the result is lazy and cannot be written into a CuPy array; use \.compute",
        ),
        (lambda x: cupy.sum(x, out=on_gpu(X)), TypeError, r"into a CuPy array; use \.compute"),
        (lambda x: on_gpu(X).__iadd__(x), TypeError, r"into a CuPy array; use \.compute\(out="),
        (lambda x: cupy.pad(x, 1), AttributeError, "a lazy array has no 'flags': use fft_fused.xp"),
        (lambda x: cupy.roll(x, 1), AttributeError, "fft_fused.xp, which has pad, roll and what"),
        (lambda x: np.asarray(x), TypeError, "is not copied to the host silently"),
        (cupy.asnumpy, TypeError, "is not copied to the host silently"),
        (lambda x: cupy.ravel(x, "F"), TypeError, "ravel: order 'F' is not recorded"),
    ],
)
def test_what_is_not_recorded_is_an_error_with_a_cure(call, error, text):
    with pytest.raises(error, match=text):
        call(lazy(on_gpu(X)))


def test_what_has_no_hook_is_in_the_namespace(pretending):
    x = lazy(on_gpu(X))
    names = x.__array_namespace__()
    assert names is xp
    np.testing.assert_array_equal(seen(names.pad(x, 1).compute()), np.pad(X, 1))
    np.testing.assert_array_equal(seen(names.roll(x, 1, 0).compute()), np.roll(X, 1, 0))
    assert bool(seen(names.any(x > 3).compute()))


def test_a_function_written_with_cupy_is_recorded(pretending):
    @fuse
    def power(x, window, floor):
        spectrum = fft_fused.fft(x * cupy.sqrt(window))
        return cupy.maximum(cupy.sum(cupy.abs(spectrum) ** 2, axis=0), floor)

    w = np.float32(X[0])
    for floor in (0.5, 900.0):
        got = power(on_gpu(Z), on_gpu(w), floor)
        wanted = np.maximum((np.abs(np.fft.fft(Z * np.sqrt(w))) ** 2).sum(axis=0), floor)
        assert isinstance(got, cupy.ndarray)
        np.testing.assert_allclose(seen(got), wanted, rtol=1e-5)
    assert power.trace_count == 1


def test_a_lazy_array_is_no_array_of_cupy(pretending):
    """CuPy would take it for one in NumPy's ufuncs, and fail where it has no hook."""
    x = lazy(on_gpu(X))
    for name in ("__cuda_array_interface__", "__cupy_get_ndarray__"):
        assert not hasattr(x, name)


def test_dlpack_names_the_device():
    assert lazy(on_gpu(X)).__dlpack_device__() == (2, 0)
    assert lazy(on_gpu(X, device=3)).__dlpack_device__() == (2, 3)
    assert lazy(X).__dlpack_device__() == (1, 0)
