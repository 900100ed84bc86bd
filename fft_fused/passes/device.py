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
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        done[id(node)] = _plain(fresh) if node.op == "dft" else fresh
    return normalize(replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs)))


def _plain(node: Node) -> Node:
    spec, (x,) = node.attr, node.args
    if spec.kind == "rfull":
        x, spec = build.astype(x, node.dtype), replace(spec, kind="c2c")
    if spec.kind == "c2r":
        x = _clean(x, spec.axis, spec.n)
    plain = replace(node, args=(x,), attr=replace(spec, scale=1.0))
    if spec.scale == 1.0:
        return plain
    factor = build.const(node.dtype.type(spec.scale))
    return build.elementwise("multiply", plain, factor)


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
