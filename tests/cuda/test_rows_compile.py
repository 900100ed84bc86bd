"""Row kernels compile for three generations of GPUs, which needs none."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, ifft, irfft, lazy, rfft, xp
from fft_fused.cuda.compile import compile_source, nvrtc_missing, side_by_side
from fft_fused.engines import one_kernel

from . import emulate

pytestmark = pytest.mark.skipif(bool(nvrtc_missing()), reason=nvrtc_missing())
ARCHS = ("sm_80", "sm_90", "sm_120")


def zeros(*shape, dtype="c8"):
    return lazy(np.zeros(shape, dtype))


def pairs(*shape):
    return zeros(*shape, 2, dtype="i1").astype(np.float32).view(np.complex64)[..., 0]


CASES = {
    "window, power": lambda: abs(fft(zeros(64, 1024) * zeros(1024, dtype="f4"))) ** 2,
    "sum of int8 pairs": lambda: (abs(fft(pairs(256, 256))) ** 2).sum(axis=0),
    "filter": lambda: ifft(fft(zeros(64, 512), 768) * zeros(768))[:, :500],
    "half spectra, transposed": lambda: xp.swapaxes(abs(rfft(zeros(64, 400, dtype="f4"))), 0, 1),
    "columns in double precision": lambda: fft(zeros(3, 360, 40, dtype="c16"), axis=1),
    "back to reals": lambda: irfft(rfft(zeros(32, 128, dtype="f4")) * zeros(65)),
    "place of the largest": lambda: xp.argmax(abs(fft(zeros(16, 243))), axis=-1),
    "prime length": lambda: fft(zeros(16, 101)),
    "half precision": lambda: abs(fft(zeros(16, 64))).astype(np.float16).max(axis=0),
}


@pytest.mark.parametrize("name", CASES)
def test_row_kernels_compile(name, monkeypatch):
    monkeypatch.setattr(one_kernel, "_VARIANTS", 1)
    plan, _ = emulate.planned([CASES[name]()], "one_kernel")
    sources = []
    for launch in plan.launches:
        assert launch.engine == "one_kernel"
        (variant,) = launch.run.variants
        sources += [s for s in (variant.kernel.source, variant.kernel.combine) if s]
    codes = side_by_side([lambda s=s, a=a: compile_source(s, a) for s in sources for a in ARCHS])
    assert all(code.startswith(b"\x7fELF") for code in codes)
