"""Which device is chosen, what is said when there is none, and fft-fused info."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import fft_fused
from fft_fused.cli import main
from fft_fused.cuda import compile, cufft
from fft_fused.runtime import gpus

TOO_OLD, NO_DEVICE, BUSY = 35, 100, 46


class CUDARuntimeError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"error {status}: what the driver says\nand more")
        self.status = status


def cupy_with(driver=13000, names=("NVIDIA H200",), counting=None, starting=None):
    """A CuPy whose runtime sees such GPUs, or fails with such a status."""

    def count():
        if counting is not None:
            raise CUDARuntimeError(counting)
        return len(names)

    def start(index=0):
        if starting is not None:
            raise CUDARuntimeError(starting)

    def properties(index):
        return {"name": names[index].encode(), "major": 9, "minor": 0, "totalGlobalMem": 139 << 30}

    module = ModuleType("cupy")
    module.__version__ = "14.2.0"
    module.cuda = SimpleNamespace(
        runtime=SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            driverGetVersion=lambda: driver,
            runtimeGetVersion=lambda: 13020,
            getDeviceCount=count,
            getDeviceProperties=properties,
            setDevice=start,
            deviceSynchronize=start,
        )
    )
    return module


def install(monkeypatch, cupy):
    monkeypatch.setitem(sys.modules, "cupy", cupy)


@pytest.mark.parametrize(
    ("asked", "device"),
    [("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:1", "cuda:1"), ("cpu", "cpu")],
)
def test_a_gpu_is_taken_when_there_is_one(monkeypatch, asked, device):
    install(monkeypatch, cupy_with(names=("A", "B")))
    assert gpus.choose_device(asked) == device


WITHOUT = [
    (None, "CuPy is not installed: pip install fft_fused[cuda13]"),
    (cupy_with(driver=0), "no NVIDIA driver is installed"),
    (
        cupy_with(12040, counting=TOO_OLD),
        "the NVIDIA driver is too old: it is for CUDA 12.4, this CuPy needs CUDA 13; "
        "install a newer driver, or install fft_fused[cuda12]",
    ),
    (
        cupy_with(11080, counting=TOO_OLD),
        "it is for CUDA 11.8, this CuPy needs CUDA 13; install a newer driver; --device cpu",
    ),
    (cupy_with(counting=NO_DEVICE), "the driver finds no GPU; is CUDA_VISIBLE_DEVICES set?"),
    (cupy_with(names=()), "the driver finds no GPU; is CUDA_VISIBLE_DEVICES set?"),
    (cupy_with(counting=999), "error 999: what the driver says;"),
    (cupy_with(starting=BUSY), "NVIDIA H200 cannot be used: error 46: what the driver says;"),
]


@pytest.mark.parametrize(("cupy", "reason"), WITHOUT, ids=lambda v: v if isinstance(v, str) else "")
def test_without_a_gpu_auto_is_the_cpu_and_cuda_an_error(
    tmp_path, monkeypatch, capsys, cupy, reason
):
    install(monkeypatch, cupy)
    np.zeros((9000, 2), np.int8).tofile(tmp_path / "x.ci8")
    assert main(["psd", str(tmp_path / "x.ci8"), "--device", "auto"]) == 0
    text = capsys.readouterr()
    assert "hann window, mean, 808 samples at the end not used, computed on cpu\n" in text.out
    assert not text.err
    assert main(["psd", str(tmp_path / "x.ci8"), "--device", "cuda"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fft-fused: error: --device cuda: ")
    assert reason in error
    assert error.endswith("--device cpu needs no GPU\n")


def test_a_cupy_that_cannot_be_imported_is_told_apart_from_none(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "cupy":
                raise ImportError("\n=====\nlibcufft.so.12: cannot open shared object file\n=====")

    install(monkeypatch, None)
    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    reason = "CuPy cannot be imported: libcufft.so.12: cannot open shared object file"
    assert gpus.why_no_gpu() == reason


def test_a_gpu_that_is_not_there_is_named_beside_those_that_are(monkeypatch):
    install(monkeypatch, cupy_with(names=("A100", "H200")))
    message = r"--device cuda:2: there is no GPU 2, there is cuda:0 \(A100\), cuda:1 \(H200\)"
    with pytest.raises(ValueError, match=message):
        gpus.choose_device("cuda:2")


@pytest.mark.parametrize("asked", ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "", "cuda:0,1"])
def test_a_device_that_is_none_says_what_there_is(tmp_path, capsys, asked):
    np.zeros((9000, 2), np.int8).tofile(tmp_path / "x.ci8")
    assert main(["psd", str(tmp_path / "x.ci8"), "--device", asked]) == 2
    wanted = f"--device {asked!r} given, need auto, cpu, cuda or cuda:N"
    assert wanted in capsys.readouterr().err


def test_the_summary_names_the_gpu(monkeypatch):
    install(monkeypatch, cupy_with(names=("A100", "H200")))
    assert gpus.device_title("cuda:1") == "cuda:1 (H200)"
    assert gpus.device_title("cpu") == "cpu"


def test_info_shows_what_is_there(monkeypatch, capsys):
    install(monkeypatch, cupy_with(names=("NVIDIA A100", "NVIDIA H200")))
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  cuda:1 NVIDIA H200, compute capability 9.0, 139 GiB" in lines
    assert "  runtime        CUDA 13.2" in lines
    assert "  CuPy           14.2.0" in lines
    assert "  numpy_blocked  usable" in lines
    assert next(s for s in lines if s.startswith("  driver")).endswith("CUDA 13.0")


def test_info_is_plain_data_too(monkeypatch):
    install(monkeypatch, cupy_with())
    found = fft_fused.info().to_dict()
    assert found["gpus"] == (
        {
            "index": 0,
            "name": "NVIDIA H200",
            "compute_capability": "9.0",
            "memory_bytes": 139 << 30,
        },
    )
    assert found["no_gpu"] == ""
    assert found["engines"]["unfused"] == ""
    assert set(found["cuda"]) == {"driver", "runtime", "CuPy", "cuFFT", "NVRTC", "nvJitLink"}


def test_info_with_nothing_installed_says_how_to_get_it_and_takes_little_time():
    code = (
        "import sys\n"
        "from time import process_time as now\n"
        "for name in ('cupy', 'cuda', 'matplotlib', 'baseband'): sys.modules[name] = None\n"
        "start = now()\n"
        "import numpy, scipy.fft\n"
        "imported = now()\n"
        "from fft_fused.cli import main; main(['info'])\n"
        "print(now() - imported, imported - start)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(3)
    ]
    lines = runs[0]
    assert "  none: CuPy is not installed: pip install fft_fused[cuda13]" in lines
    for name in ("runtime", "CuPy", "cuFFT", "NVRTC", "nvJitLink"):
        assert f"  {name:14s} missing: pip install fft_fused[cuda13]" in lines
    own, scipy = (min(t) for t in zip(*(map(float, run[-1].split()) for run in runs), strict=True))
    assert own < max(0.5, scipy)  # seconds of processor time; slow machines import SciPy slowly


def test_info_names_a_library_that_is_missing(monkeypatch):
    install(monkeypatch, cupy_with())
    pathfinder = ModuleType("cuda.pathfinder")

    def load(name):
        raise RuntimeError(f"{name} is nowhere")

    pathfinder.load_nvidia_dynamic_lib = load
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", pathfinder)
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    found = gpus.cuda_versions()
    assert found["cuFFT"] == found["NVRTC"] == "missing: pip install fft_fused[cuda13]"


def test_versions_are_those_of_the_libraries():
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    pathfinder = pytest.importorskip("cuda.pathfinder")
    try:
        pathfinder.load_nvidia_dynamic_lib("nvrtc")
    except RuntimeError:
        pytest.skip("the NVRTC library is not installed")
    _, major, minor = nvrtc.nvrtcVersion()
    assert gpus.cuda_versions()["NVRTC"] == f"{major}.{minor}"


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22", "550.54.14"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
            "GCC version:  gcc version 13.3.0",
            "580.65.06",
        ),
        ("something else", ""),
    ],
)
def test_release_of_the_driver(text, release):
    assert gpus.driver_release(text) == release


# ---- one place says why, and what is missing is named with the extra that brings it


def gpu_engines():
    found = fft_fused.info().engines
    return {n: why for n, why in found.items() if n not in ("numpy_blocked", "unfused")}


@pytest.mark.parametrize(
    "cupy", [None, cupy_with(driver=0), cupy_with(12040, counting=TOO_OLD), cupy_with(names=())]
)
def test_engines_say_what_the_list_of_gpus_says(monkeypatch, cupy):
    install(monkeypatch, cupy)
    reasons = gpu_engines()
    assert reasons
    assert set(reasons.values()) == {fft_fused.info().no_gpu} == {gpus.why_no_gpu()}


@pytest.fixture
def fresh_libraries(monkeypatch):
    """CUDA libraries that have not been looked for, beside a GPU."""
    install(monkeypatch, cupy_with())
    found = (compile.nvrtc, compile.nvrtc_version, cufft._library, cufft.version)
    for function in found:
        function.cache_clear()
    yield
    for function in found:
        function.cache_clear()


def test_engines_name_a_missing_cuda_python(monkeypatch, fresh_libraries):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    for name in ("missing", "callbacks_missing"):
        monkeypatch.setattr(cufft, name, lambda: "")
    assert gpu_engines()["library"] == ""
    wanted = "compiling for a GPU needs cuda-python: pip install fft_fused[cuda13] (or [cuda12])"
    assert gpu_engines()["elementwise"] == wanted


def test_engines_name_a_missing_nvrtc(monkeypatch, fresh_libraries):
    nvrtc = ModuleType("cuda.bindings.nvrtc")

    def version():
        raise RuntimeError("Failed to dlopen libnvrtc.so.13\nand more")

    nvrtc.nvrtcVersion = version
    bindings = ModuleType("cuda.bindings")
    bindings.nvrtc = nvrtc
    for name, module in (("cuda.bindings", bindings), ("cuda.bindings.nvrtc", nvrtc)):
        monkeypatch.setitem(sys.modules, name, module)
    assert gpu_engines()["elementwise"] == (
        "the NVRTC library was not found (Failed to dlopen libnvrtc.so.13): "
        "pip install fft_fused[cuda13] (or [cuda12])"
    )


def test_engines_name_a_missing_cufft(monkeypatch, fresh_libraries):
    pathfinder = ModuleType("cuda.pathfinder")

    def load(name):
        raise RuntimeError(f"{name} is nowhere")

    pathfinder.load_nvidia_dynamic_lib = load
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", pathfinder)
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    for name in ("library", "cufft_callbacks"):
        why = gpu_engines()[name]
        assert why.startswith("cuFFT was not found (")
        assert why.endswith("): pip install fft_fused[cuda13] (or [cuda12])")


def test_a_missing_nvjitlink_is_named_by_the_error_of_cufft():
    assert str(cufft.CufftError("cufftXtExec", 17)) == (
        "cufftXtExec: cuFFT error 17, nvJitLink, which it loads at run time, was not found: "
        "pip install fft_fused[cuda13] (or [cuda12])"
    )


def test_versions_need_no_installed_package(monkeypatch):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unknown)
    bindings = ModuleType("cuda.bindings")
    bindings.__version__ = "13.5.0"
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    found = fft_fused.info()
    assert found.versions["fft_fused"] == fft_fused.__version__
    assert found.versions["numpy"] == np.__version__
    assert found.optional["cuda-python"] == "13.5.0"
    assert found.optional["matplotlib"] == "not installed: pip install fft_fused[plot]"


def test_the_package_and_its_metadata_have_one_version():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["version"] == fft_fused.__version__
