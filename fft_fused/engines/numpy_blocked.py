"""Engine ``numpy_blocked``: load work, transforms and store work on blocks that stay in cache.

A run of steps is computed block by block along its loops (batch axes, or the columns of a
transform over another axis), on threads; full-size values between the steps never exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from ..runtime.cost import LANES, node_seconds
from ..runtime.device import Resources
from ..runtime.machine import Machine
from ..runtime.threads import run_tasks, scratch
from . import Cost, Launch, Offer, Refusal
from .accumulators import identity, is_accumulated, keeps_summed_loop
from .blocking import Blocking, Extent, analyse, is_view
from .numpy_ops import node_function
from .schedule import Schedule, block_lengths, schedule
from .tape import Tape, write_tape

TARGET_BYTES = 1 << 18
TABLE_BYTES = 1 << 20
COLUMN_BYTES = 2 << 20
LANE_BYTES = 4 << 20
SMALL_WORK_BYTES = 1 << 17
_OPAQUE = {"matmul", "take", "cumsum"}


@dataclass(frozen=True, slots=True)
class _Detail:
    blocking: Blocking
    tables: frozenset[int]
    lengths: tuple[int, ...]
    block_bytes: int


class NumpyBlocked:
    """See the module."""

    name = "numpy_blocked"
    signature = f"numpy_blocked/1 numpy {np.__version__} scipy {scipy.__version__}"
    fits = None

    def available(self) -> str:
        """Always usable."""
        return ""

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """Refuses opaque calls, frames of computed values and empty arrays."""
        if machine.device != "cpu":
            return None
        refusal = _refusal(problem)
        if refusal is not None:
            return refusal
        tables = _tables(problem)
        blocking = analyse(problem, tables)
        sizes = _Sizes(problem, blocking)
        target = int(TARGET_BYTES * machine.block_scale)
        lengths = block_lengths(
            blocking.loops, sizes.largest, target, sizes.least_columns(), sizes.lanes()
        )
        detail = _Detail(blocking, tables, lengths, sizes.largest(lengths))
        cost = _cost(problem, detail, machine)
        return Offer(self.name, problem, cost, True, detail)

    def build(self, offer: Offer) -> Launch:
        """Generate the code of a block and the tasks."""
        problem, detail = offer.problem, offer.detail
        once = _once(problem, detail)
        tape = write_tape(problem, detail.blocking, once)
        plan = schedule(
            detail.blocking.loops,
            detail.blocking.reduced,
            detail.lengths,
            sum(o.nbytes for o in problem.outputs if is_accumulated(o, detail.blocking)),
        )
        run = _Runner(problem, detail, tape, plan, once)
        return Launch(self.name, problem, run, run.source(), offer.cost.workspace)


NUMPY_BLOCKED = NumpyBlocked()


def _refusal(problem: Problem) -> Refusal | None:
    name = NumpyBlocked.name
    views = {id(n) for n in problem.inputs}
    for node in problem.nodes:
        if node.op in _OPAQUE:
            return Refusal(name, problem, f"{node.op} runs on whole arrays", "compute it outside")
        if node.op == "frames" and id(node.args[0]) not in views:
            cure = "frame an input array, or call .compute() first"
            return Refusal(name, problem, "frames of a computed value", cure)
        if node.size == 0:
            return Refusal(name, problem, "an array is empty")
        if is_view(node, views):
            views.add(id(node))
    return None


def _tables(problem: Problem) -> frozenset[int]:
    """Values of constants and indices alone, small enough to be kept with the plan."""
    found: set[int] = set()
    for node in problem.nodes:
        if node.op == "const" or node.nbytes > TABLE_BYTES or id(node) in _ids(problem.outputs):
            continue
        known = bool(node.args) and all(id(a) in found or a.op == "const" for a in node.args)
        if node.op == "iota" or (known and OPS[node.op].kind != "opaque"):
            found.add(id(node))
    return frozenset(found)


def _ids(nodes: Sequence[Node]) -> set[int]:
    return {id(n) for n in nodes}


class _Sizes:
    """Bytes of the values of a block."""

    def __init__(self, problem: Problem, blocking: Blocking) -> None:
        self._problem, self._blocking = problem, blocking
        self._values = [
            (blocking.axes[id(n)], n.dtype.itemsize)
            for n in problem.nodes
            if id(n) not in blocking.views and (blocking.depends[id(n)] or not blocking.loops)
        ]

    def largest(self, lengths: tuple[int, ...]) -> int:
        """Of the largest value."""
        return max((block_size(a, lengths) * i for a, i in self._values), default=1)

    def least_columns(self) -> int:
        """Least block length of the innermost loop where it runs along adjacent memory."""
        loops = self._blocking.loops
        if not loops:
            return 1
        axes = self._blocking.axes
        adjacent = any(
            axes[id(n)] and axes[id(n)][-1].loop == len(loops) - 1
            for n in (*self._problem.inputs, *self._problem.outputs)
        )
        unit = self.largest((1,) * len(loops))
        return min(64, max(8, COLUMN_BYTES // unit)) if adjacent else 1

    def lanes(self) -> int:
        """Rows wanted in a block, so that transforms along the last axis run side by side."""
        ones = (1,) * len(self._blocking.loops)
        wanted = 1
        for node in self._problem.nodes:
            if node.op != "dft" or node.attr.axis != node.ndim - 1:
                continue
            rows = max(1, block_size(self._blocking.axes[id(node)], ones) // node.shape[-1])
            if rows < LANES and LANES * node.shape[-1] * node.dtype.itemsize <= LANE_BYTES:
                wanted = max(wanted, -(-LANES // rows))
        return wanted


def block_size(axes: tuple[Extent, ...], lengths: tuple[int, ...]) -> int:
    """Elements of a value in a block of these lengths."""
    return math.prod(
        e.size if e.loop is None else lengths[e.loop] + e.after - e.before for e in axes
    )


def _cost(problem: Problem, detail: _Detail, machine: Machine) -> Cost:
    """Traffic in and out, and the work of every value at the rate of the cache its block fits."""
    blocking, lengths = detail.blocking, detail.lengths
    blocks = math.prod(-(-n // m) for n, m in zip(blocking.loops, lengths, strict=True))
    lanes = max(1, min(machine.workers, blocks))
    working = 3 * detail.block_bytes
    rate = machine.rate(working)
    seconds = 0.0
    for node in problem.nodes:
        once = blocking.loops and not blocking.depends[id(node)] and OPS[node.op].kind != "reduce"
        if id(node) in blocking.views or node.op == "const" or once:
            continue
        worked = node.args[0] if OPS[node.op].kind == "reduce" else node
        elements = block_size(blocking.axes[id(worked)], lengths)
        rows = elements // worked.shape[-1] if worked.ndim else 1
        again = elements * blocks / worked.size
        share = machine.workers if blocks == 1 and node.op == "dft" and rows > 1 else lanes
        seconds += node_seconds(node, rate, rows) * max(1.0, again) / share
    outside = problem.bytes_read + problem.bytes_written
    seconds += outside / machine.memory_rate / lanes
    seconds += working * lanes / machine.fault_rate if working > machine.shared_cache else 0.0
    seconds += len(problem.nodes) * blocks * machine.call_seconds / lanes + 2e-5
    return Cost(problem.bytes_read, problem.bytes_written, 1, seconds, working * lanes)


def _once(problem: Problem, detail: _Detail) -> frozenset[int]:
    """Values made once a call: views, tables, and what depends on no loop."""
    blocking, outputs = detail.blocking, _ids(problem.outputs)
    once = set(blocking.views) | detail.tables
    for node in problem.nodes:
        if node.op == "const":
            continue
        invariant = not blocking.depends[id(node)] and all(
            id(a) in once or a.op == "const" for a in node.args
        )
        scalar_like = node.ndim == 0 and invariant
        if (blocking.loops and invariant or scalar_like) and id(node) not in outputs:
            once.add(id(node))
    return frozenset(once - {id(n) for n in problem.inputs})


class _Runner:
    """Runs the tasks of one problem. Immutable after construction but for per-thread arrays."""

    def __init__(
        self,
        problem: Problem,
        detail: _Detail,
        tape: Tape,
        plan: Schedule,
        once: frozenset[int],
    ) -> None:
        self._problem, self._tape, self._plan = problem, tape, plan
        self._block = tape.block
        self._accumulated = [
            o if is_accumulated(o, detail.blocking) else None for o in problem.outputs
        ]
        self._prologue = _Prologue(problem, tape.leaves, detail.tables, once)
        self._identities = [
            identity(o) if keeps_summed_loop(o, detail.blocking) else None for o in problem.outputs
        ]
        self._layouts = {
            lengths: _layout(tape, lengths)
            for lengths in {_lengths(b) for t in plan.tasks for b in t.blocks}
        }
        self._small = problem.bytes_read + problem.bytes_written < SMALL_WORK_BYTES

    def source(self) -> str:
        """The generated text, with what is computed before it."""
        tasks = self._plan.tasks
        count = sum(len(t.blocks) for t in tasks)
        head = [
            f"# {count} blocks of {self._plan.lengths or 'everything'} in {len(tasks)} tasks, "
            f"{self._plan.groups} partial sums",
            *(f"# L{i} = {line}" for i, line in enumerate(self._prologue.text)),
        ]
        return "\n".join(head) + "\n" + self._tape.source

    def __call__(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[np.ndarray | None],
        resources: Resources,
    ) -> list[np.ndarray]:
        leaves = self._prologue(inputs)
        results = [
            np.empty(node.shape, node.dtype) if out is None else out
            for node, out in zip(self._problem.outputs, outputs, strict=True)
        ]
        groups = self._targets(results)
        tasks = self._plan.tasks
        workers = resources.workers
        inner = workers if len(tasks) == 1 else 1

        def run(index: int) -> None:
            task = tasks[index]
            first = True
            for bounds in task.blocks:
                buffers = _arrays(self._layouts[_lengths(bounds)])
                self._block(leaves, buffers, groups[task.group], first, inner, *bounds)
                first = False

        run_tasks(len(tasks), run, 1 if self._small else workers)
        self._combine(groups)
        return results

    def _targets(self, outputs: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Result arrays per partial sum, as the block code wants them."""
        count = self._plan.groups
        groups: list[list[np.ndarray]] = [[] for _ in range(count)]
        for out, node, start, (how, argument) in zip(
            outputs, self._accumulated, self._identities, self._tape.reshaped, strict=True
        ):
            if how:
                out = getattr(out, how)(argument)
            for g in range(count):
                fresh = node is not None and g > 0
                target = np.empty(out.shape, out.dtype) if fresh else out
                if start is not None:
                    target[...] = start
                groups[g].append(target)
        return groups

    def _combine(self, groups: list[list[np.ndarray]]) -> None:
        for k, node in enumerate(self._accumulated):
            if node is None:
                continue
            ufunc = COMMUTATIVE_REDUCTIONS[node.op]
            for group in groups[1:]:
                ufunc(groups[0][k], group[k], out=groups[0][k])


