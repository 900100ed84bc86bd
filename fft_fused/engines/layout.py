"""Which values of a block are computed where, and for how long they live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expr.chain import Problem
from ..expr.index import AxisMap
from ..expr.node import Node
from ..expr.ops import OPS
from .forwarding import Forward, forwards

ALIASES = {"transpose", "reshape", "pairs", "unpair", "real", "imag", "broadcast_to"}
Reshaped = tuple[str, Any]


@dataclass(frozen=True)
class Layout:
    """``nodes`` in order and their ``place`` in it.

    ``targets`` says which value is computed straight into which result, ``reshaped`` how each
    result is seen for that; ``virtual`` values are never made, only read through their maps;
    ``forwards`` are values computed into a part of another; ``until`` is the place at which a
    value is last read, views of it included.
    """

    nodes: tuple[Node, ...]
    place: dict[int, int]
    targets: dict[int, int]
    reshaped: tuple[Reshaped, ...]
    virtual: frozenset[int]
    forwards: dict[int, Forward]
    until: dict[int, int]

    @property
    def forwarded_into(self) -> set[int]:
        """Values of which some part is computed in place."""
        return {id(f.target) for f in self.forwards.values()}

    def read(self, node: Node) -> tuple[Node, dict[int, AxisMap]]:
        """The computed value under virtual shifts, and the maps along its axes."""
        maps: dict[int, AxisMap] = {}
        while id(node) in self.virtual:
            axis, mapping, _ = node.attr
            maps[axis] = maps[axis].after(mapping) if axis in maps else mapping
            node = node.args[0]
        return node, maps

    def aliases(self, node: Node) -> bool:
        """Does the value lie in the memory of its argument?"""
        return _aliases(node, self.virtual)


def lay_out(problem: Problem, once: frozenset[int]) -> Layout:
    """Decide; ``once`` are values made before the block."""
    nodes = [n for n in problem.nodes if id(n) not in once and n.op != "const"]
    targets, reshaped, seen_through = _output_targets(problem, {id(n) for n in nodes})
    kept = tuple(n for n in nodes if id(n) not in seen_through)
    place = {id(n): p for p, n in enumerate(kept)}
    virtual = _virtual(problem, kept, place, targets)
    return Layout(
        kept,
        place,
        targets,
        reshaped,
        virtual,
        forwards(problem, place, set(targets) | virtual),
        _live_until(problem, kept, place, virtual),
    )


def _output_targets(
    problem: Problem, computed: set[int]
) -> tuple[dict[int, int], tuple[Reshaped, ...], set[int]]:
    """Which values go straight into a result, seen through a final transpose or reshape."""
    targets: dict[int, int] = {}
    reshaped: list[Reshaped] = []
    seen_through: set[int] = set()
    for k, output in enumerate(problem.outputs):
        node = output
        how: Reshaped = ("", None)
        arg = node.args[0] if node.args else node
        movable = (
            id(arg) in computed
            and len(problem.users[id(arg)]) == 1
            and arg not in problem.outputs
            and not problem.users[id(output)]
        )
        if node.op == "transpose" and movable:
            node, how = arg, ("transpose", tuple(np.argsort(node.attr).tolist()))
        elif node.op == "reshape" and movable:
            node, how = arg, ("reshape", arg.shape)
        if id(node) in computed and id(node) not in targets:
            targets[id(node)] = k
            if node is not output:
                seen_through.add(id(output))
        else:
            how = ("", None)
        reshaped.append(how)
    return targets, tuple(reshaped), seen_through


def _virtual(
    problem: Problem, nodes: tuple[Node, ...], place: dict[int, int], targets: dict[int, int]
) -> frozenset[int]:
    """Shifts that are only read by elementwise work and copies: they cost no copy."""
    found: set[int] = set()
    fixed = {id(o) for o in problem.outputs} | set(targets)
    for node in reversed(nodes):
        if node.op != "remap" or node.attr[1].is_slice or node.attr[1].fills:
            continue
        users = [u for u in problem.users[id(node)] if id(u) in place]
        reads = all(id(u) in found or _reads_by_parts(u) for u in users)
        if reads and len(node.attr[1].pieces) <= 3 and id(node) not in fixed:
            found.add(id(node))
    return frozenset(found)


def _reads_by_parts(node: Node) -> bool:
    """Can the node be computed box by box from shifted arguments?"""
    if node.op == "remap":
        return not node.attr[1].is_slice
    return OPS[node.op].kind == "elementwise" and node.op not in ("real", "imag")


def _aliases(node: Node, virtual: frozenset[int]) -> bool:
    if node.op == "remap":
        return bool(node.attr[1].is_slice) or id(node) in virtual
    return node.op in ALIASES and (
        node.op not in ("real", "imag") or node.args[0].dtype.kind == "c"
    )


def _live_until(
    problem: Problem, nodes: tuple[Node, ...], place: dict[int, int], virtual: frozenset[int]
) -> dict[int, int]:
    until: dict[int, int] = {}
    outputs = {id(o) for o in problem.outputs}
    for position in range(len(nodes) - 1, -1, -1):
        node = nodes[position]
        last = len(nodes) if id(node) in outputs else position
        for user in problem.users[id(node)]:
            if id(user) not in place:
                continue
            last = max(last, place[id(user)])
            if _aliases(user, virtual):
                last = max(last, until[id(user)])
        until[id(node)] = last
    return until
