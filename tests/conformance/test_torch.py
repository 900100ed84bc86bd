"""Torch tensors by DLPack: tensors in, tensors out, of the values that NumPy arrays give."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import LazyArray, compute, fft, fuse, ifft, irfft, lazy, xp

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 8))
Z = X + 1j * RNG.standard_normal((3, 8))
W = RNG.standard_normal(8)


def tensor(values):
    return torch.from_numpy(np.array(values))


def close(found, wanted, tolerance=1e-12):
    assert isinstance(found, torch.Tensor)
    assert str(found.dtype).removeprefix("torch.") == wanted.dtype.name
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance)


# ---- at once


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "u1", "i4", "i8", "?"])
def test_dtypes(dtype):
    values = Z.astype(dtype) if dtype[0] == "c" else (X * 9).astype(dtype)
    close(fft(tensor(values)), scipy.fft.fft(values), 1e-5)
    close(fft_fused.dctn(tensor(values)), scipy.fft.dctn(values), 1e-5)


def test_arguments_are_those_of_numpy_arrays():
    close(fft(tensor(Z), 5, 0, "ortho", workers=2), scipy.fft.fft(Z, 5, 0, "ortho"))
    close(fft_fused.irfft2(tensor(Z), s=(4, -1)), scipy.fft.irfft2(Z, s=(4, -1)))
    given = {"type": 3, "norm": "ortho", "orthogonalize": False}
    close(fft_fused.idct(tensor(X), **given), scipy.fft.idct(X, **given))
    close(
        fft_fused.fht(tensor(abs(X)), 0.1, 0.5, bias=0.2), scipy.fft.fht(abs(X), 0.1, 0.5, 0, 0.2)
    )


def test_out_is_a_tensor():
    out = torch.empty((3, 8), dtype=torch.complex128)
    assert fft(tensor(Z), out=out) is out
    close(out, scipy.fft.fft(Z))
    with pytest.raises(TypeError, match=r"out: a torch\.Tensor given, the result is a NumPy array"):
        fft(Z, out=out)


VIEWS = {
    "transposed": lambda t: t.T,
    "strided": lambda t: t[:, ::2],
    "expanded": lambda t: t[:1].expand(3, 8),
    "offset": lambda t: t[1:, 3:],
    "empty": lambda t: t[:0],
    "conjugated": lambda t: t.conj(),
    "negated": lambda t: t.conj().imag,
    "parameter": lambda t: torch.nn.Parameter(t, requires_grad=False),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_and_lazy_bits(view):
    given = VIEWS[view](tensor(Z))
    values = given.detach().resolve_conj().resolve_neg().numpy()
    close(fft(given), scipy.fft.fft(values))
    close(fuse(lambda x: fft(x * 2))(given), scipy.fft.fft(values * 2))
    close((lazy(given) + 1).compute(), values + 1)


def test_inputs_keep_their_values():
    x = tensor(Z)
    for call in (fft, fuse(lambda t: abs(fft(t)) ** 2), lambda t: (lazy(t) * 2).compute()):
        call(x)
    np.testing.assert_array_equal(x.numpy(), Z)


# ---- fused and lazy


@fuse
def power(x, window, scale=1.0):
    return scale * abs(fft(x * window)) ** 2


def test_a_fused_function():
    for scale in (0.5, 2.0):
        close(power(tensor(Z), tensor(W), scale), scale * np.abs(scipy.fft.fft(Z * W)) ** 2)
    traces = power.trace_count
    assert type(power(Z, W)) is np.ndarray
    assert power.trace_count == traces + 1
    close(power(tensor(Z), window=tensor(W)), np.abs(scipy.fft.fft(Z * W)) ** 2)
    close(power.unfused(tensor(Z), tensor(W)), np.abs(scipy.fft.fft(Z * W)) ** 2)
    assert power.compare(tensor(Z), tensor(W), repeat=1).fused.error < 1e-12


def test_results_of_every_form():
    parts = fuse(lambda x: {"power": abs(fft(x)), "pair": (x.real, x.sum())})(tensor(Z))
    close(parts["power"], np.abs(scipy.fft.fft(Z)))
    close(parts["pair"][0], Z.real)
    assert parts["pair"][1].shape == ()


def test_out_of_a_fused_function():
    out = torch.empty((3, 8), dtype=torch.float64)
    assert power(tensor(Z), tensor(W), out=out) is out
    close(out, np.abs(scipy.fft.fft(Z * W)) ** 2)
    column = torch.empty((8, 3), dtype=torch.complex128)
    assert (lazy(tensor(Z)) * 2).compute(out=column.T).shape == (3, 8)
    close(column.T, Z * 2)
    with pytest.raises(TypeError, match="out: need a NumPy array, got Tensor"):
        power(Z, W, out=out)
    with pytest.raises(ValueError, match=r"out: shape \(2, 8\) given, the result has \(3, 8\)"):
        power(tensor(Z), tensor(W), out=out[:2])


def test_lazy_arrays_of_tensors():
    x = lazy(tensor(Z), "x")
    spectrum = ifft(fft(x) * W[0])
    assert isinstance(spectrum, LazyArray)
    total, first = compute((abs(x) ** 2).sum(), spectrum[0])
    close(first, Z[0] * W[0])
    assert float(total) == pytest.approx(float((np.abs(Z) ** 2).sum()))
    np.testing.assert_allclose(np.asarray(x * 2), Z * 2)
    close(torch.from_dlpack(x * 2), Z * 2)
    close(xp.asarray(tensor(W)).compute(), W)


@pytest.mark.parametrize(
    "call", [lambda t, x: t * x, lambda t, x: x - t, lambda t, x: t / x, lambda t, x: x @ t.T]
)
def test_operators_with_tensors(call):
    close(call(tensor(X), lazy(tensor(X + 2))).compute(), call(X, X + 2))


def test_a_captured_tensor_is_watched_read_at_each_call_and_not_kept_alive():
    table = tensor(W)
    weighted = fuse(lambda x: fft(x * table))
    for factor in (1, 3):
        table[:] = tensor(W * factor)
        close(weighted(tensor(X)), scipy.fft.fft(X * W * factor))
    assert weighted.trace_count == 1
    alive = weakref.ref(table)
    table = tensor(W + 1)
    gc.collect()
    assert alive() is None
    close(weighted(tensor(X)), scipy.fft.fft(X * (W + 1)))


def test_a_captured_tensor_with_other_memory_is_recorded_again():
    table = tensor(W)
    weighted = fuse(lambda x: x * table)
    close(weighted(tensor(X)), X * W)
    table.data = tensor(X[:, :1])
    close(weighted(tensor(X)), X * X[:, :1])
    assert weighted.trace_count == 2


def test_a_captured_tensor_of_no_use_is_no_hindrance():
    sparse, table = torch.eye(3).to_sparse(), tensor(W)
    weighted = fuse(lambda x: x * table if sparse is not None else x)
    for _ in range(2):
        close(weighted(tensor(X)), X * W)
    assert weighted.trace_count == 1


def test_a_lazy_tensor_with_other_memory_is_refused():
    x = tensor(X)
    doubled = lazy(x) * 2
    x[:] = 1
    close(doubled.compute(), np.full_like(X, 2))
    x.data = tensor(X[:, ::2])
    with pytest.raises(ValueError, match=r"f8\[3,8\] was given other memory.*now f8\[3,4\]; make"):
        doubled.compute()


def test_masks_and_indices():
    x = lazy(tensor(X)).copy()
    x[tensor(X > 0)] = 0
    close(x.compute(), np.where(X > 0, 0, X))
    with pytest.raises(IndexError, match=r"x\[mask\]: .*use fft_fused.xp.where"):
        x[tensor(X > 0)]
    with pytest.raises(IndexError, match=r"x\[array\]: .*use fft_fused.xp.take"):
        x[tensor(np.array([1, 0]))]


def test_numbers_and_tables_go_along():
    close((lazy(tensor(X)) * np.float64(2)).compute(), X * 2)
    close(fuse(lambda x, n: x * n)(tensor(X), np.float64(2)), X * 2)
    close((lazy(tensor(X)) * tensor(2.0)).compute(), X * 2)
    close((lazy(tensor(X)) * xp.asarray(W)).compute(), X * W)
    assert type((lazy(X) * tensor(2.0)).compute()) is np.ndarray
    assert isinstance((lazy(tensor(2.0)) * 3).compute(), torch.Tensor)


def test_arrays_of_two_libraries_are_refused():
    text = r"different libraries in one expression: x is from torch, window from NumPy; convert one"
    with pytest.raises(TypeError, match=text):
        power(tensor(Z), W)
    with pytest.raises(
        TypeError, match=r"an array f8\[3,8\] is from NumPy, an array f8\[8\] from t"
    ):
        (lazy(X) * tensor(W)).compute()


# ---- refused


@pytest.mark.parametrize("call", [fft, lazy, fft_fused.dct, lambda x: power(x, x)])
def test_tensors_that_require_grad(call):
    x = tensor(X).requires_grad_()
    with pytest.raises(TypeError, match=r"a tensor that requires grad; .* pass x\.detach\(\)"):
        call(x)
    with torch.no_grad(), pytest.raises(TypeError, match=r"requires grad"):
        call(x)
    call(x.detach())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: torch.zeros(4, dtype=torch.bfloat16), r"dtype torch\.bfloat16.*x\.float\(\)"),
        (lambda: torch.eye(3).to_sparse(), r"a torch\.sparse_coo tensor on cpu; need a strided"),
        (lambda: torch.zeros(4, device="meta"), "tensor on meta; need a strided one on the CPU or"),
    ],
)
def test_what_is_no_plain_array_of_numbers(make, text):
    for call in (fft, lazy, fuse(lambda x: fft(x))):
        with pytest.raises(TypeError, match=text):
            call(make())


def test_the_argument_is_named():
    with pytest.raises(TypeError, match=r"argument parts\['b'\]: a tensor that requires grad"):
        fuse(lambda parts: parts["a"] * parts["b"])(
            parts={"a": tensor(X), "b": tensor(X).requires_grad_()}
        )


# ---- as a backend

_DIFFERENTIATED = """
import torch, scipy.fft, fft_fused
scipy.fft.register_backend(fft_fused)
x = torch.ones(8, dtype=torch.float64, requires_grad=True)
scipy.fft.rfft(x).abs().sum().backward()
assert x.grad is not None
assert not scipy.fft.rfft(x.detach()).requires_grad
with scipy.fft.set_backend(fft_fused, only=True):
    try:
        scipy.fft.rfft(x)
    except NotImplementedError:
        pass
    else:
        raise AssertionError
"""


def test_with_scipys_array_api_on_scipy_differentiates():
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _DIFFERENTIATED],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_functions_of_the_half_spectrum_through_the_backend():
    with scipy.fft.set_backend(fft_fused, only=True):
        close(scipy.fft.irfft(scipy.fft.rfft(tensor(X)), 8), X)
        got = fuse(lambda x: irfft(scipy.fft.rfft(x) * 2, 8))(tensor(X))
    close(got, X * 2)
