"""Engine ``one_kernel``: maps, transforms and sums over rows in one launch, by FFTs of our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..cuda.compile import nvrtc_missing
from ..cuda.fft.shape import shapes
from ..cuda.launch import Function, machine_code
from ..cuda.printer import unsupported
from ..cuda.reductions import is_inline
from ..cuda.row_block import RowShape
from ..cuda.row_fft import RowFFT, row_ffts, row_table
from ..cuda.row_kernel import RowKernel, row_kernel
from ..cuda.row_shapes import row_shapes
from ..cuda.rows import Rows, rows_of
from ..expr.chain import Problem
from ..expr.ops import OPS
from ..runtime import device_cost
from ..runtime.agreement import outliers, sample
from ..runtime.cache import shared_cache
from ..runtime.cost import touched_bytes
from ..runtime.device import Resources, elapsed
from ..runtime.gpus import why_no_gpu
from ..runtime.machine import Machine
from . import Cost, Launch, Offer, Refusal
from .elementwise import as_argument, has_copied_view, strides_of

_VARIANTS = 4
_MANY_VARIANTS = 16
_WORTH_MEASURING = 16 << 20  # bytes; less is done in microseconds, and building takes longer
_LAPS = 3
_COMBINE_COLUMNS = 32
_COMBINE_THREADS = 256
_TABLES = shared_cache(256)


@dataclass(frozen=True, slots=True)
class _Detail:
    rows: Rows
    shapes: tuple[RowShape, ...]


class OneKernel:
    """See the module."""

    name = "one_kernel"
    signature = "one_kernel/1"

    def available(self) -> str:
        """Empty with a usable GPU and what compiles for it."""
        return why_no_gpu() or nvrtc_missing()

    def fits(self, length: int, dtype: np.dtype) -> bool:
        """Does a complex transform fit a block?"""
        return bool(shapes(length, dtype.char == "D"))

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """Rows whose transforms fit a block, with what is around them."""
        if machine.device == "cpu" or not any(n.op == "dft" for n in problem.nodes):
            return None
        reason = _limits(problem)
        if reason:
            return Refusal(self.name, problem, reason)
        rows = rows_of(problem)
        if not isinstance(rows, Rows):
            return Refusal(self.name, problem, rows or "no transform")
        strides = {id(n): strides_of(n, problem) for n in problem.inputs if n.op != "scalar"}
        read = sum(touched_bytes(n) for n in problem.inputs)
        written = problem.bytes_written
        count = _VARIANTS if read + written > _WORTH_MEASURING else 1
        ways = row_shapes(rows, strides, _MANY_VARIANTS if machine.thorough else count)
        if not ways:
            return Refusal(self.name, problem, _misfit(rows))
        launches = 2 if any(r.reduced for r in rows.results) else 1
        roots = sum(n.op == "root" for n in problem.nodes)
        seconds = device_cost.one_kernel_seconds(rows.transforms, read + written, roots)
        cost = Cost(read, written, launches, seconds + launches * device_cost.CALL)
        return Offer(self.name, problem, cost, True, _Detail(rows, ways))

    def build(self, offer: Offer) -> Launch:
        """Generate; compile and measure the shapes when first run."""
        runner = _Runner(offer.problem, offer.detail)
        return Launch(self.name, offer.problem, runner, runner.variants[0].kernel.source)


ONE_KERNEL = OneKernel()


def _misfit(rows: Rows) -> str:
    """Why the transforms have no FFTs in one block."""
    long = [n.attr.n for n in rows.transforms if not row_ffts(n)]
    if long:
        return f"length {long[0]} does not fit a block"
    if any(r.group for r in rows.results):
        return "a sum of neighbours does not fit a block"
    lengths = ", ".join(str(n.attr.n) for n in rows.transforms)
    return f"no FFTs of lengths {lengths} go together in a block"


def _limits(problem: Problem) -> str:
    for node in problem.nodes:
        if node.op == "dft":
            continue
        if OPS[node.op].kind == "reduce":
            if problem.users[id(node)] and not is_inline(node):
                return f"{node.op} of many elements in the middle"
            continue
        reason = unsupported(node)
        if reason and node.op != "call":
            return f"no device code for {reason}"
    return "frames of a view that was copied" if has_copied_view(problem) else ""


def table_on(fft: RowFFT, device: int) -> Any:
    """The table of an FFT on the current device, ready for every stream."""
    import cupy

    def made() -> Any:
        table = cupy.asarray(row_table(fft))
        cupy.cuda.get_current_stream().synchronize()
        return table

    return _TABLES.get((fft, device), made)


class _Variant:
    """A kernel in one shape, with the kernels that add up its partial results; its text is made
    when it is asked for."""

    def __init__(self, make: Callable[[], RowKernel]) -> None:
        self._make = make
        self._loaded: set[int] = set()
        self._ready: dict[int, tuple[int, list[Any]]] = {}

    @cached_property
    def kernel(self) -> RowKernel:
        return self._make()

    @cached_property
    def function(self) -> Function:
        kernel = self.kernel
        return Function(kernel.source, kernel.name, kernel.shared_bytes, kernel.links)

    @cached_property
    def combines(self) -> dict[int, Function]:
        """By number of the result."""
        kernel = self.kernel
        return {
            k: Function(kernel.combine, f"{kernel.name}_combine{k}")
            for k, is_sum in enumerate(kernel.sums)
            if is_sum
        }

    def compile_for(self, arch: str) -> list[Callable[[], Any]]:
        """Compilations for a target, into the disk cache."""
        kernel = self.kernel
        texts = [(kernel.source, kernel.links)]
        if self.combines:
            texts.append((kernel.combine, ()))
        return [partial(machine_code, text, links, arch) for text, links in texts]

    def prepare(self, device: int) -> list[Callable[[], Any]]:
        """What is still to do: generate, compile and load."""
        return [] if device in self._loaded else [partial(self._load, device)]

    def _load(self, device: int) -> None:
        for function in (self.function, *self.combines.values()):
            function.load(device)
        self._loaded.add(device)

    def _made_ready(self, device: int) -> tuple[int, list[Any]]:
        """In how many splits it runs on a device, and the tables of its FFTs there."""
        splits = self._split(device) if self.kernel.over else 1
        self._ready[device] = splits, [table_on(f, device) for f in self.kernel.tables]
        return self._ready[device]

    def _split(self, device: int) -> int:
        """Blocks among which the rows that are reduced are shared out."""
        import cupy

        kernel = self.kernel
        per_one = self.function.blocks_at_once(device, kernel.threads)
        ones = cupy.cuda.runtime.getDeviceProperties(device)["multiProcessorCount"]
        wanted = -(-ones * max(per_one, 1) // kernel.groups)
        return max(1, min(wanted, kernel.most_splits))

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources) -> None:
        """Start; ``outputs`` are all given."""
        kernel, device = self.kernel, resources.device
        splits, tables = self._ready.get(device) or self._made_ready(device)
        grid = (kernel.groups, splits, 1)
        if splits == 1:
            self.function(device, grid, kernel.threads, (*inputs, *outputs, *tables))
            return
        targets = [
            resources.empty((splits, max(node.size, 1)), node.dtype) if is_sum else out
            for out, node, is_sum in zip(outputs, kernel.outputs, kernel.sums, strict=True)
        ]
        self.function(device, grid, kernel.threads, (*inputs, *targets, *tables))
        for k, combine in self.combines.items():
            blocks = -(-kernel.outputs[k].size // _COMBINE_COLUMNS)
            combine(device, (blocks, 1, 1), _COMBINE_THREADS, (targets[k], outputs[k], splits))


class _Runner:
    """Runs the fastest shape on the current stream."""

    def __init__(self, problem: Problem, detail: _Detail) -> None:
        strides = {id(n): strides_of(n, problem) for n in problem.inputs if n.op != "scalar"}
        self.variants = tuple(
            _Variant(partial(row_kernel, "rows", detail.rows, shape, strides))
            for shape in detail.shapes
        )
        self._outputs = problem.outputs
        self._numbers = [k for k, n in enumerate(problem.inputs) if n.op == "scalar"]
        self._best: dict[int, int] = {}
        self.laps: dict[int, list[float]] = {}

    def prepare(self, device: int) -> list[Callable[[], Any]]:
        """Compilations that a call needs."""
        return self.variants[self.chosen(device)].prepare(device)

    def compile_for(self, arch: str) -> list[Callable[[], Any]]:
        """Compilations of all shapes for a target, into the disk cache."""
        return [task for v in self.variants for task in v.compile_for(arch)]

    def prepare_choices(self, device: int) -> list[Callable[[], Any]]:
        """Compilations that finding the fastest shape needs besides."""
        if not self.has_choice(device):
            return []
        return [task for v in self.variants[1:] for task in v.prepare(device)]

    @property
    def has_shapes(self) -> bool:
        """Is there more than one shape?"""
        return len(self.variants) > 1

    def has_choice(self, device: int) -> bool:
        """Is it open which shape is fastest?"""
        return self.has_shapes and device not in self._best

    def chosen(self, device: int) -> int:
        """The number of the shape that runs on a device."""
        return self._best.get(device, 0)

    def choose(self, device: int, number: int) -> None:
        """Run a shape from now on.

        Raises
        ------
        ValueError
            When there is no such shape.
        """
        if not 0 <= number < len(self.variants):
            raise ValueError(f"shape {number} of {len(self.variants)}")
        self._best[device] = number

    def __call__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources
    ) -> list[Any]:
        given = list(inputs)
        for k in self._numbers:
            given[k] = as_argument(given[k])
        results = [
            resources.empty(node.shape, node.dtype) if out is None else out
            for out, node in zip(outputs, self._outputs, strict=True)
        ]
        if resources.measuring and self.has_choice(resources.device):
            self._measure(given, results, resources)
        best = self.variants[self._best.get(resources.device, 0)]
        best.run(given, results, resources)
        return results

    def _measure(self, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources) -> None:
        """Choose the fastest shape on these arrays among those that agree."""
        laps, samples = [], []
        for variant in self.variants:
            laps.append(_lap(variant, inputs, outputs, resources))
            samples.append(sample(outputs))
        wrong = outliers(samples)
        right = [k for k in range(len(laps)) if k not in wrong]
        self.laps[resources.device] = laps
        self._best[resources.device] = min(right, key=laps.__getitem__)


def _lap(
    variant: _Variant, inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources
) -> float:
    """Seconds of a variant: the fastest of a few runs after one."""
    variant.run(inputs, outputs, resources)
    return min(elapsed(lambda: variant.run(inputs, outputs, resources)) for _ in range(_LAPS))
