"""Programs: a graph in normal form cut into steps, and runs of steps as problems."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .node import ArraySpec, Expr, Node, short_dtype, walk
from .ops import OPS

ANCHORS = ("transform", "reduce", "opaque")


@dataclass(frozen=True, slots=True)
class Step:
    """A map (elementwise and index work), a transform, a reduction, an opaque call; or small tables
    that are computed once because much larger values read them."""

    kind: str
    nodes: tuple[Node, ...]

    def __str__(self) -> str:
        if self.kind in ("map", "table"):
            return " > ".join(n.op for n in self.nodes)
        node = self.nodes[0]
        detail = "" if node.attr is None else f"[{node.attr}]"
        if self.kind == "reduce":
            detail = f"[axis={', '.join(map(str, node.attr[0]))}]"
        return f"{node.op}{detail}"


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in order; ``step_of`` says where a node is computed (None: wherever it is needed)."""

    expr: Expr
    steps: tuple[Step, ...]
    step_of: dict[int, int]

    def __str__(self) -> str:
        lines = []
        for i, step in enumerate(self.steps):
            last = step.nodes[-1]
            shape = f"{short_dtype(last.dtype)}{list(last.shape)}".replace(" ", "")
            lines.append(f"{i:2d}  {step.kind:9s} {step}  -> {shape}")
        return "\n".join(lines)

    def problem(self, first: int, stop: int) -> Problem:
        """The run of steps ``first .. stop - 1`` as a problem of its own."""
        own = {id(n) for step in self.steps[first:stop] for n in step.nodes}
        later = {id(o) for o in self.expr.outputs}
        for step in self.steps[stop:]:
            for node in step.nodes:
                later |= {id(a) for a in self._reach(node)}
        outputs, inside = [], []
        boundary: dict[int, Node] = {}
        for step in self.steps[first:stop]:
            for node in step.nodes:
                if id(node) in later:
                    outputs.append(node)
        for node in walk_until(outputs, lambda n: self._is_boundary(n, own)):
            if self._is_boundary(node, own):
                boundary[id(node)] = node
            else:
                inside.append(node)
        dying = {i for i, n in boundary.items() if n.op not in ("operand", "scalar")} - later
        return Problem(
            tuple(outputs),
            tuple(boundary.values()),
            tuple(inside),
            (first, stop),
            self.expr.operands,
            frozenset(dying),
        )

    def _is_boundary(self, node: Node, own: set[int]) -> bool:
        if node.op in ("operand", "scalar"):
            return True
        return id(node) not in own and id(node) in self.step_of

    def _reach(self, node: Node) -> list[Node]:
        """Arguments of a node, looking through values that are recomputed where needed."""
        found: list[Node] = []
        stack = list(node.args)
        while stack:
            arg = stack.pop()
            if id(arg) in self.step_of:
                found.append(arg)
            else:
                stack += arg.args
        return found


@dataclass(frozen=True)
class Problem:
    """A run of steps as an engine sees it: a graph from ``inputs`` to ``outputs``.

    ``nodes`` are the computed ones, arguments first; ``inputs`` are operands, scalars and values of
    earlier runs; ``dying`` are those of the latter that nothing needs afterwards.
    """

    outputs: tuple[Node, ...]
    inputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    span: tuple[int, int]
    operands: tuple[ArraySpec, ...] = ()
    dying: frozenset[int] = frozenset()

    @cached_property
    def users(self) -> dict[int, list[Node]]:
        """``id(node) -> users inside this problem``."""
        users: dict[int, list[Node]] = {id(n): [] for n in (*self.inputs, *self.nodes)}
        for node in self.nodes:
            for arg in node.args:
                users[id(arg)].append(node)
        return users

    @cached_property
    def anchors(self) -> tuple[Node, ...]:
        """Transforms, reductions and opaque calls."""
        return tuple(n for n in self.nodes if OPS[n.op].kind in ANCHORS)

    def alignment(self, node: Node) -> int:
        """Of the address of an input; that of an earlier value is as good as any."""
        return self.operands[node.attr].alignment if node.op == "operand" else 16

    @property
    def bytes_read(self) -> int:
        return sum(n.nbytes for n in self.inputs)

    @property
    def bytes_written(self) -> int:
        return sum(n.nbytes for n in self.outputs)


def walk_until(outputs: tuple[Node, ...] | list[Node], stop) -> list[Node]:  # type: ignore[no-untyped-def]
    """Like ``walk``, not looking below nodes for which ``stop`` holds."""
    order: list[Node] = []
    done: set[int] = set()
    for output in outputs:
        stack: list[tuple[Node, bool]] = [(output, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
                continue
            if id(node) in done:
                continue
            done.add(id(node))
            stack.append((node, True))
            if not stop(node):
                stack += [(a, False) for a in reversed(node.args) if id(a) not in done]
    return order


__all__ = ["Problem", "Program", "Step", "walk", "walk_until"]
