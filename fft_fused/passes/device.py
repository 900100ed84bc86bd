"""What a library FFT needs: no scale, no real-to-full transforms, clean half spectra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.node import Expr, Node, consumers, walk
from ..expr.spectrum import REAL_TO_REAL
from .cosine import as_fourier
from .normalize import normalize

MOST_CALLS = 8  # of a library transform, over columns side by side


def for_library(expr: Expr) -> Expr:
    """The same values with transforms a GPU library does as they are.

    Scales become multiplications in the maps after the transforms, which cost no pass of their own;
    ``rfull`` becomes a complex transform; the imaginary parts of the DC and Nyquist bins, which
    count for nothing in NumPy but not in every library, are dropped before ``c2r``.
    """
    expr = normalize(without_cosines(expr), prune=False)
    together = _together(expr)
    done: dict[int, Node] = {}
    scaled: dict[int, tuple[Node, float]] = {}  # values that are a plain one times a number
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        factor = 1.0
        if _is_linear(fresh) and id(fresh.args[0]) in scaled:
            plain, factor = scaled[id(fresh.args[0])]
            fresh = replace(fresh, args=(plain,))
        if node.op == "dft":
            factor *= node.attr.scale
            fresh = _plain(fresh)
            fresh = fresh if id(node) in together else _along_rows(fresh)
        if factor != 1.0:
            number = build.const(fresh.dtype.type(factor))
            whole = build.elementwise("multiply", fresh, number)
            scaled[id(whole)] = (fresh, factor)
            fresh = whole
        done[id(node)] = fresh
    outputs = tuple(done[id(o)] for o in expr.outputs)
    return normalize(replace(expr, outputs=outputs), prune=False)


def without_cosines(expr: Expr) -> Expr:
    """Cosine and sine transforms by Fourier transforms."""
    done: dict[int, Node] = {}
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        cosine = node.op == "transform" and node.attr.name in REAL_TO_REAL
        done[id(node)] = as_fourier(fresh) if cosine else fresh
    return replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs))


def _together(expr: Expr) -> set[int]:
    """Transforms over the trailing axes, one after the other, that a library does in one call."""
    users = consumers(expr.outputs)
    found: set[int] = set()
    for node in walk(expr.outputs):
        if node.op != "dft":
            continue
        chain = [node]
        while (below := chain[-1].args[0]).op == "dft" and len(users[id(below)]) == 1:
            chain.append(below)
        if is_one_call(list(reversed(chain))):
            found |= {id(n) for n in chain}
    return found


def is_one_call(nodes: Sequence[Node]) -> bool:
    """Complex transforms in one direction over the trailing axes, each once, or the same after a
    real transform over the last axis; in the order they are computed."""
    first, ndim = nodes[0].attr, nodes[0].ndim
    real = first.kind == "r2c" and first.axis == ndim - 1
    rest = nodes[1:] if real else nodes
    alike = all(n.attr.kind == "c2c" and n.attr.sign == first.sign for n in rest)
    axes = sorted(n.attr.axis for n in nodes)
    return alike and len(nodes) in (2, 3) and axes == list(range(ndim - len(nodes), ndim))


def _along_rows(node: Node) -> Node:
    """A transform over a middle axis as one over the last: the transposes belong to the maps around
    it. Few calls side by side need none."""
    spec, last = node.attr, node.ndim - 1
    if spec.axis == last or math.prod(node.shape[: spec.axis]) <= MOST_CALLS:
        return node
    order = list(range(node.ndim))
    order[spec.axis], order[last] = last, spec.axis
    rows = build.transpose(node.args[0], order)
    shape = tuple(node.shape[a] for a in order)
    moved = replace(node, args=(rows,), attr=replace(spec, axis=last), shape=shape)
    return build.transpose(moved, order)


def _is_linear(node: Node) -> bool:
    """Does a factor of the argument come out unchanged?"""
    if node.op == "remap":
        fill = node.attr[2]
        return fill is None or fill.value == 0
    return node.op == "dft"


def _plain(node: Node) -> Node:
    spec, (x,) = node.attr, node.args
    if spec.kind == "rfull":
        x, spec = build.astype(x, node.dtype), replace(spec, kind="c2c")
    if spec.kind == "c2r":
        x = _clean(x, spec.axis, spec.n)
    return replace(node, args=(x,), attr=replace(spec, scale=1.0))


def _clean(x: Node, axis: int, n: int) -> Node:
    """Real DC and Nyquist bins along the halved axis."""
    count = x.shape[axis]
    k = build.iota(0, 1, count, np.dtype("i4"))
    edge = build.elementwise("equal", k, build.const(np.int32(0)))
    if n % 2 == 0 and n > 1:
        nyquist = build.elementwise("equal", k, build.const(np.int32(n // 2)))
        edge = build.elementwise("logical_or", edge, nyquist)
    shape = tuple(count if a == axis else 1 for a in range(x.ndim))
    real = build.astype(build.elementwise("real", x), x.dtype)
    return build.elementwise("where", build.reshape(edge, shape), real, x)
