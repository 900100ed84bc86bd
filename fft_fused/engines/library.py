"""Engine ``library``: plain transforms on a GPU by cuFFT, through CuPy's plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..expr.chain import Problem
from ..expr.node import Node
from ..passes.device import is_one_call
from ..runtime.cost import DEVICE_CALL, DEVICE_RATE
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal
from .elementwise import gpu_missing

_PASS_LENGTH = 16384


class Library:
    """See the module."""

    name = "library"
    signature = "library/1"

    def available(self) -> str:
        """Empty with a usable GPU and CuPy."""
        return gpu_missing()

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """One transform, or those over the trailing axes in one call."""
        if machine.device == "cpu" or not problem.nodes:
            return None
        nodes = problem.nodes
        if any(n.op != "dft" for n in nodes):
            return None
        chained = all(b.args == (a,) for a, b in zip(nodes, nodes[1:], strict=False))
        if len(problem.outputs) != 1 or not chained or len(nodes) > 3:
            return None
        if len(nodes) > 1 and not is_one_call(nodes):
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
        if x.data.ptr % (2 * x.real.dtype.itemsize):  # cuFFT reads reals in pairs
            x = x.copy()
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
        count = len(self._nodes)
        lengths = x.shape[x.ndim - count :]
        batch = math.prod(x.shape[: x.ndim - count])
        kind = self._nodes[0].attr.kind
        plan = _trailing_plan(lengths, out.shape[out.ndim - count :], batch, kind, x.dtype)
        plan.fft(x, out, self._nodes[0].attr.sign)

    def _middle_axis(self, x: Any, out: Any, spec: Any) -> None:
        """Columns side by side in one call, for every index before the axis."""
        import cupy

        before = math.prod(x.shape[: spec.axis])
        after = math.prod(x.shape[spec.axis + 1 :])
        if spec.kind == "c2c":
            plan = _column_plan(spec.n, after, x.dtype)
            rows, results = x.reshape(before, -1), out.reshape(before, -1)
            for k in range(before):
                plan.fft(rows[k], results[k], spec.sign)
            return
        moved = cupy.ascontiguousarray(cupy.moveaxis(x, spec.axis, -1))
        result = cupy.empty((*moved.shape[:-1], out.shape[spec.axis]), out.dtype)
        batch = result.size // result.shape[-1]
        _row_plan(spec.n, batch, spec.kind, x.dtype).fft(moved, result, spec.sign)
        cupy.copyto(out, cupy.moveaxis(result, -1, spec.axis))


def _row_plan(n: int, batch: int, kind: str, dtype: Any) -> Any:
    from cupy.cuda import cufft

    key = ("row", n, batch, kind, dtype.char)
    return _cached(key, lambda: cufft.Plan1d(n, _type(kind, dtype), batch))


def _column_plan(n: int, columns: int, dtype: Any) -> Any:
    """Columns side by side: elements of one are ``columns`` apart."""
    from cupy.cuda import cufft

    key = ("column", n, columns, dtype.char)
    layout = ((n,), columns, 1)
    return _cached(
        key,
        lambda: cufft.PlanNd((n,), *layout, *layout, _type("c2c", dtype), columns, "C", 0, None),
    )


def _trailing_plan(
    lengths: tuple[int, ...], made: tuple[int, ...], batch: int, kind: str, dtype: Any
) -> Any:
    """Two or three trailing axes at once; ``made`` are the lengths of the result."""
    from cupy.cuda import cufft

    key = ("trailing", lengths, batch, kind, dtype.char)
    return _cached(
        key,
        lambda: cufft.PlanNd(
            lengths,
            lengths,
            1,
            math.prod(lengths),
            made,
            1,
            math.prod(made),
            _type(kind, dtype),
            batch,
            "C",
            len(lengths) - 1,
            lengths[-1],
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
