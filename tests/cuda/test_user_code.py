"""Users' device functions in generated sources, run on the host and compiled by NVRTC."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fft_fused import CompileError, device_function, fft, ifft, lazy, rfft, xp
from fft_fused.cuda import compile as compiler
from fft_fused.cuda.compile import LTO, compile_source
from fft_fused.cuda.kernels import map_kernel, reduction_kernel
from fft_fused.cuda.user_code import device_functions
from fft_fused.engines import cupy_ops
from fft_fused.engines.unfused import evaluate

from . import emulate, host
from .test_kernels_on_host import check, prepared

RNG = np.random.default_rng(0)
needs_compiler = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
ARCHES = ["sm_80", "sm_90", "sm_120"]

soft = device_function(
    """
    #define i fabsf(x)  /* a name that generated kernels use as well */
    __device__ float modulus(float x) { return i; }
    __device__ float soft(float x, float t) { return modulus(x) > t ? x - copysignf(t, x) : 0; }
    """,
    "float32(float32, float32)",
    numpy=lambda x, t: np.where(np.abs(x) > t, x - np.copysign(t, x), 0),
    name="soft",
)
hard = device_function(
    """
    #define i x
    __device__ float modulus(float x) { return fabsf(i); }
    __device__ __forceinline__ float hard(float x, float t) { return modulus(x) > t ? x : 0; }
    """,
    "float32(float32, float32)",
    numpy=lambda x, t: np.where(np.abs(x) > t, x, 0),
    name="hard",
)
rotated = device_function(
    """
    __device__ float2 rotated(float2 z, int quarters) {
      for (int q = 0; q < (quarters & 3); ++q) z = make_float2(-z.y, z.x);
      return z;
    }
    """,
    "complex64(complex64, int32)",
    numpy=lambda z, quarters: z * np.array([1, 1j, -1, -1j], np.complex64)[quarters & 3],
)
squared = device_function(
    "__device__ double squared(double2 z) { return z.x * z.x + z.y * z.y; }",
    "float64(complex128)",
    numpy=lambda z: z.real**2 + z.imag**2,
)
inside = device_function(
    "__device__ bool inside(long long k, unsigned char limit) { return k < limit; }",
    "bool(int64, uint8)",
    numpy=lambda k, limit: k < limit,
)

X = lazy(RNG.standard_normal((3, 5, 4)).astype(np.float32))
Z = lazy((RNG.standard_normal((6, 16)) + 1j * RNG.standard_normal((6, 16))).astype(np.complex64))
W = lazy(RNG.standard_normal(16).astype(np.float32))
QUARTERS = lazy(RNG.integers(-9, 9, (6, 1)).astype(np.int8))

MAPS = {
    "numbers": lambda: soft(X, 0.5) * 2,
    "broadcast": lambda: soft(X, abs(X[:, :1, :1])) - hard(X, 1),
    "of index maps": lambda: soft(xp.roll(X, 2, 1)[::-1], X.reshape(5, 12)[:, :4]),
    "twice": lambda: soft(soft(X, 0.25), 0.25),
    "complex": lambda: rotated(Z, QUARTERS) + rotated(Z, 3),
    "wider arguments": lambda: squared(Z) + squared(W[:6, None]),
    "integers and bools": lambda: xp.where(inside(xp.arange(16), 7), Z, 0),
    "of constants": lambda: X + soft(3.0, 1),
    "casts around": lambda: soft(X.astype(np.float16), 0.5).astype(np.int8),
}
SUMS = {
    "columns": lambda: soft(X, 0.5).sum(axis=0),
    "rows": lambda: hard(X, W[:4]).max(axis=-1),
    "long": lambda: soft(lazy(RNG.standard_normal((9000, 3)).astype("f4")), 1).sum(axis=0),
}
PLANS = {
    "load": (lambda: fft(rotated(Z, 1) * W), ["cufft_callbacks"]),
    "store": (lambda: soft(abs(fft(Z)) ** 2, 9), ["cufft_callbacks"]),
    "load and store": (lambda: rotated(fft(rotated(Z, 1)), 2), ["cufft_callbacks"]),
    "between": (lambda: ifft(rotated(fft(Z * W), QUARTERS)), None),
    "real": (lambda: hard(rfft(soft(W, 0.5)).real, 0.5), ["cufft_callbacks"]),
    "reduced": (lambda: squared(fft(Z * 2)).sum(axis=0), ["cufft_callbacks", "elementwise"]),
}


@needs_compiler
@pytest.mark.parametrize("name", [*MAPS, *SUMS])
def test_kernels_equal_numpy(name):
    check((MAPS | SUMS)[name](), tolerance=1e-5)


@needs_compiler
@pytest.mark.parametrize("engine", ["cufft_callbacks", "library"])
@pytest.mark.parametrize("name", PLANS)
def test_plans_equal_numpy(name, engine):
    make, engines = PLANS[name]
    plan, arrays = emulate.planned([make()], engine)
    if engine == "cufft_callbacks" and engines is not None:
        assert [launch.engine for launch in plan.launches][-len(engines) :] == engines
    (got,) = emulate.run(plan, arrays)
    (wanted,) = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max(), rtol=1e-5)


def kernel_of(value):
    output, inputs, _, strides, _ = prepared(value)
    reduces = output.op in ("sum", "max")
    return (reduction_kernel if reduces else map_kernel)("fused_0", output, inputs, strides)


def test_a_function_stands_once_in_a_kernel_whatever_its_python_object():
    again = device_function(
        "__device__ float half(float x) { return x / 2; }", "float32(float32)", lambda x: x / 2
    )
    same = device_function(
        "__device__ float half(float x) { return x / 2; }", "float32(float32)", lambda x: x / 2
    )
    assert kernel_of(again(same(X))).source.count("return x / 2;") == 1


class TestNVRTC:
    pytestmark = pytest.mark.usefixtures("nvrtc")

    @pytest.mark.parametrize("arch", ARCHES)
    @pytest.mark.parametrize("name", [*MAPS, *SUMS])
    def test_kernels_compile(self, name, arch):
        assert compile_source(kernel_of((MAPS | SUMS)[name]()).source, arch)[:4] == b"\x7fELF"

    @pytest.mark.parametrize("name", ["load", "store", "load and store", "real"])
    def test_callbacks_compile_to_lto_ir(self, name):
        plan, _ = emulate.planned([PLANS[name][0]()], "cufft_callbacks")
        run = plan.launches[-1].run
        sources = [s for s in (run.load, run.store) if s is not None and "user_" in s]
        assert len(sources) >= (2 if name in ("load and store", "real") else 1)
        for source in sources:
            assert len(compile_source(source, "compute_75", LTO)) > 1000

    def test_check_accepts_what_compiles(self):
        for function in (soft, hard, rotated, squared, inside):
            function.check()
        soft.check("sm_80")

    def test_an_error_shows_the_line_of_the_users_source(self):
        source = "// first\n__device__ float f(float x) {\n  return gain * x;\n}\n"
        with pytest.raises(CompileError) as caught:
            device_function(source, "float32(float32)").check()
        text = str(caught.value)
        assert text.startswith("NVRTC rejected device function f:")
        assert 'device function f(3): error: identifier "gain" is undefined' in text
        assert text.endswith("line 3: return gain * x;")

    @pytest.mark.parametrize(
        "source",
        [
            "__device__ double f(float x) { return x; }",
            "__device__ float f(double x) { return x; }",
            "__device__ float f(const float* x) { return *x; }",
        ],
    )
    def test_an_error_says_that_the_signature_does_not_fit(self, source):
        with pytest.raises(CompileError, match="NVRTC rejected signature of device function f"):
            device_function(source, "float32(float32)").check()

    def test_an_open_brace_is_told_with_the_functions_name(self):
        source = "__device__ float f(float x) { return x; "
        with pytest.raises(CompileError, match="a generated kernel with device function f:"):
            device_function(source, "float32(float32)").check()

    def test_a_later_kernel_is_compiled_anew_for_another_source(self, tmp_path, monkeypatch):
        monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path))
        counted = []
        original = compiler.compile_source
        monkeypatch.setattr(
            compiler, "compile_source", lambda *a: counted.append(a) or original(*a)
        )
        for factor in ("2", "3", "2"):
            source = f"__device__ float f(float x) {{ return x * {factor}; }}"
            device_function(source, "float32(float32)").check("sm_90")
        assert len(counted) == 2


@pytest.fixture
def nvrtc():
    try:
        compile_source("__global__ void k() {}", "sm_90")
    except Exception as error:  # the module is missing, or the library behind it
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("__device__ float f(float x, int k) {}", {"f": ("x", "k")}),
        ("inline __device__ float f(float) {}", {"f": ("float",)}),
        ("template <class T> __device__ T f(T x) {}", {"f": ("x",)}),
        ("__host__ __device__ unsigned long long f(const int k = 3) {}", {"f": ("k",)}),
        ("// __device__ int no(int x)\n/* __device__ int no(int x) */", {}),
        ("__device__ float table[2] = {1, 2}; __device__ float f(int i);", {"f": ("i",)}),
        ("__device__ __attribute__((noinline)) float f(int i) {}", {"f": ("i",)}),
        (
            "__device__ int f() {} static __device__ int g(int a,\n int b) {}",
            {"f": (), "g": ("a", "b")},
        ),
    ],
)
def test_device_functions_are_found_in_a_source(source, found):
    assert device_functions(source) == found


class _OnHost:
    """A kernel that the host runs where a device would."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, device, arguments):
        function = getattr(host.library(self.kernel.source), self.kernel.name)
        function(*(ctypes.c_void_p(a.__array_interface__["data"][0]) for a in arguments))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_unfused_a_function_is_a_kernel_of_its_own(monkeypatch, dtype):
    monkeypatch.setattr(cupy_ops, "LoadedKernel", _OnHost)
    runtime = SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0))
    names = ("asarray", "broadcast_to", "empty")
    xp_like = SimpleNamespace(cuda=runtime, **{n: getattr(np, n) for n in names})
    node = replace(rotated(Z, QUARTERS).node, dtype=np.dtype(dtype))
    run = cupy_ops.device_function(node, xp_like)
    z, k = (RNG.standard_normal((6, 16)) * (1 + 1j)).astype(dtype), np.arange(32, dtype=np.int32)
    for given in ((z, k[::2]), (z[::-1, ::2], k[:6, None]), (z[:0], k[:16]), (z[0, 0], 3)):
        got = run(*given)
        wanted = np.array([1, 1j, -1, -1j])[np.asarray(given[1]) & 3] * given[0]
        assert got.dtype == dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
