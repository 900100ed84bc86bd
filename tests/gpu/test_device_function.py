"""Users' CUDA C++ and LTO-IR on a device: in kernels, reductions and callbacks of cuFFT."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import fft_fused
from fft_fused import CompileError, device_function, fft, fuse, ifft, lazy, xp
from fft_fused.cuda.compile import LTO, compile_source
from tests.gpu.calls import by_engine
from tests.gpu.support import assert_close, assert_unchanged

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

SOFT = """
#define LIMITED(x, t) fminf(fmaxf(x, -(t)), t)
__device__ float scaled(float x) { return 2 * x; }
__device__ float soft(float x, float t) { return scaled(x - LIMITED(x, t)); }
"""
TURNED = """
__device__ float scaled(float x) { return x; }
__device__ float2 turned(float2 z, int k) {
  return k & 1 ? make_float2(-z.y, scaled(z.x)) : z;
}
"""
POWER = "__device__ double power(double2 z) { return z.x * z.x + z.y * z.y; }"
C_LINKAGE = """
extern "C" __device__ float soft(float x, float t) { return 2 * (x - fminf(fmaxf(x, -t), t)); }
extern "C" __device__ float2 turned(float2 z, int k) {
  return k & 1 ? make_float2(-z.y, z.x) : z;
}
extern "C" __device__ double power(double2 z) { return z.x * z.x + z.y * z.y; }
"""
TYPES = {
    "soft": "float32(float32, float32)",
    "turned": "complex64(complex64, int32)",
    "power": "float64(complex128)",
}
BY_NUMPY = {
    "soft": lambda x, t: 2 * (x - np.clip(x, -t, t)),
    "turned": lambda z, k: np.where(np.asarray(k) & 1, 1j * z, z),
    "power": lambda z: z.real**2 + z.imag**2,
}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 64)).astype(np.float32)
Z = (RNG.standard_normal((6, 64)) + 1j * RNG.standard_normal((6, 64))).astype(np.complex64)
W = RNG.standard_normal(64).astype(np.float32)


@cache
def sources():
    return {
        name: device_function(text, TYPES[name], name=name)
        for name, text in (("soft", SOFT), ("turned", TURNED), ("power", POWER))
    }


@cache
def by_nvrtc():
    blob = compile_source(C_LINKAGE, "compute_75", LTO)
    return {name: device_function(blob, types, name=name) for name, types in TYPES.items()}


@cache
def by_numba():
    vars(np).setdefault("row_stack", np.vstack)  # numba-cuda asks for it at import
    with warnings.catch_warnings(action="ignore"):
        cuda = pytest.importorskip("numba.cuda", exc_type=ImportError)
        return _by_numba(cuda)


def _by_numba(cuda):
    from numba import types as t

    def soft(x, t):
        return 2 * (x - min(max(x, -t), t))

    def turned(z, k):
        return z * 1j if k & 1 else z

    def power(z):
        return z.real * z.real + z.imag * z.imag

    signatures = {
        soft: t.float32(t.float32, t.float32),
        turned: t.complex64(t.complex64, t.int32),
        power: t.float64(t.complex128),
    }
    made = {}
    for function, signature in signatures.items():
        name = function.__name__
        blob, _ = cuda.compile(
            function, signature, abi="c", abi_info={"abi_name": name}, output="ltoir", cc=(7, 5)
        )
        made[name] = device_function(blob, signature, name=name)
    return made


def expressions(f, transform, back, x, z, w):
    """Name -> value, written once for devices and for NumPy."""
    k = np.arange(64, dtype=np.int32) if isinstance(x, np.ndarray) else xp.arange(64, dtype="i4")
    return {
        "map": f["soft"](x, w) + 1,
        "broadcast": f["soft"](x[:, ::-1], abs(x[:, :1])) * w,
        "twice": f["soft"](f["soft"](x, 0.5), 0.25),
        "complex": f["turned"](z, k),
        "reduction over columns": f["soft"](x, 0.5).sum(axis=0),
        "reduction over rows": f["power"](z).sum(axis=-1),
        "load": transform(f["turned"](z, k) * w),
        "store": f["power"](transform(z)),
        "load and store": f["power"](transform(f["turned"](z, k) * w)),
        "both sides": f["turned"](transform(f["turned"](z, k)), 1),
        "between": back(f["turned"](transform(z) * w, k)),
        "then reduced": f["power"](transform(f["turned"](z, k))).sum(axis=0),
    }


NAMES = list(expressions(BY_NUMPY, np.fft.fft, np.fft.ifft, X, Z, W))
by_form = pytest.mark.parametrize("form", [sources, by_nvrtc, by_numba], ids=lambda f: f.__name__)


def wanted(name):
    wide = X.astype(float), Z.astype(complex), W.astype(float)
    return expressions(BY_NUMPY, np.fft.fft, np.fft.ifft, *wide)[name]


OF_TRANSFORMS = NAMES[NAMES.index("load") :]


def assert_right(got, name, dtype):
    """Transforms are of single precision, also where a function makes their power a double."""
    assert got.dtype == dtype
    single = np.complex64 if dtype.kind == "c" else np.float32
    precision = single if name in OF_TRANSFORMS else dtype
    assert_close(cupy.asnumpy(got).astype(precision), wanted(name), precision, X.size)


@by_engine
@by_form
@pytest.mark.parametrize("name", NAMES)
def test_expressions_equal_numpy(name, form, engine):
    device = [cupy.asarray(a) for a in (X, Z, W)]
    functions = form()
    with fft_fused.options(engine=engine):
        value = expressions(functions, fft, ifft, *map(lazy, device))[name]
        got = value.compute()
    assert isinstance(got, cupy.ndarray)
    assert_right(got, name, value.dtype)
    assert_unchanged(device, [X, Z, W])


@pytest.mark.parametrize("name", ["load", "store", "load and store"])
def test_sources_run_in_callbacks(name):
    device = [cupy.asarray(a) for a in (X, Z, W)]
    value = expressions(sources(), fft, ifft, *map(lazy, device))[name]
    with fft_fused.options(engine="cufft_callbacks"):
        launches = value.explain().to_dict()["launches"]
    assert [launch["engine"] for launch in launches] == ["cufft_callbacks"]


@pytest.mark.parametrize("name", ["load", "store"])
def test_ltoir_is_merged_into_callbacks_where_nvjitlink_can(name):
    from fft_fused.cuda.link import can_merge

    device = [cupy.asarray(a) for a in (X, Z, W)]
    value = expressions(by_nvrtc(), fft, ifft, *map(lazy, device))[name]
    with fft_fused.options(engine="cufft_callbacks"):
        engines = [launch["engine"] for launch in value.explain().to_dict()["launches"]]
        got = value.compute()
    assert (engines == ["cufft_callbacks"]) == can_merge()
    assert_right(got, name, value.dtype)


@by_engine
def test_numbers_are_read_at_each_call(engine):
    soft = sources()["soft"]

    @fuse
    def power(x, t):
        return abs(fft(soft(x, t))) ** 2

    x = cupy.asarray(X)
    with fft_fused.options(engine=engine):
        for t in (0.25, 0.5, 1.5):
            right = abs(np.fft.fft(BY_NUMPY["soft"](X.astype(float), t))) ** 2
            assert_close(cupy.asnumpy(power(x, t)), right, np.float32)
    assert power.trace_count == 1


@by_form
def test_arrays_of_a_device_are_computed_at_once(form):
    got = form()["soft"](cupy.asarray(X)[:, ::2], 0.5)
    assert isinstance(got, cupy.ndarray)
    assert_close(cupy.asnumpy(got), BY_NUMPY["soft"](X[:, ::2].astype(float), 0.5), np.float32)


def test_compare_measures_against_single_kernels():
    soft = sources()["soft"]
    power = fuse(lambda x, w: abs(fft(soft(x, w))) ** 2)
    assert power.compare(cupy.asarray(X), cupy.asarray(W), repeat=1).fused.error < 1e-6


@by_engine
def test_a_source_that_does_not_compile_is_an_error_not_a_fallback(engine):
    bad = device_function("__device__ float f(float x) {\n  return gain; }", "float32(float32)")
    with fft_fused.options(engine=engine), pytest.raises(CompileError, match="line 2: return gain"):
        fft(bad(lazy(cupy.asarray(X)))).compute()


def test_ltoir_without_the_function_is_an_error():
    blob = compile_source("__device__ float f(float x) { return x; }", "compute_75", LTO)
    bad = device_function(blob, "float32(float32)", name="f")
    with pytest.raises(CompileError, match="There is no function f in the LTO-IR"):
        bad(cupy.asarray(X))
