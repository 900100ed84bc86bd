"""What a library FFT needs: no scale, no real-to-full transforms, clean half spectra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.node import Expr, Node, walk
from .normalize import normalize


def for_library(expr: Expr) -> Expr:
    """The same values with transforms a GPU library does as they are.

    Scales become multiplications in the maps after the transforms, which cost no pass of their own;
    ``rfull`` becomes a complex transform; the imaginary parts of the DC and Nyquist bins, which
    count for nothing in NumPy but not in every library, are dropped before ``c2r``.
    """
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
        if factor != 1.0:
            number = build.const(fresh.dtype.type(factor))
            whole = build.elementwise("multiply", fresh, number)
            scaled[id(whole)] = (fresh, factor)
            fresh = whole
        done[id(node)] = fresh
    outputs = tuple(done[id(o)] for o in expr.outputs)
    return normalize(replace(expr, outputs=outputs), prune=False)


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
