"""Plans for a GPU run on the host: kernels and callbacks by the C++ compiler, cuFFT by SciPy."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.fft

from fft_fused.cuda.in_flight import by_value
from fft_fused.cuda.row_fft import row_table
from fft_fused.engines import registry
from fft_fused.engines.cufft_callbacks import block_words
from fft_fused.engines.unfused import Steps
from fft_fused.options import options
from fft_fused.passes.commute import FOR_LIBRARY
from fft_fused.passes.device import for_library, with_addresses
from fft_fused.passes.long import split_long
from fft_fused.passes.lower import lower
from fft_fused.passes.normalize import normalize
from fft_fused.passes.partition import partition
from fft_fused.passes.pipeline import make_plan
from fft_fused.passes.select import select
from fft_fused.passes.tables import tables
from fft_fused.passes.trace import collect
from fft_fused.runtime.machine import here

from . import host

_NAMES = {"F": "Complex", "D": "DoubleComplex", "f": "Real", "d": "DoubleReal"}
_TYPES = {"F": "float2", "D": "double2", "f": "float", "d": "double"}


def planned(values, engine):
    """The plan of lazy host arrays as if they were on a GPU, and their arrays."""
    expr, sources = collect([v.node for v in values])
    arrays = [s.array for s in sources]
    specs = [
        replace(o, device="cuda:0", alignment=_alignment(a))
        for o, a in zip(expr.operands, arrays, strict=True)
    ]
    expr = replace(expr, operands=tuple(specs))
    with options(engine=engine) as chosen:
        plan = make_plan(expr, here("cuda:0"), chosen)
    return plan, arrays


def _alignment(array):
    address = array.__array_interface__["data"][0]
    return 16 if address % 16 == 0 else address & -address


def planned_long(values, fits):
    """The plan of ``planned`` for kernels of our own, transforms that do not fit being split."""
    expr, sources = collect([v.node for v in values])
    expr = replace(expr, operands=tuple(replace(o, device="cuda:0") for o in expr.operands))
    normal = for_library(normalize(expr, FOR_LIBRARY))
    made = with_addresses(normalize(split_long(normal, fits), FOR_LIBRARY))
    program = partition(made, loads=True, tables=tables(made))
    selection, *_ = select(program, registry(), here("cuda:0").preferring("one_kernel"))
    return lower(expr, program, selection, registry(), 1), [s.array for s in sources]


def on_host(expr):
    """The same expression of host arrays."""
    return replace(expr, operands=tuple(replace(o, device="cpu") for o in expr.operands))


def run(plan, arrays, scalars=(), shapes=9):
    """The plan's results on host arrays; ``shapes`` of a row kernel are run, the first ones."""
    leaves = [*arrays, *scalars]
    values = [*leaves, *([None] * (plan.count - len(leaves)))]
    for number, constant in plan.constants:
        values[number] = np.asarray(constant.value)
    engines = _ENGINES | {"one_kernel": partial(_one_kernel, shapes=shapes)}
    for step in plan.steps:
        given = [values[i] for i in step.inputs]
        results = engines[step.launch.engine](step.launch, given)
        for number, result in zip(step.outputs, results, strict=True):
            values[number] = result
    return [
        np.broadcast_to(np.asarray(values[n], o.dtype), o.shape)
        for n, o in zip(plan.results, plan.outputs, strict=True)
    ]


def _elementwise(launch, given):
    return [host.run(first.kernel, given) for first, _ in launch.run.pairs]


def _one_kernel(launch, given, shapes):
    """Each shape with its own order of threads; all must agree."""
    results = []
    for number, variant in enumerate(launch.run.variants[:shapes]):
        kernel = variant.kernel
        tables = [np.ascontiguousarray(row_table(f)) for f in kernel.tables]
        splits = min(1 + number, kernel.most_splits) if kernel.over else 1
        results.append(host.run_rows(kernel, given, tables, splits, order=number % 3))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert_alike(a, b)
    return results[0]


