"""LTO-IR of users linked with generated kernels by nvJitLink; no GPU is needed."""

from __future__ import annotations

import re

import pytest

import fft_fused
from fft_fused import CompileError, device_function, fft, xp
from fft_fused.cuda import link
from fft_fused.cuda.compile import LTO, compile_source, nvrtc_version
from fft_fused.cuda.ctypes import FILE
from fft_fused.cuda.launch import machine_code
from fft_fused.cuda.user_code import Link
from fft_fused.engines.cufft_callbacks import _functions, _ltoir
from fft_fused.errors import NotFusedError

from . import emulate
from .test_user_code import ARCHES, X, Z, kernel_of

SOURCE = """
__device__ float square(float x) { return x * x; }
extern "C" __device__ float gain(float x, int k) { return square(x) + k; }
extern "C" __device__ float2 turned(float2 z, double by) {
  return make_float2(-z.y * by, z.x * by); }
"""
CPP = "__device__ float gain(float x, int k) { return x * k; }"


def _works() -> bool:
    try:
        link._linker()
        compile_source("__global__ void k() {}", "sm_90")
    except Exception:  # a module is missing, or the library behind it
        return False
    return True


pytestmark = pytest.mark.skipif(not _works(), reason="NVRTC or nvJitLink is not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FFT_FUSED_CACHE_DIR", str(tmp_path))


def ltoir(source=SOURCE, arch="compute_75"):
    return compile_source(source, arch, LTO)


def gain(blob=None, signature="float32(float32, int32)", name="gain", numpy=None):
    return device_function(ltoir() if blob is None else blob, signature, numpy, name)


def ptx_of(kernel, arch="compute_90"):
    return machine_code(kernel.source, kernel.links, arch).decode()


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("reduces", [False, True])
def test_kernels_are_linked_to_machine_code(arch, reduces):
    value = gain(numpy=lambda x, k: x * x + k)(X, 3) * 2
    kernel = kernel_of(value.sum(axis=0) if reduces else value)
    assert [part.name for part in kernel.links] == ["gain"]
    code = machine_code(kernel.source, kernel.links, arch)
    assert code[:4] == b"\x7fELF"
    assert b".text.fused_0" in code
    assert b".text.gain" not in code  # inlined


def test_complex_numbers_pass_as_float2():
    turned = gain(signature="complex64(complex64, float64)", name="turned", numpy=lambda z, a: z)
    assert "call" not in ptx_of(kernel_of(turned(Z, 0.5)))


def test_a_gpu_later_than_the_compiler_gets_ptx():
    code = ptx_of(kernel_of(gain(numpy=lambda x, k: x)(X, 3)))
    assert ".entry fused_0" in code
    assert ".target sm_90" in code


def test_mangled_names_bind_functions_of_cpp_linkage():
    gain(ltoir(CPP), name="_Z4gainfi").check()


def test_a_name_that_is_not_there():
    with pytest.raises(CompileError) as caught:
        gain(ltoir(CPP)).check()
    text = str(caught.value)
    assert "There is no function gain in the LTO-IR" in text
    assert 'extern "C"' in text


def test_a_name_that_is_not_there_in_ptx():
    with pytest.raises(CompileError, match="There is no function gain in the LTO-IR"):
        gain(ltoir(CPP)).check("compute_90")


@pytest.mark.parametrize(
    "signature", ["float32(float32, int64)", "float64(float32, int32)", "float32(float64, int32)"]
)
@pytest.mark.parametrize("arch", ["sm_80", "sm_120", "compute_90"])
def test_types_that_are_not_the_functions(signature, arch):
    with pytest.raises(CompileError, match="gain has other argument or result types"):
        gain(signature=signature).check(arch)


def test_a_function_that_is_not_inlined_is_no_type_error():
    source = 'extern "C" __device__ __noinline__ float gain(float x, int k) { return x * k; }'
    gain(ltoir(source)).check("sm_90")


