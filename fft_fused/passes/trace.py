"""Record: from user code, or from lazy arrays, to a closed graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..expr.node import Expr, Node, Source, walk


def collect(nodes: Iterable[Node]) -> tuple[Expr, tuple[Source, ...]]:
    """Close a graph: leaves become numbered operand slots.

    Parameters
    ----------
    nodes : iterable of Node
        The wanted values.

    Returns
    -------
    Expr
        Operand leaves carry slot numbers. Leaves for one array are one slot.
    tuple of Source
        What each slot stands for.
    """
    outputs = tuple(nodes)
    on_host = all(n.attr.spec.device == "cpu" for n in walk(outputs) if n.op == "operand")
    done: dict[int, Node] = {}
    slots: dict[int, int] = {}
    sources: list[Source] = []
    kinds: dict[int, np.dtype] = {}
    for node in walk(outputs):
        if node.op == "operand":
            done[id(node)] = _slotted(node, slots, sources, done)
            continue
        if node.op == "scalar":
            kinds[node.attr] = node.dtype
        args = tuple(done[id(a)] for a in node.args)
        same = all(a is b for a, b in zip(args, node.args, strict=True))
        done[id(node)] = node if same else replace(node, args=args)
        if node.op == "call" and not on_host:
            done[id(node)] = replace(done[id(node)], attr=node.attr.on_device())
    _check_devices(sources)
    scalars = tuple(kinds.get(i, np.dtype("f8")) for i in range(max(kinds, default=-1) + 1))
    expr = Expr(
        tuple(done[id(o)] for o in outputs),
        tuple(s.spec for s in sources),
        scalars,
        _names(sources),
    )
    return expr, tuple(sources)


def _check_devices(sources: Iterable[Source]) -> None:
    places = {s.spec.device: s for s in sources}
    if len(places) > 1:
        (first, a), (second, b) = list(places.items())[:2]
        raise TypeError(
            f"arrays on different devices in one expression: {a.name or 'one'} is on {first}, "
            f"{b.name or 'one'} on {second}; move one, as by cupy.asarray"
        )


def _slotted(
    node: Node, slots: dict[int, int], sources: list[Source], done: dict[int, Node]
) -> Node:
    source: Source = node.attr
    key = id(source) if source.array is None else id(source.array)
    if key in slots and sources[slots[key]].spec == source.spec:
        slot = slots[key]
    else:
        slot = slots[key] = len(sources)
        sources.append(source)
    known = done.get(-1 - slot)
    if known is None:
        known = done[-1 - slot] = Node("operand", (), slot, node.shape, node.dtype)
    return known


def _names(sources: Iterable[Source]) -> tuple[str, ...]:
    """Distinct printable names, ``x0, x1, ...`` for the nameless."""
    names: list[str] = []
    for i, source in enumerate(sources):
        name = source.name or f"x{i}"
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def arrays_of(sources: Iterable[Source]) -> list[Any]:
    """The arrays of leaves that carry one."""
    return [s.array for s in sources]
