"""Record: from user code, or from lazy arrays, to a closed graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..expr.memory import c_strides
from ..expr.node import ArraySpec, Expr, Node, Source, walk

_Key = tuple[int, bool]


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
    slots: dict[_Key, int] = {}
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
    device = _common_device(sources)
    specs = tuple(_placed(s, device, done.values()) for s in sources)
    scalars = tuple(kinds.get(i, np.dtype("f8")) for i in range(max(kinds, default=-1) + 1))
    expr = Expr(
        tuple(done[id(o)] for o in outputs),
        specs,
        scalars,
        _names(sources),
    )
    return expr, tuple(sources)


def _common_device(sources: Sequence[Source]) -> str:
    """Where an expression is computed: the device of all arrays that do not go along.

    Raises
    ------
    TypeError
        When there is more than one, or arrays of more than one library.
    """
    fixed = [s for s in sources if not s.goes_along]
    for other in fixed[1:]:
        first = fixed[0]
        if other.spec.device != first.spec.device:
            raise TypeError(
                f"arrays on different devices in one expression: {first} is on "
                f"{first.spec.device}, {other} on {other.spec.device}; "
                f"move one{_way(first, other)}"
            )
        if other.library != first.library:
            raise TypeError(
                f"arrays of different libraries in one expression: {first} is from "
                f"{_library(first)}, {other} from {_library(other)}; convert one, as by from_dlpack"
            )
    return fixed[0].spec.device if fixed else "cpu"


def library_of(sources: Iterable[Source]) -> str:
    """The library that results are handed over to; empty for NumPy and CuPy.

    That of the arrays; that of the numbers where there are no arrays.
    """
    return next((s.library for s in sorted(sources, key=lambda s: s.goes_along)), "")


def _way(first: Source, other: Source) -> str:
    on_host = next((s for s in (first, other) if s.spec.device == "cpu"), None)
    if on_host is None:
        return f", as by cupy.asarray within cupy.cuda.Device({first.spec.device[5:]})"
    name = on_host.name or "table"
    return (
        f": cupy.asarray({name}) before the call, or fft_fused.xp.asarray({name}) in the "
        "expression, which copies at every call"
    )


def _library(source: Source) -> str:
    return source.library or ("NumPy" if source.spec.device == "cpu" else "CuPy")


def _placed(source: Source, device: str, nodes: Iterable[Node]) -> ArraySpec:
    """The array where it is computed with: what is copied there is in C order.

    Raises
    ------
    TypeError
        When frames are made of its memory, and that is in another order.
    """
    spec = source.spec
    if spec.device == device:
        return spec
    copied = replace(spec, device=device, strides=c_strides(spec.shape, spec.dtype.itemsize))
    if copied.strides != spec.strides and any(n.op == "frames" and n.attr[2] for n in nodes):
        raise TypeError(
            f"as_strided: {source} is copied to {device} in C order and does not lie in memory "
            "like that; use numpy.ascontiguousarray first"
        )
    return copied


def _slotted(
    node: Node, slots: dict[_Key, int], sources: list[Source], done: dict[int, Node]
) -> Node:
    source: Source = node.attr
    key = (id(source if source.array is None else source.array), source.portable)
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
