"""The GPUs that are there, which one to compute on, and the CUDA libraries beside them."""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CURE = "pip install fft_fused[cuda13]"

_DRIVER_FILE = Path("/proc/driver/nvidia/version")
_NO_GPU = "the driver finds no GPU; is CUDA_VISIBLE_DEVICES set?"
_DRIVER_TOO_OLD, _NO_DEVICE = 35, 100  # of the CUDA runtime


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its number, name, compute capability as ``9.0``, and memory."""

    index: int
    name: str
    compute_capability: str
    memory_bytes: int

    def __str__(self) -> str:
        size = f"{self.memory_bytes / (1 << 30):.0f} GiB"
        return (
            f"cuda:{self.index} {self.name}, compute capability {self.compute_capability}, {size}"
        )


def why_no_gpu() -> str:
    """Why no GPU can be used here, and the way out; empty when there is one."""
    try:
        runtime = _cuda_runtime()
    except ImportError as error:
        return str(error)
    driver = int(runtime.driverGetVersion())
    if not driver:
        return "no NVIDIA driver is installed"
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        return _explained(error, driver, int(runtime.runtimeGetVersion()))
    return "" if count else _NO_GPU


def gpus() -> tuple[Gpu, ...]:
    """The GPUs that CuPy can use; none when there is no CuPy or no driver."""
    if why_no_gpu():
        return ()
    runtime = _cuda_runtime()
    return tuple(_gpu(runtime, index) for index in range(runtime.getDeviceCount()))


def choose_device(asked: str) -> str:
    """The device for what the user asked; a GPU becomes the current device of CuPy.

    Parameters
    ----------
    asked : str
        ``auto`` (the first GPU if it can be used, else the CPU), ``cpu``, ``cuda`` or ``cuda:N``.

    Returns
    -------
    str
        ``cpu``, or a GPU as ``cuda:0``.

    Raises
    ------
    ValueError
        Anything else; a GPU that cannot be used, with the reason.

    Examples
    --------
    >>> choose_device("cpu")
    'cpu'
    """
    if asked == "cpu":
        return asked
    match = re.fullmatch(r"cuda(?::(\d+))?", asked)
    if match is None and asked != "auto":
        raise ValueError(f"--device {asked!r} given, need auto, cpu, cuda or cuda:N")
    index = int(match[1] or 0) if match else 0
    reason = why_no_gpu() or _why_not_this(index)
    if not reason:
        return f"cuda:{index}"
    if asked == "auto":
        return "cpu"
    raise ValueError(f"--device {asked}: {reason}; --device cpu needs no GPU")


def device_title(device: str) -> str:
    """``cpu``, or number and name of a GPU."""
    return device if device == "cpu" else f"{device} ({gpu_name(device)})"


def gpu_name(device: str) -> str:
    """The name of a GPU given as ``cuda:0``."""
    return _gpu(_cuda_runtime(), int(device.partition(":")[2])).name


def cuda_versions() -> dict[str, str]:
    """Versions of the driver and of what code on a GPU is made with, or what is missing."""
    found = {"driver": _driver_text(), "runtime": _from_cupy(_runtime_text)}
    found["CuPy"] = _from_cupy(lambda: str(importlib.import_module("cupy").__version__))
    return found | {name: _library_text(*entry) for name, entry in _LIBRARIES.items()}


def quick_versions() -> str:
    """Versions of the driver, the CUDA runtime and CuPy, without loading other libraries."""
    runtime = _cuda_runtime()
    driver, cuda = int(runtime.driverGetVersion()), int(runtime.runtimeGetVersion())
    found = f"driver for CUDA {_dotted(driver)}, CUDA {_dotted(cuda)}"
    return f"{found}, CuPy {importlib.import_module('cupy').__version__}"


def _cuda_runtime() -> Any:
    """CuPy's bindings of the CUDA runtime.

    Raises
    ------
    ImportError
        With the way out.
    """
    try:
        return importlib.import_module("cupy").cuda.runtime
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise ImportError(f"CuPy cannot be imported: {error}") from None
        raise ImportError(f"CuPy is not installed: {CURE}") from None
    except ImportError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip(" =")]
        why = lines[0] if lines else type(error).__name__
        raise ImportError(f"CuPy cannot be imported: {why}") from None


def _explained(error: Any, driver: int, needed: int) -> str:
    if error.status == _DRIVER_TOO_OLD:
        older = ", or install fft_fused[cuda12]" if driver // 1000 == 12 else ""
        return (
            f"the NVIDIA driver is too old: it is for CUDA {_dotted(driver)}, this CuPy needs "
            f"CUDA {needed // 1000}; install a newer driver{older}"
        )
    if error.status == _NO_DEVICE:
        return _NO_GPU
    return str(error).splitlines()[0]


def _why_not_this(index: int) -> str:
    """Empty when work can be started on a GPU of this number; it is then the current one."""
    runtime = _cuda_runtime()
    count = runtime.getDeviceCount()
    if index >= count:
        there = ", ".join(f"cuda:{i} ({_gpu(runtime, i).name})" for i in range(count))
        return f"there is no GPU {index}, there is {there}"
    try:
        runtime.setDevice(index)
        runtime.deviceSynchronize()
    except runtime.CUDARuntimeError as error:
        return f"{_gpu(runtime, index).name} cannot be used: {str(error).splitlines()[0]}"
    return ""


def _gpu(runtime: Any, index: int) -> Gpu:
    found = runtime.getDeviceProperties(index)
    name = found["name"]
    return Gpu(
        index,
        name.decode() if isinstance(name, bytes) else str(name),
        f"{found['major']}.{found['minor']}",
        int(found["totalGlobalMem"]),
    )


def _dotted(version: int) -> str:
    """CUDA's 13010 as 13.1."""
    return f"{version // 1000}.{version % 1000 // 10}"


