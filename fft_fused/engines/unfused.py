"""Engine ``unfused``: every node is one NumPy call, as the user would have typed it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy

from ..expr.chain import Problem
from ..expr.key import numpy_key
from ..expr.node import Constant, Expr, Node, walk
from ..expr.ops import VIEWS
from ..runtime import device_cost
from ..runtime.arrays import copy_with_layout, module_of
from ..runtime.cost import node_seconds, touched_bytes
from ..runtime.device import Resources, after_other_streams
from ..runtime.machine import Machine
from . import Cost, Launch, Offer
from .numpy_ops import node_function

_MAYBE_VIEWS = VIEWS | {"remap"}
_MAY_ALIAS = _MAYBE_VIEWS | {"call"}  # a user's function may return its argument


def evaluate(
    expr: Expr, arrays: Sequence[Any], scalars: Sequence[Any] = (), double: bool = False
) -> tuple[np.ndarray, ...]:
    """Compute the outputs node by node; intermediates are freed at their last use.

    Parameters
    ----------
    expr : Expr
        As recorded or in normal form.
    arrays : sequence of ndarray
        One for each operand slot.
    scalars : sequence of float or complex
        One for each scalar slot.
    double : bool
        Compute in float64 and complex128 whatever the dtypes: the oracle.

    Returns
    -------
    tuple of ndarray
        Never views of ``arrays``.
    """
    if double:
        expr = _widened(expr)
        on_host = expr.device == "cpu"
        arrays = [
            copy_with_layout(a, _wide(a.dtype)) if on_host else a.astype(_wide(a.dtype))
            for a in arrays
        ]
    nodes = walk(expr.outputs)
    leaves = {
        id(n): arrays[n.attr] if n.op == "operand" else scalars[n.attr]
        for n in nodes
        if n.op in ("operand", "scalar")
    }
    xp = module_of(expr.device)
    run = Steps([n for n in nodes if id(n) not in leaves], expr.outputs, xp)
    return tuple(
        _owned(xp.asarray(v, o.dtype), [*arrays], xp)
        for v, o in zip(run(leaves), expr.outputs, strict=True)
    )


def _owned(value: Any, arrays: Sequence[Any], xp: Any) -> Any:
    aliases = not value.flags.c_contiguous or any(
        xp.may_share_memory(value, a) for a in arrays if isinstance(a, xp.ndarray)
    )
    writeable = xp is not np or value.flags.writeable
    return value if writeable and not aliases else value.copy("C")


def _placed(value: Any, out: Any, inputs: Sequence[Any], xp: Any) -> Any:
    if out is None:
        return _owned(value, inputs, xp)
    xp.copyto(out, value)
    return out


@dataclass(frozen=True, slots=True)
class _Step:
    node: Node
    call: Callable[..., Any]
    in_place: tuple[Any, ...] | None  # key of an update whose base may be overwritten
    dead: tuple[int, ...]  # ids of values last used here


class Steps:
    """Nodes as a list of calls with what may be freed after each."""

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Node], xp: Any = np) -> None:
        self.nodes, self.outputs = tuple(nodes), tuple(outputs)
        self._in_turn = nullcontext if xp is np else after_other_streams
        self._made = {id(n) for n in nodes if n.op != "const"}
        last = {id(o): -1 for o in outputs}
        dead: dict[int, list[int]] = {}
        for place in range(len(nodes) - 1, -1, -1):
            for arg in nodes[place].args:
                if id(arg) not in last:
                    last[id(arg)] = place
                    dead.setdefault(place, []).append(id(arg))
        self.steps = tuple(
            _Step(n, node_function(n, xp), self._base_key(n, i, last), tuple(dead.get(i, ())))
            for i, n in enumerate(nodes)
        )

    def _base_key(self, node: Node, place: int, last: dict[int, int]) -> tuple[Any, ...] | None:
        """An update may write into its base: a value of its own memory that nothing else reads."""
        base = node.args[0] if node.op == "update" else None
        if base is None or base.ndim == 0 or base.op in _MAY_ALIAS or id(base) not in self._made:
            return None
        aliases = {id(base)}
        for other in self.nodes:
            if other.op in _MAY_ALIAS and any(id(a) in aliases for a in other.args):
                aliases.add(id(other))
        alive = any(last.get(i, place) >= place or last[i] < 0 for i in aliases - {id(base)})
        return numpy_key(node.attr) if last[id(base)] == place and not alive else None

    def __call__(self, leaves: dict[int, Any]) -> list[Any]:
        with self._in_turn():
            return self._results(dict(leaves))

    def _results(self, values: dict[int, Any]) -> list[Any]:
        for step in self.steps:
            args = [values[id(a)] for a in step.node.args]
            if step.in_place is not None:
                args[0][step.in_place] = args[1]
                values[id(step.node)] = args[0]
            else:
                values[id(step.node)] = step.call(*args)
            args.clear()
            for name in step.dead:
                del values[name]
        return [values[id(o)] for o in self.outputs]


class Unfused:
    """See the module."""

    name = "unfused"
    signature = f"unfused/1 numpy {np.__version__} scipy {scipy.__version__}"
    fits = None

    def available(self) -> str:
        """Always usable."""
        return ""

    def offer(self, problem: Problem, machine: Machine) -> Offer:
        """Anything, every value through memory."""
        moved = seconds = 0.0
        on_device = machine.device != "cpu"
        for node in problem.nodes:
            slices = node.op == "remap" and node.attr[1].is_slice
            if node.op in VIEWS or slices or node.op == "const":
                continue
            traffic = node.nbytes + sum(touched_bytes(a) for a in node.args)
            moved += traffic
            if on_device:
                passes = 4 if node.op in ("dft", "transform") else 1
                seconds += passes * traffic / device_cost.KERNEL_RATE + 2 * device_cost.CALL
            else:
                seconds += node_seconds(node, machine.rate(traffic)) + machine.call_seconds
        for output in problem.outputs if on_device else ():
            if output.op in _MAYBE_VIEWS:  # a result has memory of its own
                seconds += 2 * output.nbytes / device_cost.KERNEL_RATE + device_cost.CALL
        cost = Cost(int(moved), 0, len(problem.nodes), seconds)
        return Offer(self.name, problem, cost, fused=False)

    def build(self, offer: Offer) -> Launch:
        """A list of calls."""
        problem = offer.problem
        device = problem.operands[0].device if problem.operands else "cpu"
        numbers = [id(n) for n in problem.inputs]

        @cache
        def steps() -> Steps:
            return Steps(problem.nodes, problem.outputs, module_of(device))

        if device == "cpu":
            steps()

        def run(inputs: Sequence[Any], outputs: Sequence[Any], resources: Resources) -> list[Any]:
            xp = module_of(device)
            results = steps()(dict(zip(numbers, inputs, strict=True)))
            return [
                _placed(xp.asarray(value, node.dtype), out, inputs, xp)
                for value, node, out in zip(results, problem.outputs, outputs, strict=True)
            ]

        text = "\n".join(str(n) for n in problem.nodes) + "\n"
        return Launch(self.name, problem, run, text)


UNFUSED = Unfused()

_WIDE = {"f": np.dtype("f8"), "c": np.dtype("c16")}


def _wide(dtype: np.dtype) -> np.dtype:
    return _WIDE[dtype.kind] if dtype.kind in "fc" and dtype.char not in "gG" else dtype


def _widened(expr: Expr) -> Expr:
    """The same graph with every float in double precision, operands C-contiguous."""
    done: dict[int, Node] = {}
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        done[id(node)] = _widened_node(node, args)
    return replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs))


def _widened_node(node: Node, args: tuple[Node, ...]) -> Node:
    dtype, attr = _wide(node.dtype), node.attr
    match node.op:
        case "const" if not node.weak:
            attr = Constant.of(dtype.type(node.attr.value))
        case "pad":
            attr = (attr[0], Constant.of(dtype.type(attr[1].value)))
        case "remap" if attr[2] is not None:
            attr = (*attr[:2], Constant.of(dtype.type(attr[2].value)))
        case "frames":
            attr = _widened_frames(node, dtype)
        case "sum" | "mean" | "prod" if attr[2]:
            attr = (*attr[:2], _wide(np.dtype(attr[2])).str, attr[3])
    return Node(node.op, args, attr, node.shape, dtype, node.weak)


def _widened_frames(node: Node, dtype: np.dtype) -> tuple[Any, ...]:
    shape, strides, of_memory = node.attr
    ratio = operator.floordiv(dtype.itemsize, node.dtype.itemsize)
    return shape, tuple(s * ratio for s in strides), of_memory
