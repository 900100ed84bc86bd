"""Builds: compilations in the background, on a few threads that never keep the process alive."""

from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..options import cpu_count

_LAST_CALL = 5.0  # seconds that interpreter exit waits for a compilation under way


class Build:
    """Tasks that are done on threads; ``fault`` is what the first failing one raised."""

    def __init__(self, tasks: Sequence[Callable[[], Any]]) -> None:
        self.fault: BaseException | None = None
        self._left = len(tasks)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self.tasks = tuple(tasks)
        if not tasks:
            self._done.set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    @property
    def is_usable(self) -> bool:
        """Done, and without a fault?"""
        return self.is_done and self.fault is None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for all tasks; True when they are done."""
        return self._done.wait(seconds)

    def attempt(self, task: Callable[[], Any]) -> None:
        """Do one of the tasks."""
        try:
            task()
        except BaseException as error:
            self.fault = self.fault or error.with_traceback(None)
        with self._lock:
            self._left -= 1
            if not self._left:
                self._done.set()


class _Workers:
    """Threads that take tasks in order of urgency; they end with the process."""

    def __init__(self) -> None:
        self.waiting: queue.PriorityQueue[Any] = queue.PriorityQueue()
        self.lock = threading.Lock()
        self.idle = threading.Condition(self.lock)
        self.threads: list[threading.Thread] = []
        self.open = self.count = 0
        self.stopped = False

    def add(self, build: Build, urgency: int) -> None:
        with self.lock:
            for task in build.tasks:
                self.count += 1
                self.open += 1
                self.waiting.put((urgency, self.count, build, task))
            wanted = min(self.open, max(2, cpu_count()))
            while len(self.threads) < wanted and not self.stopped:
                name = f"fft_fused build {len(self.threads)}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                self.threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while True:
            *_, build, task = self.waiting.get()
            if not self.stopped:
                build.attempt(task)
            with self.idle:
                self.open -= 1
                self.idle.notify_all()
            del build, task

    def wait(self, seconds: float | None) -> bool:
        """Until nothing is left to do."""
        with self.idle:
            return self.idle.wait_for(lambda: not self.open, seconds)

    def stop(self) -> None:
        """What has not begun is dropped; what has is given a moment."""
        self.stopped = True
        self.wait(_LAST_CALL if self.open else 0)


_workers = _Workers()
atexit.register(lambda: _workers.stop())


def _renew() -> None:
    """After a fork the threads are gone, and what they had to do with them."""
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def submit(tasks: Sequence[Callable[[], Any]], urgency: int = 1) -> Build:
    """Start tasks on the threads; those of less ``urgency`` come first."""
    build = Build(tasks)
    if tasks:
        _workers.add(build, urgency)
    return build


def first_usable(builds: Sequence[Build], patience: float) -> int | None:
    """The place of the first build once it is done, else, after ``patience`` seconds, of whichever
    is done first; None when all failed."""
    builds[0].wait(patience)
    while True:
        usable = [k for k, b in enumerate(builds) if b.is_usable]
        if usable:
            return usable[0]
        if all(b.is_done for b in builds):
            return None
        time.sleep(0.002)


def wait(seconds: float | None = None) -> bool:
    """Wait until nothing is built in the background, as before a benchmark.

    The next call of a program whose candidates are then all built measures them.

    Parameters
    ----------
    seconds : float, optional
        At most so long.

    Returns
    -------
    bool
        Is all done?

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.wait()
    True
    """
    return _workers.wait(seconds)