def assert_alike(a, b):
    """Results of two shapes differ by rounding only."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    if a.dtype.kind in "fc" and np.isfinite(a).all():
        scale = np.abs(a.astype(wide)).max(initial=0)
        eps = np.finfo(a.dtype).eps
        assert np.abs(a.astype(wide) - b.astype(wide)).max(initial=0) <= 50 * eps * scale
    elif a.dtype.kind in "iu":
        assert np.abs(a.astype(float) - b.astype(float)).max(initial=0) <= 1


def _library(launch, given):
    (x,) = given
    return [transform(launch.problem.nodes, x)]


def transform(nodes, x):
    """What one call of cuFFT does, which may assume that half spectra are Hermitian."""
    last = nodes[-1]
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    for node in nodes:
        spec = node.attr
        if spec.kind == "c2r":
            _assert_hermitian(wide, spec)
            wide = scipy.fft.irfft(wide, spec.n, axis=spec.axis, norm="forward")
        elif spec.kind == "r2c":
            wide = scipy.fft.rfft(wide, axis=spec.axis)
        else:
            forward = spec.sign < 0
            function = scipy.fft.fft if forward else scipy.fft.ifft
            wide = function(wide, axis=spec.axis, norm="backward" if forward else "forward")
    return np.array(wide, last.dtype, order="C")


def _assert_hermitian(x, spec):
    edges = [0, spec.n // 2] if spec.n % 2 == 0 and spec.n > 1 else [0]
    imaginary = np.take(x, edges, spec.axis).imag
    if np.isfinite(x).all() and x.size:
        assert np.abs(imaginary).max() <= 1e-5 * np.abs(x).max() * np.sqrt(x.size)


def _unfused(launch, given):
    problem = launch.problem
    leaves = dict(zip(map(id, problem.inputs), given, strict=True))
    steps = Steps(problem.nodes, problem.outputs, np)
    return [
        np.array(v, o.dtype, order="C") for v, o in zip(steps(leaves), problem.outputs, strict=True)
    ]


@dataclass
class _Given:
    """A host array as a runner sees a device array."""

    array: np.ndarray

    @property
    def data(self):
        return SimpleNamespace(ptr=self.array.__array_interface__["data"][0])


def _callbacks(launch, given):
    runner = launch.run
    values = {
        id(n): _Given(v) if isinstance(v, np.ndarray) else v
        for n, v in zip(launch.problem.inputs, given, strict=True)
    }
    (output,) = launch.problem.outputs
    out = np.zeros(output.shape, output.dtype)
    words = block_words(runner.slots, values, out.ctypes.data)
    block = by_value(words) if words else np.zeros(1, np.uint64)
    first, last = runner.transforms[0].args[0], runner.transforms[-1]
    if runner.load is None:
        x = values[id(first)].array
    else:
        data = runner.slots.data
        address = 0 if data is None else values[id(data)].data.ptr
        address -= address % runner.slots.alignment
        x = np.empty(first.shape, first.dtype)
        _call(runner.load, "Load", first.dtype, address, block, x)
    spectrum = transform(runner.transforms, x)
    if runner.store is None:
        return [spectrum]
    _call(runner.store, "Store", last.dtype, out.ctypes.data, block, spectrum)
    return [out]


def _call(source, what, dtype, address, block, elements):
    kind, function = _TYPES[dtype.char], f"cufftJITCallback{what}{_NAMES[dtype.char]}"
    each = (
        f"e[i] = {function}(data, i, info, 0);"
        if what == "Load"
        else f"{function}(data, i, e[i], info, 0);"
    )
    loop = (
        f'extern "C" void all(void* data, void* info, {kind}* e, long long n)'
        f" {{ for (long long i = 0; i < n; ++i) {each} }}\n"
    )
    pointer = ctypes.c_void_p
    host.library(source + loop).all(
        pointer(address),
        pointer(block.ctypes.data),
        pointer(elements.ctypes.data),
        ctypes.c_longlong(elements.size),
    )


_ENGINES = {
    "elementwise": _elementwise,
    "library": _library,
    "unfused": _unfused,
    "cufft_callbacks": _callbacks,
}