def _lengths(bounds: Sequence[int]) -> tuple[int, ...]:
    return tuple(hi - lo for lo, hi in zip(bounds[::2], bounds[1::2], strict=True))


_Layout = tuple[int, tuple[tuple[tuple[int, ...], np.dtype, int], ...]]


def _layout(tape: Tape, lengths: tuple[int, ...]) -> _Layout:
    """Total bytes, and shape, dtype and offset of every buffer for blocks of these lengths."""
    starts: dict[int, int] = {}
    total = 0
    rows = []
    for buffer in tape.buffers:
        shape = buffer.shape(lengths)
        if buffer.region not in starts:
            starts[buffer.region] = total
            nbytes = math.prod(shape) * buffer.dtype.itemsize
            total += -(-nbytes // 64) * 64 + 64
        rows.append((shape, buffer.dtype, starts[buffer.region]))
    return total, tuple(rows)


def _arrays(layout: _Layout) -> list[np.ndarray]:
    total, rows = layout
    if not rows:
        return []
    memory = scratch(total)
    return [np.ndarray(shape, dtype, memory, offset) for shape, dtype, offset in rows]


class _Prologue:
    """What is computed once a call: a list of small steps over numbered values."""

    def __init__(
        self,
        problem: Problem,
        leaves: Sequence[Node],
        tables: frozenset[int],
        once: frozenset[int],
    ) -> None:
        slots = {id(n): i for i, n in enumerate(problem.inputs)}
        values: list[Any] = [None] * len(problem.inputs)
        steps = []
        needed = _needed(problem, leaves, once, tables)
        for node in problem.nodes:
            if node.op == "const" and id(node) in needed:
                slots[id(node)] = len(values)
                values.append(node.attr.value)
            elif id(node) in tables and id(node) in needed:
                slots[id(node)] = len(values)
                args = [values[slots[id(a)]] for a in node.args]
                with np.errstate(all="ignore"):
                    values.append(np.asarray(node_function(node)(*args)))
            elif id(node) in needed and id(node) not in slots:
                slots[id(node)] = len(values)
                values.append(None)
                steps.append(
                    (node_function(node), tuple(slots[id(a)] for a in node.args), slots[id(node)])
                )
        self._values, self._steps = values, tuple(steps)
        self._count = len(problem.inputs)
        self._leaves = tuple(slots[id(n)] for n in leaves)
        self.text = [str(n) if id(n) not in tables else f"table {n}" for n in leaves]

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        values = self._values.copy()
        values[: self._count] = inputs
        for function, args, target in self._steps:
            values[target] = function(*[values[a] for a in args])
        return [values[i] for i in self._leaves]


def _needed(
    problem: Problem, leaves: Sequence[Node], once: frozenset[int], tables: frozenset[int]
) -> set[int]:
    needed = {id(n) for n in leaves}
    for node in reversed(problem.nodes):
        if id(node) in needed and (id(node) in once or id(node) in tables):
            needed |= {id(a) for a in node.args}
    return needed
