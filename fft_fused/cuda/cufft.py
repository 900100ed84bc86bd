"""cuFFT's C interface: the only place that calls it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

_STATUS = {
    1: "invalid plan",
    2: "allocation failed",
    3: "invalid type",
    4: "invalid value",
    5: "internal error",
    6: "execution failed",
    7: "setup failed",
    8: "invalid size",
    11: "invalid device",
    16: "not supported",
    17: "nvJitLink, which it loads at run time, was not found: pip install fft_fused[cuda13] "
    "(or [cuda12])",
    18: "NVRTC failed",
    19: "nvJitLink failed",
}
_TYPES = {
    ("c2c", False): 0x29,
    ("r2c", False): 0x2A,
    ("c2r", False): 0x2C,
    ("c2c", True): 0x69,
    ("r2c", True): 0x6A,
    ("c2r", True): 0x6C,
}
_LOAD = {"c": 0, "r": 2}
_STORE = {"c": 4, "r": 6}
_JIT_SINCE = 11303  # CUDA 12.8; earlier ones are not worth their traps


class CufftError(RuntimeError):
    """A call of cuFFT failed; ``status`` is its code."""

    def __init__(self, call: str, status: int, what: str = "") -> None:
        text = _STATUS.get(status, "unknown error")
        super().__init__(f"{call}: cuFFT error {status}, {text}{f', for {what}' if what else ''}")
        self.status = status


@cache
def _library() -> ctypes.CDLL:
    """The cuFFT that CuPy uses.

    Raises
    ------
    ImportError
        With the extra that brings it.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
        from cupy.cuda import cufft as of_cupy

        of_cupy.getVersion()  # CuPy loads its own first: two copies must not be mixed
        path = load_nvidia_dynamic_lib("cufft").abs_path
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            f"cuFFT was not found ({str(error).splitlines()[0]}): "
            "pip install fft_fused[cuda13] (or [cuda12])"
        ) from None
    return ctypes.CDLL(path)


@cache
def version() -> int:
    """As 12000 for cuFFT 12.0.0."""
    found = ctypes.c_int()
    _check("cufftGetVersion", _library().cufftGetVersion(ctypes.byref(found)))
    return found.value


def missing() -> str:
    """Why cuFFT cannot be used; empty when it can."""
    try:
        version()
    except (ImportError, CufftError) as error:
        return str(error)
    return ""


def callbacks_missing() -> str:
    """Why this cuFFT takes no callbacks; empty when it does."""
    if reason := missing():
        return reason
    if version() < _JIT_SINCE:
        return (
            f"cuFFT {version()} is too old for callbacks made at run time, {_JIT_SINCE} is needed"
        )
    return ""


@dataclass(frozen=True, slots=True)
class Layout:
    """A batch of transforms.

    ``lengths`` are those of the real side for r2c and c2r. ``strides`` (between elements, between
    transforms) of both sides in elements; None for rows one after the other.
    """

    kind: str
    lengths: tuple[int, ...]
    batch: int
    double: bool
    strides: tuple[int, int] | None = None

    def __str__(self) -> str:
        size = " x ".join(map(str, self.lengths))
        apart = f" strides {self.strides}" if self.strides else ""
        return f"{self.kind} {size}, batch {self.batch}, f{8 if self.double else 4}{apart}"


@dataclass(frozen=True, slots=True)
class Callbacks:
    """LTO-IR of a load and a store callback, and the address of the block they read.

    Their functions have cuFFT's standard names, so that cuFFT inlines them.
    """

    load: bytes | None
    store: bytes | None
    info: int


class FFTPlan:
    """A cuFFT plan on the current device; ``workspace`` bytes are needed at each execution.

    Safe to use from several threads and on several streams: what a call sets belongs to it.

    Raises
    ------
    CufftError
        When cuFFT refuses.
    """

    def __init__(self, layout: Layout, callbacks: Callbacks | None = None) -> None:
        self.layout = layout
        self.workspace = 0
        self._handle = ctypes.c_int(-1)
        self._lock = threading.Lock()
        self._callbacks = callbacks
        library = _library()
        _check("cufftCreate", library.cufftCreate(ctypes.byref(self._handle)))
        _check("cufftSetAutoAllocation", library.cufftSetAutoAllocation(self._handle, 0))
        self._keep: list[Any] = []
        if callbacks is not None:
            self._set(callbacks.load, _LOAD["r" if layout.kind == "r2c" else "c"], callbacks.info)
            self._set(callbacks.store, _STORE["r" if layout.kind == "c2r" else "c"], callbacks.info)
        self._make()
        self._set_stream, self._set_work, self._run = _functions()

    def _set(self, image: bytes | None, place: int, info: int) -> None:
        if image is None:
            return
        blob = _aligned(image)
        address = (ctypes.c_void_p * 1)(info)
        self._keep += [blob, address]
        status = _set_callback()(
            self._handle,
            None,
            ctypes.c_void_p(blob.ctypes.data),
            ctypes.c_size_t(len(image)),
            ctypes.c_int(place + self.layout.double),
            address,
        )
        _check("cufftXtSetJITCallback", status, str(self.layout))

    def _make(self) -> None:
        layout = self.layout
        size = ctypes.c_size_t()
        apart, row = layout.strides or (1, 0)
        embed = _integers(layout.lengths) if layout.strides else None
        wide = ctypes.c_longlong
        status = _library().cufftMakePlanMany64(
            self._handle,
            ctypes.c_int(len(layout.lengths)),
            _integers(layout.lengths),
            embed,
            wide(apart),
            wide(row),
            embed,
            wide(apart),
            wide(row),
            ctypes.c_int(_TYPES[layout.kind, layout.double]),
            wide(layout.batch),
            ctypes.byref(size),
        )
        _check("cufftMakePlanMany64", status, str(layout))
        self.workspace = size.value

    def execute(self, source: int, target: int, sign: int, stream: int, workspace: int) -> None:
        """Enqueue on a stream; all but ``sign`` are addresses."""
        handle = self._handle
        with self._lock:
            status = self._set_stream(handle, stream)
            if workspace:
                status = status or self._set_work(handle, workspace)
            status = status or self._run(handle, source, target, 1 if sign > 0 else -1)
        _check("cufftXtExec", status, str(self.layout))

    def __del__(self) -> None:
        if self._handle.value >= 0:
            _library().cufftDestroy(self._handle)


@cache
def _functions() -> tuple[Any, Any, Any]:
    library = _library()
    pointer = ctypes.c_void_p
    stream, work, run = library.cufftSetStream, library.cufftSetWorkArea, library.cufftXtExec
    stream.argtypes = [ctypes.c_int, pointer]
    work.argtypes = [ctypes.c_int, pointer]
    run.argtypes = [ctypes.c_int, pointer, pointer, ctypes.c_int]
    return stream, work, run


def _set_callback() -> Any:
    """CUDA 12 exports the function under another name."""
    library = _library()
    if version() < 12000:
        return library.__getattr__("__cufftXtSetJITCallback_12_7")
    return library.cufftXtSetJITCallback


def _aligned(image: bytes) -> np.ndarray:
    """The image in memory aligned to 64 bytes, as cuFFT's linker wants it."""
    memory = np.empty(len(image) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    found = memory[start : start + len(image)]
    found[:] = np.frombuffer(image, np.uint8)
    return found


def _integers(values: Sequence[int]) -> Any:
    return (ctypes.c_longlong * len(values))(*values)


def _check(call: str, status: int, what: str = "") -> None:
    if status:
        raise CufftError(call, status, what)
