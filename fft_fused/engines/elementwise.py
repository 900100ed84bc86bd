"""Engine ``elementwise``: maps and reductions on a GPU, one generated kernel for each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..cuda.compile import nvrtc_missing
from ..cuda.kernels import Kernel, map_kernel, reduction_kernel
from ..cuda.launch import LoadedKernel, machine_code
from ..cuda.printer import unsupported
from ..cuda.user_code import clash, distinct
from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from ..runtime import device_cost
from ..runtime.cost import touched_bytes
from ..runtime.device import Resources
from ..runtime.gpus import why_no_gpu
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal


class Elementwise:
    """See the module."""

    name = "elementwise"
    signature = "elementwise/1"
    fits = None

    def available(self) -> str:
        """Empty with a usable GPU and what compiles for it."""
        return why_no_gpu() or nvrtc_missing()

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """Maps, with reductions at their end; not transforms."""
        if machine.device == "cpu":
            return None
        for node in problem.nodes:
            kind = OPS[node.op].kind
            if kind in ("transform", "opaque"):
                return None
            inner = kind == "reduce" and problem.users[id(node)]
            other = kind == "reduce" and node.op not in COMMUTATIVE_REDUCTIONS
            if inner or other:
                return Refusal(self.name, problem, f"{node.op} ends a kernel")
            reason = "" if kind == "reduce" or node.op == "call" else unsupported(node)
            if reason:
                return Refusal(self.name, problem, f"no device code for {reason}")
        reason = clash(distinct(n.attr for n in problem.nodes if n.op == "call"))
        if has_copied_view(problem):
            reason = "frames of a view that was copied"
        if reason:
            return Refusal(self.name, problem, reason)
        read = sum(touched_bytes(n) for n in problem.inputs) * len(problem.outputs)
        written = problem.bytes_written
        count = sum(2 if OPS[o.op].kind == "reduce" else 1 for o in problem.outputs)
        seconds = (read + written) / device_cost.KERNEL_RATE + count * device_cost.CALL
        return Offer(self.name, problem, Cost(read, written, count, seconds), True)

    def build(self, offer: Offer) -> Launch:
        """Generate and, when first run, compile the kernels."""
        problem = offer.problem
        strides = {id(n): strides_of(n, problem) for n in problem.inputs if n.op != "scalar"}
        kernels = [
            _kernel(f"fused_{k}", o, problem.inputs, strides) for k, o in enumerate(problem.outputs)
        ]
        source = "\n".join(k.source + (k.combine.source if k.combine else "") for k in kernels)
        has_scalars = any(n.op == "scalar" for n in problem.inputs)
        return Launch(self.name, problem, _Runner(kernels, has_scalars), source)


ELEMENTWISE = Elementwise()


def has_copied_view(problem: Problem) -> bool:
    """Do frames look at memory through an earlier value, which has strides of its own?"""
    given = {id(n) for n in problem.inputs if n.op != "operand"}
    for frames in problem.nodes:
        if frames.op != "frames" or not frames.attr[2]:
            continue
        node = frames.args[0]
        while node.args and id(node) not in given:
            node = node.args[0]
        if id(node) in given:
            return True
    return False


def strides_of(node: Node, problem: Problem) -> tuple[int, ...]:
    """Strides in items: the array's own for an operand, C order for an earlier value."""
    if node.op == "operand":
        strides = problem.operands[node.attr].strides
        return tuple(s // node.dtype.itemsize for s in strides)
    found, step = [], 1
    for extent in reversed(node.shape):
        found.append(step)
        step *= max(extent, 1)
    return tuple(reversed(found))


def _kernel(
    name: str, output: Node, inputs: Sequence[Node], strides: dict[int, tuple[int, ...]]
) -> Kernel:
    reduces = OPS[output.op].kind == "reduce"
    return (reduction_kernel if reduces else map_kernel)(name, output, inputs, strides)


class _Runner:
    """Launches the kernels of a problem on the current stream."""

    def __init__(self, kernels: Sequence[Kernel], has_scalars: bool) -> None:
        self.pairs = [
            (LoadedKernel(k), LoadedKernel(k.combine) if k.combine is not None else None)
            for k in kernels
        ]
        self._has_scalars = has_scalars

    def compile_for(self, arch: str) -> list[Callable[[], Any]]:
        """Compilations for a target, into the disk cache."""
        kernels = [k.kernel for pair in self.pairs for k in pair if k is not None]
        return [partial(machine_code, k.source, k.links, arch) for k in kernels]

    def prepare(self, device: int) -> list[Callable[[], Any]]:
        """Compilations still to do."""
        kernels = [k for pair in self.pairs for k in pair if k is not None]
        return [partial(k.load, device) for k in kernels if not k.is_loaded(device)]

    def __call__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources
    ) -> list[Any]:
        device = resources.device
        given = [as_argument(v) for v in inputs] if self._has_scalars else inputs
        results = []
        for (first, second), out in zip(self.pairs, outputs, strict=True):
            kernel = first.kernel
            node = kernel.output
            if out is None:
                out = resources.empty(node.shape, node.dtype)
            if second is None:
                first(device, (*given, out))
            else:
                partials = resources.empty((kernel.partials,), node.dtype)
                first(device, (*given, partials))
                second(device, (partials, out))
            results.append(out)
        return results


def as_argument(value: Any) -> Any:
    """Numbers go by value, in double precision."""
    if isinstance(value, complex):
        return np.complex128(value)
    return float(value) if isinstance(value, float | int) else value
