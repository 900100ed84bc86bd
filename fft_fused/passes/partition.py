"""Partition: a graph in normal form into steps, maps between transforms and reductions."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.chain import ANCHORS, Program, Step
from ..expr.node import Expr, Node, walk
from ..expr.ops import OPS


def partition(expr: Expr, loads: bool = False, tables: Sequence[Node] = ()) -> Program:
    """Steps in an order that can be run.

    Parameters
    ----------
    expr : Expr
        In normal form.
    loads : bool
        What a transform reads is a step of its own even where it depends on no anchor: for engines
        that only do plain transforms.
    tables : sequence of Node
        Values that depend on no anchor and are worth a step of their own, the first.

    Anchors (transforms, reductions, opaque calls) keep the order of the graph; every other value
    that depends on one belongs to the map just before its first use. Values that depend on no
    anchor belong to no step: whoever needs them computes them from the operands.
    """
    order = walk(expr.outputs)
    anchors = _in_order(order, chains=loads)
    position = {id(a): 2 * k + 1 for k, a in enumerate(anchors)}
    last = 2 * len(anchors)
    leaves = ("operand", "scalar", "const")
    depends = _anchored(order)
    place: dict[int, int] = {}
    for output in expr.outputs:
        place[id(output)] = last
    for node in reversed(order):
        mine = position.get(id(node), place.get(id(node), last))
        place[id(node)] = mine
        before = mine - 1 if id(node) in position else mine
        for arg in node.args:
            place[id(arg)] = min(place.get(id(arg), last), before)
    if loads:
        depends |= {id(a.args[0]) for a in anchors if a.op == "dft" and a.args[0].op not in leaves}
    pure_outputs = {id(o) for o in expr.outputs if id(o) not in depends and o.op not in leaves}
    own = set(map(id, tables))
    members: list[list[Node]] = [[] for _ in range(last + 1)]
    for node in order:
        if id(node) in position:
            members[position[id(node)]].append(node)
        elif id(node) in own:
            continue
        elif id(node) in depends or id(node) in pure_outputs:
            members[place[id(node)]].append(node)
    return _program(expr, members, set(position.values()), tables)


def _in_order(order: list[Node], chains: bool) -> list[Node]:
    """Anchors so that each comes after those it depends on.

    Transforms over one axis come together, for engines that fuse what lies between them; or with
    ``chains`` a transform of a transform comes right after it, for those that do both at once.
    """
    waiting: dict[int, set[int]] = {}
    anchors: list[Node] = []
    for node in order:
        needs: set[int] = set()
        for arg in node.args:
            needs |= {id(arg)} if OPS[arg.op].kind in ANCHORS else waiting[id(arg)]
        waiting[id(node)] = needs
        if OPS[node.op].kind in ANCHORS:
            anchors.append(node)
    done: set[int] = set()
    placed: list[Node] = []
    axis: tuple[int, int] | None = None
    while anchors:
        ready = [a for a in anchors if waiting[id(a)] <= done]
        if chains:
            wanted = [a for a in ready if placed and a.args[0] is placed[-1]]
        else:
            wanted = [a for a in ready if axis is not None and _axis(a) == axis]
        chosen = (wanted or ready)[0]
        anchors.remove(chosen)
        done.add(id(chosen))
        placed.append(chosen)
        axis = _axis(chosen) or axis
    return placed


def _axis(anchor: Node) -> tuple[int, int] | None:
    """The axis a transform needs whole, counted from the last."""
    return (anchor.ndim, anchor.attr.axis) if anchor.op == "dft" else None


def _anchored(order: list[Node]) -> set[int]:
    found: set[int] = set()
    for node in order:
        if OPS[node.op].kind in ANCHORS or any(id(a) in found for a in node.args):
            found.add(id(node))
    return found


def _program(
    expr: Expr, members: list[list[Node]], anchored: set[int], tables: Sequence[Node]
) -> Program:
    steps: list[Step] = [Step("table", tuple(tables))] if tables else []
    step_of: dict[int, int] = dict.fromkeys(map(id, tables), 0)
    for place, nodes in enumerate(members):
        if not nodes:
            continue
        kind = OPS[nodes[0].op].kind if place in anchored else "map"
        for node in nodes:
            step_of[id(node)] = len(steps)
        steps.append(Step(kind, tuple(nodes)))
    return Program(expr, tuple(steps), step_of)
