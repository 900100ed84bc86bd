"""A GPU at run time: the current device and stream, and memory from CuPy's pool."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

_OUT_OF_MEMORY = 2  # of the CUDA runtime, the driver and cuFFT alike
_LIBRARY_ERRORS = {"CUDARuntimeError", "CUDADriverError", "CuFFTError", "CufftError"}
_OF_GRAPHS: list[Any] = []  # what captured graphs use, for as long as the process lives


class _LastStreams(threading.local):
    """For each device the stream that CuPy's transforms of this thread ran on last, and its end."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[int, Any]] = {}


_LAST_STREAMS = _LastStreams()


@dataclass(frozen=True, slots=True)
class Resources:
    """What a launch may use: threads on a CPU; a device and a stream of it on a GPU.

    While the stream is captured into a CUDA graph, memory handed out belongs to the graph. While
    ``measuring``, launches find out which of their kernels is fastest.
    """

    workers: int = 1
    device: int = 0
    stream: int = 0
    capturing: bool = False
    measuring: bool = False

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """An array in C order."""
        import cupy

        array = cupy.ndarray(shape, dtype)
        self.keep(array)
        return array

    def keep(self, used: Any) -> None:
        """While a graph is captured: what it uses must live as long as it may run."""
        if self.capturing:
            _OF_GRAPHS.append(used)

    def scratch(self, nbytes: int) -> Any:
        """Memory with an address ``ptr``."""
        import cupy

        memory = cupy.cuda.alloc(nbytes)
        self.keep(memory)
        return memory


def resources_now(workers: int) -> Resources:
    """Of the current device and stream."""
    import cupy

    stream = cupy.cuda.get_current_stream()
    # a stream of its own is asked; the default ones cannot be captured
    address = stream.ptr
    capturing = address > 2 and bool(stream.is_capturing())
    return _resources(workers, cupy.cuda.runtime.getDevice(), address, capturing)


_resources = lru_cache(64)(Resources)


@contextmanager
def after_other_streams() -> Iterator[None]:
    """For CuPy's transforms: all streams of a thread share the work areas of its cached plans."""
    import cupy

    stream, now = cupy.cuda.get_current_stream(), resources_now(1)
    if now.capturing:
        yield
        return
    last, end = _LAST_STREAMS.of.get(now.device) or (now.stream, cupy.cuda.Event(False, True))
    if last != now.stream:
        stream.wait_event(end)
    try:
        yield
    finally:
        end.record(stream)
        _LAST_STREAMS.of[now.device] = now.stream, end


def elapsed(call: Callable[[], Any]) -> float:
    """Seconds of a call on the current stream, the host's share of a small one included."""
    import cupy

    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    call()
    stop.record()
    stop.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, stop)) * 1e-3


def is_out_of_memory(error: BaseException) -> bool:
    """Did CuPy's pool, a CUDA call or cuFFT run out of memory?"""
    status = getattr(error, "status", getattr(error, "result", None))
    named = type(error).__name__ in _LIBRARY_ERRORS
    return isinstance(error, MemoryError) or (named and status == _OUT_OF_MEMORY)


def release_memory() -> None:
    """Give back what CuPy's pool keeps for later; not while a stream is captured."""
    import cupy

    if not resources_now(1).capturing:
        cupy.get_default_memory_pool().free_all_blocks()
