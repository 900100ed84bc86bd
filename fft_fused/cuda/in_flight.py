"""cuFFT plans with callbacks, and the block of device memory that each reads its arguments from.

The address of a block is part of its plan, its contents are set in stream order before each
execution. A call on another stream waits for the last one; a call that is captured into a CUDA
graph takes the plan with it, since the graph may run at any time.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..runtime.device import Resources
from .compile import arch_for, compiled
from .cufft import Callbacks, FFTPlan, Layout


class _Instance:
    """A plan, its block and who used it last."""

    __slots__ = ("block", "event", "plan", "stream", "words")

    def __init__(self, layout: Layout, load: bytes | None, store: bytes | None, count: int) -> None:
        import cupy

        self.block = cupy.zeros(max(count, 1), np.uint64)
        cupy.cuda.get_current_stream().synchronize()
        self.plan = FFTPlan(layout, Callbacks(load, store, self.block.data.ptr))
        self.event = cupy.cuda.Event(disable_timing=True)
        self.stream: int | None = None
        self.words: tuple[Any, ...] | None = None


class CallbackPlans:
    """Plans of one layout with one pair of callbacks, on the current device."""

    def __init__(self, layout: Layout, load: bytes | None, store: bytes | None, count: int) -> None:
        self._made_of = (layout, load, store, count)
        self._count = count
        self._lock = threading.Lock()
        self._set = _setter(count) if count else None
        self._free: _Instance | None = _Instance(*self._made_of)
        self._captured: _Instance | None = None

    def execute(
        self, words: tuple[Any, ...], source: int, target: int, sign: int, resources: Resources
    ) -> None:
        """Enqueue one call."""
        import cupy

        with self._lock:
            if resources.capturing:
                used = self._for_graph(resources)
            else:
                if self._free is None:
                    self._free = _Instance(*self._made_of)
                used = self._free
                if used.stream is not None and used.stream != resources.stream:
                    cupy.cuda.get_current_stream().wait_event(used.event)
            if self._set is not None and (resources.capturing or words != used.words):
                self._set((1, 1, 1), (1, 1, 1), (used.block, by_value(words)))
                used.words = words
            plan = used.plan
            work = resources.scratch(plan.workspace) if plan.workspace else None
            address = 0 if work is None else work.ptr
            plan.execute(source, target, sign, resources.stream, address)
            if not resources.capturing:
                used.stream = resources.stream
                used.event.record()

    def _for_graph(self, resources: Resources) -> _Instance:
        """The instance that belongs to captured graphs; it is not used outside of them."""
        if self._free is not None:
            self._captured, self._free = self._free, None
            resources.keep(self._captured)
        assert self._captured is not None
        return self._captured


def by_value(words: tuple[Any, ...]) -> np.ndarray:
    """The words as one argument of a kernel."""
    block = np.empty(len(words), np.uint64)
    for k, word in enumerate(words):
        block[k : k + 1].view(np.float64 if isinstance(word, float) else np.uint64)[0] = word
    return block.view(np.dtype((np.void, 8 * len(words))))


def _setter(count: int) -> Any:
    """A kernel that writes its argument into a block."""
    import cupy

    source = (
        f"struct words_t {{ unsigned long long word[{count}]; }};\n"
        'extern "C" __global__ void set_words(unsigned long long* block, const words_t given) {\n'
        f"  for (int i = 0; i < {count}; ++i) block[i] = given.word[i];\n}}\n"
    )
    module = cupy.cuda.function.Module()
    module.load(compiled(source, arch_for(cupy.cuda.Device().compute_capability)))
    return module.get_function("set_words")
