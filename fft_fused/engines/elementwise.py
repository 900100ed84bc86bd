"""Engine ``elementwise``: maps and reductions on a GPU, one generated kernel for each result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cuda.kernels import THREADS, Kernel, map_kernel, reduction_kernel
from ..cuda.printer import unsupported
from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from ..runtime.cost import DEVICE_CALL, DEVICE_RATE, touched_bytes
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal


class Elementwise:
    """See the module."""

    name = "elementwise"
    signature = "elementwise/1"

    def available(self) -> str:
        """Empty with a usable GPU and CuPy."""
        return gpu_missing()

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
            if node.op == "frames" and node.attr[2] and _is_copied(node.args[0], problem):
                return Refusal(self.name, problem, "frames of a view that was copied")
            reason = "" if kind == "reduce" else unsupported(node)
            if reason:
                return Refusal(self.name, problem, f"no device code for {reason}")
        read = sum(touched_bytes(n) for n in problem.inputs) * len(problem.outputs)
        written = problem.bytes_written
        count = sum(2 if OPS[o.op].kind == "reduce" else 1 for o in problem.outputs)
        seconds = (read + written) / DEVICE_RATE + count * DEVICE_CALL
        return Offer(self.name, problem, Cost(read, written, count, seconds), True)

    def build(self, offer: Offer) -> Launch:
        """Generate and, when first run, compile the kernels."""
        problem = offer.problem
        strides = {id(n): _strides(n, problem) for n in problem.inputs if n.op != "scalar"}
        kernels = [
            _kernel(f"fused_{k}", o, problem.inputs, strides) for k, o in enumerate(problem.outputs)
        ]
        source = "\n".join(k.source + (k.combine.source if k.combine else "") for k in kernels)
        return Launch(self.name, problem, _Runner([_Started(k) for k in kernels]), source)


ELEMENTWISE = Elementwise()


def _is_copied(node: Node, problem: Problem) -> bool:
    """Is a view that frames look through an earlier value here, with strides of its own?"""
    given = {id(n) for n in problem.inputs if n.op != "operand"}
    while node.args and id(node) not in given:
        node = node.args[0]
    return id(node) in given


def gpu_missing() -> str:
    """Why no GPU can be used here; empty when one can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed: pip install fft_fused[cuda13]"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # no driver, or one that is too old
        return f"no usable GPU: {str(error).splitlines()[0]}"
    return "" if count else "no GPU is there"


def _strides(node: Node, problem: Problem) -> tuple[int, ...]:
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


@dataclass(slots=True)
class _Started:
    """A kernel and, per device, its compiled function."""

    kernel: Kernel
    functions: dict[int, Any] | None = None

    def function(self, device: int) -> Any:
        import cupy

        if self.functions is None:
            self.functions = {}
        if device not in self.functions:
            module = cupy.RawModule(code=self.kernel.source, options=("--std=c++17",))
            self.functions[device] = module.get_function(self.kernel.name)
        return self.functions[device]


class _Runner:
    """Launches the kernels of a problem on the current stream."""

    def __init__(self, started: list[_Started]) -> None:
        self._started = started
        self._combines = [
            _Started(s.kernel.combine) if s.kernel.combine is not None else None for s in started
        ]

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any], workers: int) -> list[Any]:
        import cupy

        device = cupy.cuda.runtime.getDevice()
        given = [_argument(value) for value in inputs]
        results = []
        for first, second, wanted in zip(self._started, self._combines, outputs, strict=True):
            kernel = first.kernel
            out = (
                wanted
                if wanted is not None
                else cupy.empty(kernel.output.shape, kernel.output.dtype)
            )
            target = cupy.empty(kernel.partials, kernel.output.dtype) if kernel.partials else out
            first.function(device)((kernel.blocks,), (kernel.threads,), (*given, target))
            if second is not None:
                blocks = second.kernel.blocks
                second.function(device)((blocks,), (THREADS,), (target, out))
            results.append(out)
        return results


def _argument(value: Any) -> Any:
    """Numbers go by value, in double precision."""
    if isinstance(value, complex):
        return np.complex128(value)
    return np.float64(value) if isinstance(value, float | int) else value
