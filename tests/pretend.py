"""CuPy arrays in the host's memory: all but the computing is tested with them, without a GPU.

CuPy makes an array of any address without a look at the driver, so shapes, strides, devices and its
override hooks are the real ones. ``pretending`` has NumPy compute what a GPU would.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from fft_fused.engines.unfused import evaluate

_CALLERS = ("fft_fused.fuse", "fft_fused.eager_device", "fft_fused.tracing")
cupy = pytest.importorskip("cupy")


def on_gpu(array: Any, device: int = 0) -> Any:
    """A CuPy array that says it is on a GPU and lies in memory as the NumPy array does."""
    base = np.array(array, order="K")
    memory = cupy.cuda.UnownedMemory(base.ctypes.data, max(base.nbytes, 1), base, device)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(base.shape, base.dtype, pointer, base.strides)


def seen(array: Any) -> np.ndarray:
    """The values of such an array: the same memory."""
    base = array.data.mem._owner
    memory = (ctypes.c_char * max(base.nbytes, 1)).from_address(base.ctypes.data)
    memory.owner = base  # kept as long as the view
    offset = array.data.ptr - base.ctypes.data
    return np.ndarray(array.shape, array.dtype, memory, offset, array.strides)


def _execute(plan: Any, arrays: Any, scalars: Any = (), out: Any = None) -> list[Any]:
    operands = tuple(replace(o, device="cpu") for o in plan.expr.operands)
    on_host = plan.expr.device == "cpu"
    given = list(arrays) if on_host else [seen(a) for a in arrays]
    with np.errstate(all="ignore"):
        results = evaluate(replace(plan.expr, operands=operands), given, scalars)
    if out is None:
        return [r if on_host else on_gpu(r) for r in results]
    for target, result in zip(out, results, strict=True):
        (target if on_host else seen(target))[...] = result
    return list(out)


@pytest.fixture
def pretending(monkeypatch):
    """NumPy computes; device 0 is the current one."""
    fuse, eager, tracing = map(import_module, _CALLERS)
    for module in (fuse, eager):
        monkeypatch.setattr(module, "execute", _execute)
    for module in (fuse, eager, tracing):
        monkeypatch.setattr(module, "settled", lambda plan, arrays, scalars: plan)
    monkeypatch.setattr(cupy.cuda.runtime, "getDevice", lambda: 0)
    monkeypatch.setattr(cupy.cuda, "Device", lambda index: nullcontext())
    monkeypatch.setattr(cupy, "asarray", lambda v, order="K": on_gpu(np.array(v, order=order)))
