"""Engine ``library``: plain transforms on a GPU by cuFFT, through CuPy's plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..expr.chain import Problem
from ..expr.node import Node
from ..runtime.cost import DEVICE_CALL, DEVICE_RATE
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal
from .elementwise import gpu_missing

_MOST_LOOPS = 64
_PASS_LENGTH = 16384


class Library:
    """See the module."""

    name = "library"
    signature = "library/1"

    def available(self) -> str:
        """Empty with a usable GPU and CuPy."""
        return gpu_missing()

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """One transform, or complex transforms in one direction over neighbouring axes."""
        if machine.device == "cpu" or not problem.nodes:
            return None
        nodes = problem.nodes
        if any(n.op != "dft" for n in nodes):
            return None
        chained = all(b.args == (a,) for a, b in zip(nodes, nodes[1:], strict=False))
        if len(problem.outputs) != 1 or not chained or len(nodes) > 3:
            return None
        if len(nodes) > 1 and not _are_neighbours(nodes):
            return None
        if any(n.attr.scale != 1.0 or n.attr.kind == "rfull" for n in nodes):
            return Refusal(self.name, problem, "the transform has a scale")
        moved = problem.bytes_read + problem.bytes_written
        passes = sum(1 if n.attr.n <= _PASS_LENGTH else 2 for n in nodes)
        loops = _loops(nodes)
        seconds = moved * passes / DEVICE_RATE + max(1, loops) * DEVICE_CALL
        cost = Cost(problem.bytes_read * passes, problem.bytes_written * passes, 1, seconds)
        return Offer(self.name, problem, cost, True)

    def build(self, offer: Offer) -> Launch:
        """A runner; CuPy's plan cache keeps the plans."""
        nodes = offer.problem.nodes
        text = "\n".join(f"cuFFT {n.attr}" for n in nodes) + "\n"
        return Launch(self.name, offer.problem, _Runner(nodes), text)


LIBRARY = Library()


def _are_neighbours(nodes: Sequence[Node]) -> bool:
    """Complex transforms in one direction over axes side by side, each once."""
    axes = sorted(n.attr.axis for n in nodes)
    alike = all(n.attr.kind == "c2c" and n.attr.sign == nodes[0].attr.sign for n in nodes)
    whole = all(n.shape == nodes[0].shape for n in nodes)
    loops = _loops(nodes) if alike else 0
    return alike and whole and loops <= _MOST_LOOPS and axes == list(range(axes[0], axes[-1] + 1))


def _loops(nodes: Sequence[Node]) -> int:
    """Calls of cuFFT for axes that are not the last: one for every index before them."""
    axes = [n.attr.axis for n in nodes]
    return 0 if max(axes) == nodes[0].ndim - 1 else math.prod(nodes[0].shape[: min(axes)])


class _Runner:
    """Runs the transform on the current stream."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)
        self._output = nodes[-1]

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], workers: int) -> list[Any]:
        import cupy

        (x,) = inputs
        out = outputs[0]
        if out is None:
            out = cupy.empty(self._output.shape, self._output.dtype)
        x = cupy.ascontiguousarray(x)
        node = self._nodes[0]
        spec = node.attr
        if len(self._nodes) > 1:
            self._several_axes(x, out)
        elif spec.axis == node.ndim - 1:
            batch = max(1, out.size // out.shape[-1])
            _row_plan(spec.n, batch, spec.kind, x.dtype).fft(x, out, spec.sign)
        else:
            self._middle_axis(x, out, spec)
        return [out]

    def _several_axes(self, x: Any, out: Any) -> None:
        axes = sorted(n.attr.axis for n in self._nodes)
        lengths = tuple(x.shape[a] for a in axes)
        sign = self._nodes[0].attr.sign
        before, after = math.prod(x.shape[: axes[0]]), math.prod(x.shape[axes[-1] + 1 :])
        if after == 1:
            size = math.prod(lengths)
            _plan(lengths, 1, size, before, "c2c", x.dtype).fft(x, out, sign)
            return
        plan = _plan(lengths, after, 1, after, "c2c", x.dtype)
        planes, results = x.reshape(before, -1), out.reshape(before, -1)
        for k in range(before):
            plan.fft(planes[k], results[k], sign)

    def _middle_axis(self, x: Any, out: Any, spec: Any) -> None:
        """Columns side by side in one call, for every index before the axis."""
        import cupy

        before = math.prod(x.shape[: spec.axis])
        after = math.prod(x.shape[spec.axis + 1 :])
        if before > _MOST_LOOPS or spec.kind != "c2c":
            moved = cupy.ascontiguousarray(cupy.moveaxis(x, spec.axis, -1))
            shape = moved.shape[:-1] + (out.shape[spec.axis],)
            result = cupy.empty(shape, out.dtype)
            batch = result.size // shape[-1]
            _row_plan(spec.n, batch, spec.kind, x.dtype).fft(moved, result, spec.sign)
            cupy.copyto(out, cupy.moveaxis(result, -1, spec.axis))
            return
        plan = _plan((spec.n,), after, 1, after, "c2c", x.dtype)
        rows, results = x.reshape(before, -1), out.reshape(before, -1)
        for k in range(before):
            plan.fft(rows[k], results[k], spec.sign)


def _row_plan(n: int, batch: int, kind: str, dtype: Any) -> Any:
    from cupy.cuda import cufft

    key = ("row", n, batch, kind, dtype.char)
    return _cached(key, lambda: cufft.Plan1d(n, _type(kind, dtype), batch))


def _plan(
    lengths: tuple[int, ...], stride: int, distance: int, batch: int, kind: str, dtype: Any
) -> Any:
    from cupy.cuda import cufft

    key = (lengths, stride, distance, batch, kind, dtype.char)
    return _cached(
        key,
        lambda: cufft.PlanNd(
            lengths,
            lengths,
            stride,
            distance,
            lengths,
            stride,
            distance,
            _type(kind, dtype),
            batch,
            "C",
            len(lengths) - 1,
            None,
        ),
    )


def _cached(key: Any, make: Any) -> Any:
    from cupy.fft.config import get_plan_cache

    cache = get_plan_cache()
    known = ("fft_fused", *key)
    plan = cache.get(known)
    if plan is None:
        plan = make()
        cache[known] = plan
    return plan


def _type(kind: str, dtype: Any) -> int:
    from cupy.cuda import cufft

    single = dtype.char in "fF"
    names = {"c2c": "C2C" if single else "Z2Z", "r2c": "R2C" if single else "D2Z"}
    name = names.get(kind, "C2R" if single else "Z2D")
    return int(getattr(cufft, f"CUFFT_{name}"))
