"""Where work goes: the device of the arrays, and torch's current stream for its tensors."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import fft_fused
from fft_fused.runtime import exchange


@pytest.fixture
def entered(monkeypatch):
    """What is entered and left, of a CuPy and a torch without a GPU."""
    events = []

    @contextmanager
    def block(name):
        events.append(f"in {name}")
        yield
        events.append(f"out {name}")

    cupy, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
    cupy.cuda = cuda
    cuda.Device = lambda index: block(f"device {index}")
    cuda.runtime = SimpleNamespace(getDevice=lambda: 0)
    handed = lambda stream: block(f"stream {stream.__cuda_stream__()}")  # noqa: E731
    cuda.Stream = SimpleNamespace(from_external=handed, null=block("null stream"))
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(current_stream=lambda i: SimpleNamespace(cuda_stream=77 * i))
    for module in (cupy, cuda, torch):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return events


@pytest.mark.parametrize(
    ("device", "library", "wanted"),
    [
        ("cpu", "", []),
        ("cpu", "torch", []),
        ("cuda:0", "", []),
        ("cuda:2", "", ["device 2"]),
        ("cuda:0", "torch", ["device 0", "null stream"]),
        ("cuda:1", "torch", ["device 1", "stream (0, 77)"]),
    ],
)
def test_work_goes_to_the_arrays(entered, device, library, wanted):
    with exchange.working_on(device, library):
        assert entered == [f"in {w}" for w in wanted]
    assert entered[len(wanted) :] == [f"out {w}" for w in reversed(wanted)]


def test_a_stream_of_torch_is_one_of_cupys():
    stream = pytest.importorskip("cupy").cuda.Stream
    if not hasattr(stream, "from_external"):
        pytest.skip("an older CuPy")
    assert exchange._stream_at(4711).ptr == 4711
    assert exchange._stream_at(0) is stream.null


@pytest.mark.parametrize("value", [np.ones(3), [1.0], 2.0, None, object()])
def test_only_tensors_are_taken_for_tensors(value):
    assert not exchange.is_torch(value)
    assert not exchange.needs_gradient(value)
    assert exchange.known(value, "x") is value


class Tensor:
    """A CUDA tensor, as far as it is looked at before CuPy is needed."""

    requires_grad, layout = False, "strided"
    device = SimpleNamespace(type="cuda", index=0)

    def resolve_conj(self):
        return self

    resolve_neg = resolve_conj


Tensor.__module__ = "torch"


def test_a_tensor_on_a_gpu_needs_cupy(monkeypatch):
    torch = ModuleType("torch")
    torch.strided = "strided"
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", None)
    wanted = r"^fft: a tensor on cuda:0: CuPy is not installed: pip install fft_fused\[cuda13\]$"
    with pytest.raises(ImportError, match=wanted):
        fft_fused.fft(Tensor())


def test_results_of_numpy_stay_numpys():
    array = np.ones(3)
    assert exchange.exported(array, "") is array


def test_negative_strides_are_copied_for_torch():
    torch = pytest.importorskip("torch")
    array = np.arange(4.0)[::-1]
    assert exchange.exported(array, "torch").tolist() == [3, 2, 1, 0]
    assert torch.is_tensor(exchange.exported(array[:0], "torch"))
