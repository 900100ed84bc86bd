"""CUDA tensors of torch: handed over by DLPack on torch's own stream, tensors come back."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused import fft, fuse, ifft, lazy, xp
from fft_fused.runtime.gpus import why_no_gpu

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
torch = pytest.importorskip("torch")
if not why_no_gpu() and not torch.cuda.is_available():
    pytest.skip("this torch has no CUDA", allow_module_level=True)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 8))
Z = X + 1j * RNG.standard_normal((3, 8))
W = RNG.standard_normal(8)


def tensor(values):
    return torch.tensor(np.asarray(values), device="cuda")


def close(found, wanted, tolerance=1e-12):
    assert isinstance(found, torch.Tensor)
    assert found.is_cuda
    assert str(found.dtype).removeprefix("torch.") == wanted.dtype.name
    np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=tolerance, atol=tolerance * 10)


@fuse
def power(x, window, scale=1.0):
    return scale * abs(fft(x * window)) ** 2


@pytest.mark.parametrize("name", ["fft", "ihfft", "irfft2", "fftn", "dct", "idstn", "fht", "ifht"])
def test_functions_at_once(name):
    real = name in ("ihfft", "dct", "idstn", "fht", "ifht")
    x, rest = (abs(X) if real else Z), (0.1, 0.5) if name.endswith("ht") else ()
    wanted = getattr(scipy.fft, name)(x, *rest)
    close(getattr(fft_fused, name)(tensor(x), *rest), wanted)
    with scipy.fft.set_backend(fft_fused, only=True):
        close(getattr(scipy.fft, name)(tensor(x), *rest), wanted)


def test_fused_and_lazy():
    for scale in (0.5, 2.0):
        close(power(tensor(Z), tensor(W), scale), scale * np.abs(scipy.fft.fft(Z * W)) ** 2)
    close((lazy(tensor(Z)) * tensor(W)).compute(), Z * W)
    close((lazy(tensor(Z)) * xp.asarray(W)).compute(), Z * W)
    close((lazy(tensor(Z)) * torch.tensor(2.0)).compute(), Z * 2)
    close(power.unfused(tensor(Z), tensor(W)), np.abs(scipy.fft.fft(Z * W)) ** 2)
    out = torch.empty((3, 8), dtype=torch.float64, device="cuda")
    assert power(tensor(Z), tensor(W), out=out) is out
    close(out, np.abs(scipy.fft.fft(Z * W)) ** 2)
    spectrum = torch.empty((3, 8), dtype=torch.complex128, device="cuda")
    assert fft(tensor(Z), out=spectrum) is spectrum
    close(spectrum, scipy.fft.fft(Z))


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.T,
        lambda t: t[:, ::2],
        lambda t: t[:1].expand(3, 8),
        lambda t: t[1:, 3:],
        lambda t: t[:0],
        lambda t: t.conj(),
        lambda t: t.conj().imag,
    ],
)
def test_views_and_lazy_bits(view):
    given = view(tensor(Z))
    values = given.resolve_conj().resolve_neg().cpu().numpy()
    close(fft(given), scipy.fft.fft(values))
    close(fuse(lambda x: fft(x * 2))(given), scipy.fft.fft(values * 2))


def test_tensors_that_require_grad_are_refused():
    x = tensor(X).requires_grad_()
    for call in (fft, lazy, fft_fused.dct, lambda x: power(x, x)):
        with pytest.raises(TypeError, match=r"requires grad; .* pass x\.detach\(\)"):
            call(x)


def test_tensors_of_two_places_or_libraries_are_refused():
    with pytest.raises(TypeError, match="x is on cuda:0, window on cpu"):
        power(tensor(Z), torch.tensor(W))
    with pytest.raises(TypeError, match="x is from torch, window from CuPy"):
        power(tensor(Z), cupy.asarray(W))
    with pytest.raises(TypeError, match="out: an array on cpu given"):
        power(tensor(Z), tensor(W), out=torch.empty((3, 8), dtype=torch.float64))


def test_work_is_ordered_on_torchs_current_stream():
    """The input is written late on a stream that waits for no other, and overwritten after."""
    stream = torch.cuda.Stream()
    first, later = RNG.standard_normal((2, 64, 4096))
    call = fuse(lambda x: ifft(fft(x * 2)).real)
    with torch.cuda.stream(stream):
        x, source = tensor(first), tensor(later)
        call(x)
        stream.synchronize()
        torch.cuda._sleep(100_000_000)
        x.copy_(source)
        got = call(x)
        x.zero_()
        copy = got * 1
    stream.synchronize()
    np.testing.assert_allclose(copy.cpu().numpy(), later * 2, atol=1e-10)


def test_memory_is_let_go_and_reused_in_order():
    """Results that torch still reads must not be overwritten by the next call."""
    stream = torch.cuda.Stream()
    base = RNG.standard_normal((256, 1024))
    call = fuse(lambda x, k: fft(x * k).real)
    with torch.cuda.stream(stream):
        x = tensor(base)
        sums = []
        for k in range(20):
            result = call(x, float(k))
            torch.cuda._sleep(1_000_000)
            sums.append(result[:, 0].sum())
            del result
    stream.synchronize()
    np.testing.assert_allclose([float(s) for s in sums], base.sum() * np.arange(20), atol=1e-7)


def test_tensors_are_not_kept_alive():
    x, w = tensor(Z), tensor(W)
    found = power(x, w), (lazy(x) * w).compute()
    alive = [weakref.ref(t) for t in (x, w, *found)]
    del x, w, found
    gc.collect()
    assert [r() for r in alive] == [None] * 4


def test_the_streams_of_cupy_are_left_as_they_were():
    before = cupy.cuda.get_current_stream()
    with torch.cuda.stream(torch.cuda.Stream()):
        power(tensor(Z), tensor(W))
        fft(tensor(Z))
    assert cupy.cuda.get_current_stream() == before


def test_a_tensor_of_the_second_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    x = torch.tensor(Z, device="cuda:1")
    for found in (fft(x), fuse(lambda t: fft(t) * 2)(x) / 2):
        assert found.device.index == 1
        close(found, scipy.fft.fft(Z))
