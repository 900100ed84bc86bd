"""The power of a recording's segments on a GPU, fed while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .cuda.cufft import CufftError
from .errors import CompileError
from .expr.node import ArraySpec
from .psd import (
    POWER,
    Settings,
    combined,
    samples_of,
    segment_count,
    segments_within,
    window_of,
)
from .recordings import Recording
from .runtime.execute import execute
from .runtime.feed import Feed, Link, cupy_link
from .runtime.plan import Plan

CHUNK_BYTES = 32 << 20
LEAST_BYTES = 256 << 10
SCRATCH_BYTES = 1 << 30
_COMPLEX_BYTES = 8
_SCRATCH_ARRAYS = 2  # windowed segments and their spectra


def device_power(
    recording: Recording,
    settings: Settings,
    progress: Callable[[int, int], None],
    device: str,
) -> np.ndarray:
    """Power of all segments, summed in double precision or the largest, computed by a GPU.

    Parameters
    ----------
    recording : Recording
    settings : Settings
    progress : callable
        Called with samples handed over and in all after every piece.
    device : str
        As ``cuda:0``.

    Returns
    -------
    ndarray, shape (streams, bins), float64

    Raises
    ------
    MemoryError
        The GPU has not enough memory for pieces of ``LEAST_BYTES``, or of one segment.
    """
    with cupy_link(_index(device)) as link:
        return power_through(link, recording, settings, progress)


def power_through(
    link: Link,
    recording: Recording,
    settings: Settings,
    progress: Callable[[int, int], None],
) -> np.ndarray:
    """As ``device_power``, through any link; pieces are halved when memory runs out."""
    total = _Total(link, recording, settings, progress)
    most = _most_segments(recording, settings)
    least = min(most, segments_within(recording, settings, LEAST_BYTES))
    while not _fed(total, most):
        link.release()
        if most == least:
            raise MemoryError(_too_small(link, recording, settings, least))
        most = max(least, most // 2)
    return link.to_host(total.power)


def _most_segments(recording: Recording, settings: Settings) -> int:
    """Segments of a piece: bounded in bytes to copy and in bytes of scratch."""
    scratch = _SCRATCH_ARRAYS * _COMPLEX_BYTES * settings.nfft * len(recording.streams)
    wanted = segments_within(recording, settings, CHUNK_BYTES)
    return min(wanted, max(1, SCRATCH_BYTES // scratch), segment_count(recording, settings))


def _fed(total: _Total, most: int) -> bool:
    """Go on to the end in pieces of ``most`` segments; False when memory ran out."""
    try:
        total.feed(most)
    except Exception as error:
        if total.link.is_out_of_memory(error):
            return False
        raise
    return True


def _too_small(link: Link, recording: Recording, settings: Settings, least: int) -> str:
    start, stop = samples_of(0, least, settings)
    size = (stop - start) * recording.read(0, 1).nbytes
    free, whole = link.memory()
    return (
        f"out of memory on the GPU, with {free >> 20} of {whole >> 20} MiB free, for pieces of "
        f"{size >> 10} KiB; use --device cpu, a smaller --nfft, or free memory there"
    )


class _Total:
    """The power so far, on the device, and how many segments are in it."""

    def __init__(
        self,
        link: Link,
        recording: Recording,
        settings: Settings,
        progress: Callable[[int, int], None],
    ) -> None:
        self.link, self.recording, self.settings = link, recording, settings
        self.power: Any = None
        self._progress = progress
        self._done = 0
        self._sample = recording.read(0, 1)
        self._window: Any = None
        self._plans: dict[tuple[int, ...], Plan] = {}

    def feed(self, most: int) -> None:
        """Add all segments that are left, in pieces of ``most``."""
        start, stop = samples_of(0, most, self.settings)
        feed = Feed(self.link, (stop - start) * self._sample.nbytes)
        feed.run(self._pieces(most), self._fill, self._add)

    def _pieces(self, most: int) -> Iterator[tuple[int, int]]:
        """``(first segment, count)``."""
        count = segment_count(self.recording, self.settings)
        for first in range(self._done, count, most):
            yield first, min(most, count - first)

    def _shaped(self, buffer: Any, samples: int) -> Any:
        streams, _, *tail = self._sample.shape
        return buffer.view(self._sample.dtype).reshape(streams, samples, *tail)

    def _fill(self, piece: tuple[int, int], buffer: np.ndarray) -> int:
        start, stop = samples_of(*piece, self.settings)
        count = (stop - start) * self._sample.nbytes
        self.recording.read_into(start, stop, self._shaped(buffer[:count], stop - start))
        return count

    def _add(self, piece: tuple[int, int], buffer: Any) -> None:
        lib, settings = self.link.xp, self.settings
        if self._window is None:
            self._window = lib.asarray(window_of(settings).astype(np.float32))
        start, stop = samples_of(*piece, settings)
        block = self._shaped(buffer, stop - start)
        part = self._computed(block)
        self.power = combined(lib, self.power, part, settings.average)
        self._done += piece[1]
        self._progress(stop, self.recording.samples)

    def _computed(self, block: Any) -> Any:
        """The power of a piece, by the plan that the model finds best and that runs here.

        Plans are not raced: reading is slower than any of them, and a race that ends one way
        today and another way tomorrow would change the last bits of the result.
        """
        offset = float(self.recording.offset)
        known = self._plans.get(block.shape)
        if known is not None:
            return _executed(known, block, self._window, offset)
        power, settings = POWER[self.recording.layout], self.settings
        best = power.compile(block, self._window, offset, settings.hop, settings.average)
        waiting = [best, *best.rivals]
        while True:
            plan = waiting.pop(0)
            try:
                part = _executed(plan, block, self._window, offset)
            except (CufftError, CompileError) as error:
                if self.link.is_out_of_memory(error) or not waiting:
                    raise
                continue
            self._plans[block.shape] = plan
            return part


def _executed(plan: Plan, block: Any, window: Any, offset: float) -> Any:
    given = {"block": block, "window": window}
    return execute(plan, [given[name] for name in plan.expr.names], [offset])[0]


def engines_on(device: str, recording: Recording, settings: Settings) -> set[str]:
    """Names of the engines that run the expression on a device, under the options in force."""
    start, stop = samples_of(0, _most_segments(recording, settings), settings)
    streams, _, *tail = recording.read(0, 1).shape
    block = _spec((streams, stop - start, *tail), recording.read(0, 1).dtype, device)
    window = _spec((settings.nfft,), np.dtype(np.float32), device)
    power = POWER[recording.layout]
    plan = power.compile(block, window, float(recording.offset), settings.hop, settings.average)
    return {launch.engine for launch in plan.launches}


def _spec(shape: tuple[int, ...], dtype: np.dtype, device: str) -> ArraySpec:
    """A C-contiguous array."""
    strides = [dtype.itemsize]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return ArraySpec(shape, dtype, tuple(reversed(strides)), device)


@contextmanager
def placed(given: tuple[Any, ...], device: str) -> Iterator[tuple[Any, ...]]:
    """Arguments with their arrays on a device, which is the current one inside the block."""
    if device == "cpu":
        yield given
        return
    import cupy

    with cupy.cuda.Device(_index(device)):
        yield tuple(cupy.asarray(g) if isinstance(g, np.ndarray) else g for g in given)


def _index(device: str) -> int:
    return int(device.partition(":")[2])
