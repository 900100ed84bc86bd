"""Engine ``library``: plain transforms on a GPU by cuFFT."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..cuda import cufft
from ..cuda.cufft import FFTPlan, Layout
from ..expr.chain import Problem
from ..expr.node import Node
from ..passes.device import is_one_call
from ..runtime import device_cost
from ..runtime.cache import Cache, shared_cache
from ..runtime.device import Resources
from ..runtime.gpus import why_no_gpu
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal

_PLANS: Cache[FFTPlan] = shared_cache(256)


class Library:
    """See the module."""

    name = "library"
    signature = "library/2"
    fits = None

    def available(self) -> str:
        """Empty with a usable GPU and cuFFT."""
        return why_no_gpu() or cufft.missing()

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
        if not all(n.attr.is_plain for n in nodes):
            return Refusal(self.name, problem, "cuFFT has no such transform")
        seconds = device_cost.transform_seconds(nodes) + max(1, calls(nodes)) * device_cost.CALL
        cost = Cost(problem.bytes_read, problem.bytes_written, 1, seconds)
        return Offer(self.name, problem, cost, True)

    def build(self, offer: Offer) -> Launch:
        """A runner; plans are shared by all runners of the same layout."""
        runner = _Runner(offer.problem)
        return Launch(self.name, offer.problem, runner, f"cuFFT {runner.layout}\n")


LIBRARY = Library()


def calls(nodes: Sequence[Node]) -> int:
    """Calls of cuFFT for axes that are not the last: one for every index before them."""
    axes = [n.attr.axis for n in nodes]
    return 0 if max(axes) == nodes[0].ndim - 1 else math.prod(nodes[0].shape[: min(axes)])


def layout_of(nodes: Sequence[Node]) -> Layout:
    """What one call of cuFFT does of chained transforms."""
    first, last = nodes[0], nodes[-1]
    source, double = first.args[0], last.dtype.char in "dD"
    kind = next((n.attr.kind for n in nodes if n.attr.kind != "c2c"), "c2c")
    if max(n.attr.axis for n in nodes) == last.ndim - 1:
        real = last if kind == "c2r" else source
        lengths = real.shape[last.ndim - len(nodes) :]
        return Layout(kind, lengths, math.prod(real.shape[: last.ndim - len(nodes)]), double)
    columns = math.prod(last.shape[first.attr.axis + 1 :])
    return Layout(kind, (first.attr.n,), columns, double, (columns, 1))


def plan_on(layout: Layout, device: int) -> FFTPlan:
    """The plan of a layout on the current device."""
    return _PLANS.get((layout, device), lambda: FFTPlan(layout))


class _Runner:
    """Runs the transform on the current stream."""

    def __init__(self, problem: Problem) -> None:
        nodes = problem.nodes
        self.layout = layout_of(nodes)
        self._output = nodes[-1]
        self._sign = nodes[-1].attr.sign
        calls_of = calls(nodes)
        self._steps = calls_of if calls_of > 1 else 1
        self._step_bytes = (
            nodes[0].args[0].nbytes // self._steps,
            self._output.nbytes // self._steps,
        )
        self._alignment = 16 if self.layout.double else 8  # reals are read in pairs
        (given,) = problem.inputs
        spoils = self.layout.kind == "c2r" and len(self.layout.lengths) > 1
        self._must_copy = spoils and id(given) not in problem.dying
        self._plans: dict[int, FFTPlan] = {}

    def prepare(self, device: int) -> list[Callable[[], Any]]:
        """The plan, when there is none yet."""
        return [] if device in self._plans else [partial(self._plan, device)]

    def _plan(self, device: int) -> FFTPlan:
        import cupy

        with cupy.cuda.Device(device):
            self._plans[device] = plan_on(self.layout, device)
        return self._plans[device]

    def __call__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources
    ) -> list[Any]:
        (x,) = inputs
        (out,) = outputs
        if out is None or out.data.ptr % self._alignment:
            out = resources.empty(self._output.shape, self._output.dtype)
        device = resources.device
        plan = self._plans.get(device) or self._plan(device)
        source = x.data.ptr
        if self._must_copy or not x.flags.c_contiguous or source % self._alignment:
            copy = resources.empty(x.shape, x.dtype)
            copy[...] = x
            source = copy.data.ptr
        target, stream = out.data.ptr, resources.stream
        work = resources.scratch(plan.workspace) if plan.workspace else None
        address = 0 if work is None else work.ptr
        for k in range(self._steps):
            before, after = (k * n for n in self._step_bytes)
            plan.execute(source + before, target + after, self._sign, stream, address)
        return [out]
