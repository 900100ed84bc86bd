"""Fused against unfused, side by side: time, memory, error."""

from __future__ import annotations

import html
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .engines.unfused import evaluate
from .explain import fused_bytes, human
from .runtime.arrays import is_cupy, module_of
from .runtime.cost import unfused_bytes
from .runtime.execute import execute
from .runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of one way to compute: seconds, bytes at the peak (result included), relative L2
    error against float64, bytes moved by the model."""

    name: str
    seconds: float
    peak_bytes: int
    error: float
    bytes_moved: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two rows. ``str()`` is a table, ``to_dict()`` data."""

    name: str
    unfused: Row
    fused: Row
    repeat: int

    @property
    def ratio(self) -> float:
        """Unfused time over fused time."""
        return self.unfused.seconds / self.fused.seconds

    def to_dict(self) -> dict[str, Any]:
        """Rows, ratio and number of runs."""
        rows = {r.name: {f: getattr(r, f) for f in Row.__slots__} for r in self._rows}
        return {"name": self.name, "ratio": self.ratio, "repeat": self.repeat, **rows}

    @property
    def _rows(self) -> tuple[Row, Row]:
        return (self.unfused, self.fused)

    def _cells(self) -> list[list[str]]:
        head = ["", "time", "ratio", "peak memory", "bytes moved", "error"]
        return [head] + [
            [
                r.name,
                f"{r.seconds * 1e3:.3f} ms",
                f"{self.unfused.seconds / r.seconds:.2f}",
                human(r.peak_bytes),
                human(r.bytes_moved),
                f"{r.error:.1e}",
            ]
            for r in self._rows
        ]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        return f"{self.name}, median of {self.repeat} runs, error against float64\n" + "\n".join(
            lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>"
            for row in self._cells()
        )
        return f"<p>{html.escape(self.name)}, median of {self.repeat} runs</p><table>{rows}</table>"


def compare(
    name: str, plan: Plan, arrays: Sequence[np.ndarray], scalars: Sequence[Any], repeat: int
) -> Comparison:
    """Measure a plan against the node-by-node evaluation of what was recorded."""
    if repeat < 1:
        raise ValueError(f"compare: repeat is {repeat}, need at least 1")

    def unfused() -> Any:
        return evaluate(plan.expr, arrays, scalars)

    def fused() -> Any:
        return execute(plan, arrays, scalars)

    device = plan.expr.device
    measured, wait = (_peak, _no_wait) if device == "cpu" else (_device_peak, _device_wait)
    exact = evaluate(plan.expr, arrays, scalars, double=True)
    peaks, errors = [], []
    for run in (unfused, fused):
        peak, results = measured(run)
        peaks.append(peak)
        errors.append(_error(results, exact))
        del results
    del exact
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):  # in turn, so that a drifting machine hits both
        for run, seconds in zip((unfused, fused), times, strict=True):
            seconds.append(_timed(run, wait))
    moved = (unfused_bytes(plan.expr)["moved"], fused_bytes(plan))
    rows = [
        Row(label, statistics.median(times[k]), peaks[k], errors[k], moved[k])
        for k, label in enumerate(("unfused", "fused"))
    ]
    return Comparison(name, rows[0], rows[1], repeat)


def _timed(run: Callable[[], Any], wait: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - start


def _no_wait() -> None:
    """A result is there when the call returns."""


def _device_wait() -> None:
    module_of("cuda").cuda.get_current_stream().synchronize()


def _peak(run: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes allocated at the peak beyond what was held before."""
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    results = run()
    peak = tracemalloc.get_traced_memory()[1] - before
    if not already:
        tracemalloc.stop()
    return peak, results


def _device_peak(run: Callable[[], Any]) -> tuple[int, Any]:
    """As ``_peak``, of CuPy's memory pool."""
    cupy = module_of("cuda")

    class Live(cupy.cuda.MemoryHook):  # type: ignore[name-defined]
        name = "bytes in use"
        live = peak = 0

        def malloc_postprocess(
            self, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int
        ) -> None:
            self.live += mem_size
            self.peak = max(self.peak, self.live)

        def free_postprocess(
            self, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int
        ) -> None:
            self.live -= mem_size

    with Live() as hook:
        results = run()
    _device_wait()
    return hook.peak, results


def _on_host(array: Any) -> np.ndarray:
    return np.atleast_1d(array.get() if is_cupy(array) else array)


def _error(results: Sequence[np.ndarray], exact: Sequence[np.ndarray]) -> float:
    """Largest relative L2 error of the outputs, over elements that are finite in both."""
    worst = 0.0
    for got, wanted in zip(results, exact, strict=True):
        a, b = _on_host(got), _on_host(wanted)
        kind = np.complex128 if b.dtype.kind == "c" else np.float64
        a, b = a.astype(kind), b.astype(kind)
        finite = np.isfinite(a) & np.isfinite(b)
        scale = float(np.linalg.norm(b[finite]))
        difference = float(np.linalg.norm(a[finite] - b[finite]))
        worst = max(worst, difference / scale if scale else difference)
    return worst
