"""Generated kernels on the host: compiled by the system's C++ compiler, called by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

COMPILER = shutil.which("g++") or shutil.which("clang++")
_SHIM = """#include <cmath>
using std::isfinite; using std::isinf; using std::signbit;
#define __device__ static inline
#define __forceinline__
struct alignas(8) float2 { float x, y; };
struct alignas(16) double2 { double x, y; };
static inline float2 make_float2(float x, float y) { float2 z = {x, y}; return z; }
static inline double2 make_double2(double x, double y) { double2 z = {x, y}; return z; }
"""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fft_fused_host_"))


@cache
def library(source: str) -> ctypes.CDLL:
    """A shared library of a generated source."""
    stem = hashlib.sha256(source.encode()).hexdigest()[:20]
    path = _folder() / f"{stem}.cpp"
    path.write_text(_SHIM + source)
    out = path.with_suffix(".so")
    command = [COMPILER, "-O1", "-ffp-contract=off", "-w", "-std=c++17", "-shared", "-fPIC"]
    done = subprocess.run(
        [*command, str(path), "-o", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000] + source
    return ctypes.CDLL(str(out))


def run(kernel, arrays, scalars=()):
    """The result of a kernel on host arrays: inputs in the kernel's order."""
    values = iter(scalars)
    given = []
    for node, array in zip(kernel.inputs, arrays, strict=True):
        if node.op == "scalar":
            given.append(ctypes.c_double(next(values)))
        else:
            given.append(ctypes.c_void_p(array.__array_interface__["data"][0]))
    size = kernel.partials or kernel.output.size
    out = np.empty(size, kernel.output.dtype)
    function = getattr(library(kernel.source), kernel.name)
    function(*given, ctypes.c_void_p(out.ctypes.data))
    if kernel.combine is not None:
        partials, out = out, np.empty(kernel.output.size, kernel.output.dtype)
        second = getattr(library(kernel.combine.source), kernel.combine.name)
        second(ctypes.c_void_p(partials.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    return out.reshape(kernel.output.shape)
