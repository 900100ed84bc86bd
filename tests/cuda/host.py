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
static inline void sincospi(double x, double* s, double* c) {
  *s = (double)sinl(3.14159265358979323846L * x); *c = (double)cosl(3.14159265358979323846L * x); }
static inline void sincospif(float x, float* s, float* c) {
  double a, b; sincospi(x, &a, &b); *s = (float)a; *c = (float)b; }
static inline float2 make_float2(float x, float y) { float2 z = {x, y}; return z; }
static inline double2 make_double2(double x, double y) { double2 z = {x, y}; return z; }
"""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fft_fused_host_"))


@cache
def _header() -> Path:
    """The shim, compiled ahead: that halves the time of every compilation."""
    path = _folder() / "shim.h"
    path.write_text(_SHIM)
    _compile("-x", "c++-header", str(path), "-o", f"{path}.gch")
    return path


def _compile(*arguments: str) -> None:
    flags = ["-O1", "-ffp-contract=off", "-w", "-std=c++17", "-fPIC"]
    done = subprocess.run(
        [str(COMPILER), *flags, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]


@cache
def library(source: str) -> ctypes.CDLL:
    """A shared library of a generated source."""
    stem = hashlib.sha256(source.encode()).hexdigest()[:20]
    path = _folder() / f"{stem}.cpp"
    path.write_text(source)
    out = path.with_suffix(".so")
    _compile("-shared", "-include", str(_header()), str(path), "-o", str(out))
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


def run_rows(kernel, arrays, tables, splits=1, order=0):
    """The results of a row kernel on host arrays; ``order`` is that of the threads in a phase."""
    given = [
        _number(a, node) if node.op == "scalar" else ctypes.c_void_p(_address(a))
        for node, a in zip(kernel.inputs, arrays, strict=True)
    ]
    targets = [
        _poisoned((splits if is_sum else 1, node.size), node.dtype)
        for node, is_sum in zip(kernel.outputs, kernel.sums, strict=True)
    ]
    given += [ctypes.c_void_p(_address(a)) for a in (*targets, *tables)]
    start = library(_row_source(kernel, order)).start
    start(*given, ctypes.c_longlong(kernel.groups), ctypes.c_longlong(splits))
    results = []
    for k, (node, is_sum) in enumerate(zip(kernel.outputs, kernel.sums, strict=True)):
        total = targets[k][0]
        if is_sum:
            total = _poisoned((node.size,), node.dtype)
            _combined(kernel, k, targets[k], total)
        results.append(total.reshape(node.shape))
    return results


class _Complex(ctypes.Structure):
    """``complex_t<double>`` by value."""

    _fields_ = (("re", ctypes.c_double), ("im", ctypes.c_double))


def _number(value, node):
    if node.dtype.kind == "c":
        return _Complex(complex(value).real, complex(value).imag)
    return ctypes.c_double(value)


def _poisoned(shape, dtype):
    """An array whose contents show where nothing is written to it."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0x5A if dtype.kind == "b" else 0xFF
    return array


def _row_source(kernel, order):
    """The kernel's text with a function that starts all blocks one after the other."""
    head = kernel.source.index(f"ROW_KERNEL {kernel.name}(") + len(f"ROW_KERNEL {kernel.name}(")
    parameters = kernel.source[head : kernel.source.index(") {", head)]
    names = ", ".join(p.split()[-1] for p in parameters.split(", "))
    return (
        f"#define THREAD_ORDER {order}\n{kernel.source}\n"
        f'extern "C" void start({parameters}, long long groups, long long splits) {{\n'
        "  grid_y_ = splits;\n"
        "  for (block_y_ = 0; block_y_ < splits; ++block_y_)\n"
        "    for (block_x_ = 0; block_x_ < groups; ++block_x_)\n"
        f"      {kernel.name}({names});\n}}\n"
    )


def _combined(kernel, k, partials, total):
    name = f"{kernel.name}_combine{k}"
    source = kernel.combine + (
        f'extern "C" void start{k}(const void* partials, void* out, long long pieces) {{\n'
        f"  for (block_ = 0; block_ * 32 < {total.size}; ++block_)\n"
        f"    {name}(({kernel_type(total)}*)partials, ({kernel_type(total)}*)out, pieces);\n}}\n"
    )
    function = getattr(library(source), f"start{k}")
    function(
        *(ctypes.c_void_p(_address(a)) for a in (partials, total)), ctypes.c_longlong(len(partials))
    )


def kernel_type(array):
    from fft_fused.cuda.ctypes import c_type

    return c_type(array.dtype)


def _address(array):
    return array.__array_interface__["data"][0]
