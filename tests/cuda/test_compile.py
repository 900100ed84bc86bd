"""NVRTC takes every generated kernel for three generations of GPUs; no GPU is needed."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, lazy, xp
from fft_fused.cuda import kernels
from fft_fused.cuda.compile import LTO, CompileError, arch_for, compile_source

from . import emulate, test_plans_on_host
from .test_kernels_on_host import I8, X, Z, prepared

pytest.importorskip("cuda.bindings.nvrtc")
ARCHES = ["sm_80", "sm_90", "sm_120"]


def _works() -> bool:
    try:
        compile_source("__global__ void k() {}", "sm_90")
    except Exception:
        return False
    return True


pytestmark = pytest.mark.skipif(not _works(), reason="the NVRTC library is not installed")

VALUES = [
    abs(xp.roll(Z, 2, 1)) ** 2,
    np.exp(1j * X) * Z / 3,
    np.exp(1j * np.angle(Z)),
    xp.pad(X, 2).astype(np.float16) * 2,
    I8.astype(np.float32).view(np.complex64)[..., 0] * np.float32(0.5),
    (xp.clip(np.log10(abs(Z) + 1), 0, 1) * 255).astype(np.uint8),
    xp.lib.stride_tricks.sliding_window_view(lazy(np.arange(64.0)), 8)[::4] * 2,
    (abs(Z) ** 2).sum(axis=0),
    (X * X).sum(axis=-1),
    lazy(np.ones((40000, 3))).max(axis=0),
    np.sin(lazy(np.ones(5))) ** 0.3 + np.arctan2(lazy(np.ones(5)), 2.0),
]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("value", VALUES, ids=lambda v: str(v.node))
def test_kernels_compile(value, arch):
    output, inputs, _, strides, _ = prepared(value)
    reduces = output.op in ("sum", "max")
    make = kernels.reduction_kernel if reduces else kernels.map_kernel
    kernel = make("k", output, inputs, strides)
    while kernel is not None:
        assert compile_source(kernel.source, arch)[:4] == b"\x7fELF"
        kernel = kernel.combine


def test_an_error_shows_the_line_and_the_expression():
    with pytest.raises(CompileError) as caught:
        compile_source("// %0 = add(x, y)\n__global__ void k() {\n  wrong thing;\n}", "sm_90")
    text = str(caught.value)
    assert "line 3: wrong thing;" in text
    assert "%0 = add(x, y)" in text


@pytest.mark.parametrize("arch", ["compute_75", "compute_90", "compute_120"])
@pytest.mark.parametrize("name", test_plans_on_host.VALUES)
def test_callbacks_compile_to_lto_ir(name, arch):
    plan, _ = emulate.planned([test_plans_on_host.VALUES[name]()], "cufft_callbacks")
    for launch in plan.launches:
        if launch.engine == "cufft_callbacks":
            for source in (launch.run.load, launch.run.store):
                assert source is None or len(compile_source(source, arch, LTO)) > 1000


def test_a_later_gpu_gets_ptx_of_the_newest_one_known():
    known = arch_for("90")
    assert known == "sm_90"
    assert arch_for("999").startswith("compute_")
    assert b".target" in compile_source("__global__ void k() {}", arch_for("999"))
    with pytest.raises(CompileError, match="has no code for a GPU of compute capability 3.5"):
        arch_for("35")


def test_kernels_of_long_transforms():
    values = [(abs(fft(lazy(np.zeros((2, 1 << 18), "c8")) * 2)) ** 2)[:, 4096:-4096]]
    plan, _ = emulate.planned([v.reshape(2, -1, 8).sum(axis=-1) for v in values], "one_kernel")
    for launch in plan.launches:
        kernel = launch.run.variants[0].kernel
        assert compile_source(kernel.source, "sm_90")