def test_ltoir_for_a_later_gpu():
    with pytest.raises(CompileError, match="is for a later GPU than this one"):
        gain(ltoir(arch="compute_90")).check("sm_80")


def test_bytes_that_are_no_ltoir():
    with pytest.raises(CompileError, match="nvJitLink rejected device function gain"):
        gain(b"no code at all").check()


def test_the_disk_cache_tells_ltoir_apart(monkeypatch):
    count = []
    original = link._link
    monkeypatch.setattr(link, "_link", lambda *a: count.append(a) or original(*a))
    blobs = [ltoir(), ltoir(SOURCE.replace("+ k", "- k")), ltoir()]
    kernels = [kernel_of(gain(b, numpy=lambda x, k: x)(X, 3)) for b in blobs]
    codes = [machine_code(k.source, k.links, "sm_90") for k in kernels]
    assert codes[0] == codes[2] != codes[1]
    assert len(count) == 2


def test_without_nvjitlink_the_error_names_the_extra(monkeypatch):
    def missing():
        raise ImportError("no module")

    monkeypatch.setattr(link, "_Bindings", missing)
    monkeypatch.setattr(link, "_Pynvjitlink", missing)
    link._linker.cache_clear()
    try:
        with pytest.raises(ImportError, match=re.escape("pip install fft_fused[cuda13]")):
            gain().check()
    finally:
        link._linker.cache_clear()


def test_an_nvjitlink_older_than_nvrtc_is_refused(monkeypatch):
    major, minor = nvrtc_version()
    monkeypatch.setattr(link, "nvrtc_version", lambda: (major + 1, minor))
    link._linker.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"is older than NVRTC \d+\.\d+"):
            gain().check()
    finally:
        link._linker.cache_clear()


merges = pytest.mark.skipif(not link.can_merge(), reason="this nvJitLink gives no LTO-IR")


class TestCallbacks:
    @merges
    @pytest.mark.parametrize("arch", ARCHES)
    def test_one_ltoir_for_cufft(self, arch):
        turned = gain(signature="complex64(complex64, float64)", name="turned")
        plan, _ = emulate.planned([fft(turned(Z, 0.5))], "cufft_callbacks")
        assert [launch.engine for launch in plan.launches] == ["cufft_callbacks"]
        runner = plan.launches[0].run
        load, store = _functions(runner._problem, runner._detail)
        assert ([f.name for f in load], store) == (["turned"], ())
        merged = _ltoir(runner.load, load, arch)
        caller = """
        __device__ float2 cufftJITCallbackLoadComplex(void*, unsigned long long, void*, void*);
        extern "C" __global__ void all(float2* out, void* in, void* info) {
          out[threadIdx.x] = cufftJITCallbackLoadComplex(in, threadIdx.x, info, 0); }
        """
        images = [(FILE, compile_source(caller, arch, LTO)), ("load", merged)]
        ptx = link._linker().link(images, ["-lto", f"-arch={arch}", "-ptx"], "ptx").decode()
        assert ".entry all" in ptx
        assert "call" not in ptx
        assert ".func" not in ptx

    def test_where_ltoir_cannot_be_merged_kernels_run_it(self, monkeypatch):
        monkeypatch.setattr("fft_fused.engines.cufft_callbacks.can_merge", lambda: False)
        value = fft(gain(signature="complex64(complex64, float64)", name="turned")(Z, 0.5))
        plan, _ = emulate.planned([value], "cufft_callbacks")
        assert [launch.engine for launch in plan.launches] == ["elementwise", "library"]
        assert "cannot merge the LTO-IR of turned into a callback" in str(plan.selection.others)

    @merges
    def test_ltoir_goes_into_one_callback_only(self):
        turned = gain(signature="complex64(complex64, float64)", name="turned")
        plan, _ = emulate.planned([turned(fft(turned(Z, 0.5)), 0.5)], "cufft_callbacks")
        assert len(plan.launches) == 2