def _from_cupy(read: Callable[[], str]) -> str:
    try:
        _cuda_runtime()
    except ImportError as error:
        text = str(error)
        return f"missing: {CURE}" if CURE in text else text
    return read()


def _runtime_text() -> str:
    return f"CUDA {_dotted(int(_cuda_runtime().runtimeGetVersion()))}"


def _driver_text() -> str:
    try:
        release = driver_release(_DRIVER_FILE.read_text(encoding="utf-8"))
    except OSError:
        release = ""
    try:
        version = int(_cuda_runtime().driverGetVersion())
    except ImportError:
        return release or "not found"
    if not version:
        return "missing: install the NVIDIA driver"
    return f"{release}, for CUDA {_dotted(version)}".removeprefix(", ")


def driver_release(text: str) -> str:
    """The release in what the kernel module says of itself.

    Examples
    --------
    >>> driver_release("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.01  Mon Nov 3")
    '580.159.01'
    """
    match = re.search(r"Kernel Module(?: for \S+)?\s+(\d[\d.]*)", text)
    return match[1] if match else ""


def _library_text(library: str, symbol: str, numbers: int) -> str:
    """Version of a library, asked through the loader that cuda-python brings."""
    try:
        pathfinder: Any = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return f"missing: {CURE}"
    try:
        path = pathfinder.load_nvidia_dynamic_lib(library).abs_path
        ask = getattr(ctypes.CDLL(path), symbol)
    except (RuntimeError, OSError, AttributeError):
        return f"missing: {CURE}"
    found = [ctypes.c_int(0) for _ in range(numbers)]
    status = ask(*(ctypes.byref(value) for value in found))
    if status:
        return f"cannot be used: {symbol} gives {status}"
    if numbers == 2:
        return f"{found[0].value}.{found[1].value}"
    packed = found[0].value
    return f"{packed // 1000}.{packed % 1000 // 100}.{packed % 100}"


_LIBRARIES = {
    "cuFFT": ("cufft", "cufftGetVersion", 1),
    "NVRTC": ("nvrtc", "nvrtcVersion", 2),
    "nvJitLink": ("nvJitLink", "nvJitLinkVersion", 2),
}
