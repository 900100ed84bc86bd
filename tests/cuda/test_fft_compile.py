"""NVRTC takes FFT kernels for three generations of GPUs, soon, and spills no register."""

from __future__ import annotations

import re
import time

import pytest

from fft_fused.cuda.compile import nvrtc
from fft_fused.cuda.fft.bluestein import bluestein_shapes
from fft_fused.cuda.fft.real import real_shapes
from fft_fused.cuda.fft.shape import best, shapes

from .fft_device import source
from .test_compile import pytestmark as pytestmark

FFTS = {
    "256": best(256),
    "899": best(899),
    "1000": best(1000),
    "1155": best(1155),
    "2048 double": best(2048, True),
    "4096": best(4096),
    "8192 of 16": shapes(8192)[1],
    "16384": best(16384),
    "real 4096": real_shapes(4096, False)[0],
    "real 4096 back": real_shapes(4096, True)[0],
    "real 450 back": real_shapes(450, True)[0],
    "1009": bluestein_shapes(1009)[0],
}


def build(text: str, arch: str):
    """Seconds, registers and bytes spilled, as the assembler tells."""
    library = nvrtc()
    _, program = library.nvrtcCreateProgram(text.encode(), b"fft.cu", 0, [], [])
    flags = [f"--gpu-architecture={arch}".encode(), b"--std=c++17", b"--ptxas-options=-v"]
    start = time.perf_counter()
    (status,) = library.nvrtcCompileProgram(program, len(flags), flags)
    seconds = time.perf_counter() - start
    _, size = library.nvrtcGetProgramLogSize(program)
    log = b" " * size
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(program)
    assert status == library.nvrtcResult.NVRTC_SUCCESS, log.decode()
    numbers = [re.search(p, log.decode()) for p in (r"Used (\d+) reg", r"(\d+) bytes spill stores")]
    assert all(numbers), log.decode()
    return seconds, *(int(found[1]) for found in numbers)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_no_register_is_spilled(arch):
    names = FFTS if arch == "sm_90" else list(FFTS)[::3]
    spilled = {name: build(source(FFTS[name], -1), arch)[2] for name in names}
    assert not any(spilled.values()), spilled