@pytest.mark.parametrize("arch", ARCHES)
def test_both_callbacks_of_a_transform_are_linked_and_inlined(arch):
    turned = Z * xp.exp(1j * (abs(Z) * 5))
    plan, _ = emulate.planned([abs(fft(turned)) * abs(turned)], "cufft_callbacks")
    runner = plan.launches[-1].run
    caller = """
    __device__ float2 cufftJITCallbackLoadComplex(void*, unsigned long long, void*, void*);
    __device__ void cufftJITCallbackStoreComplex(void*, unsigned long long, float2, void*, void*);
    extern "C" __global__ void all(float2* out, void* in, void* info) {
      float2 z = cufftJITCallbackLoadComplex(in, threadIdx.x, info, 0);
      cufftJITCallbackStoreComplex(out, threadIdx.x, z, info, 0); }
    """
    assert "cis_(" in runner.load
    assert "modulus(" in runner.store
    texts = [(caller, arch), (runner.load, "compute_75"), (runner.store, "compute_75")]
    images = [(FILE, compile_source(text, for_arch, LTO)) for text, for_arch in texts]
    ptx = link._linker().link(images, ["-lto", f"-arch={arch}", "-ptx"], "ptx").decode()
    assert ".entry all" in ptx
    assert "call" not in ptx


def test_two_functions_of_one_symbol_are_never_in_one_kernel():
    one = gain(numpy=lambda x, k: x)
    other = gain(ltoir(SOURCE.replace("+ k", "- k")), numpy=lambda x, k: x)
    plan, _ = emulate.planned([one(X, 1) + other(X, 1)], None)
    assert [launch.engine for launch in plan.launches] == ["unfused"]
    assert "gain would be linked from LTO-IR twice" in str(plan.selection.others)
    with fft_fused.options(strict=True), pytest.raises(NotFusedError, match="linked from LTO-IR"):
        emulate.planned([one(X, 1) + other(X, 1)], None)


def test_links_travel_with_the_kernel_that_calls():
    plain = kernel_of(xp.roll(X, 1, 1) * 2)
    blob = ltoir()
    called = kernel_of(gain(blob, numpy=lambda x, k: x)(gain(blob, numpy=lambda x, k: x)(X, 1), 2))
    assert plain.links == ()
    assert called.links == (Link("gain", blob),)
    assert called.source.count('extern "C" __device__ float gain(float, int);') == 1


@pytest.mark.parametrize("arch", ["sm_90", "compute_90"])
def test_functions_of_one_ltoir_are_linked_once(arch):
    blob = ltoir()
    one = gain(blob, numpy=lambda x, k: x)
    other = gain(blob, "complex64(complex64, float64)", "turned", lambda z, a: z)
    kernel = kernel_of(one(abs(other(Z, 0.5)), 1))
    assert [part.name for part in kernel.links] == ["turned", "gain"]
    assert machine_code(kernel.source, kernel.links, arch)


class _NumbaSignature:
    """What numba's signature objects have."""

    return_type = "complex64"
    args = ("complex64", "float32")


def test_numba_takes_a_complex_argument_as_two_numbers():
    source = """
    extern "C" __device__ float2 f(float re, float im, float x) { return make_float2(re * x, im); }
    """
    function = device_function(ltoir(source), _NumbaSignature(), lambda z, x: z * x, "f")
    assert function.signature == "complex64(complex64, float32)"
    kernel = kernel_of(function(Z, 2.0))
    assert "float2 f(float, float, float)" in kernel.source
    machine_code(kernel.source, kernel.links, "sm_90")
    with pytest.raises(CompileError, match="give numba's own signature object"):
        device_function(ltoir(source), function.signature, name="f").check("sm_90")


def test_values_are_told_apart_by_ltoir():
    assert gain() == gain()
    assert gain() != gain(ltoir(CPP))
    assert hash(gain()) == hash(gain())
