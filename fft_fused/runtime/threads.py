"""The pool: tasks over threads, each thread with scratch memory of its own."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

_KEEP_BYTES = 32 << 20


class _Arena(threading.local):
    def __init__(self) -> None:
        self.memory = np.empty(0, np.uint8)


class _Pool:
    """One executor for the process, made when first needed and again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._size = 0
        self._pid = 0

    def submit(self, count: int, call: Callable[[], None]) -> list[Future[None]]:
        """Run ``call`` on ``count`` threads, each in a copy of the caller's context."""
        with self._lock:  # held while submitting: another thread may replace the executor
            if self._executor is None or self._pid != os.getpid() or self._size < count:
                if self._executor is not None and self._pid == os.getpid():
                    self._executor.shutdown(wait=False)
                self._executor = ThreadPoolExecutor(count, thread_name_prefix="fft_fused")
                self._size, self._pid = count, os.getpid()
            submit = self._executor.submit
            return [submit(contextvars.copy_context().run, call) for _ in range(count)]


_arena = _Arena()
_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: globals().update(_pool=_Pool()))


def scratch(nbytes: int) -> np.ndarray:
    """At least ``nbytes`` of this thread's scratch memory, 64-byte aligned, contents undefined."""
    if _arena.memory.nbytes < nbytes:
        fresh = aligned(nbytes)
        if nbytes > _KEEP_BYTES:
            return fresh
        _arena.memory = fresh
    return _arena.memory


def aligned(nbytes: int) -> np.ndarray:
    """Bytes that start at a multiple of 64."""
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def run_tasks(count: int, task: Callable[[int], None], workers: int) -> None:
    """``task(0) ... task(count - 1)`` on at most ``workers`` threads, this one included.

    The first exception stops what has not begun and is raised here.
    """
    workers = min(workers, count)
    if workers <= 1:
        for index in range(count):
            task(index)
        return
    order = iter(range(count))
    failed = threading.Event()

    def drain() -> None:
        for index in order:  # a range iterator is advanced atomically
            if failed.is_set():
                return
            try:
                task(index)
            except BaseException:
                failed.set()
                raise

    futures = _pool.submit(workers - 1, drain)
    try:
        drain()
    finally:
        for future in futures:
            if not future.cancel():
                future.exception()
    for future in futures:
        if not future.cancelled():
            future.result()
