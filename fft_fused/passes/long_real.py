"""Long real transforms by complex ones of half the length, pairs of reals as complex numbers.

With ``z[j] = x[2j] + 1j * x[2j + 1]``, its transform Z of length m = n / 2, and M[k] the conjugate
of Z[m - k], the spectrum is ``X = (Z + M - 1j * exp(-2j pi k / n) * (Z - M)) / 2``; and back alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.index import AxisMap, Piece
from ..expr.node import Node
from .device import hermitian
from .surface import remap


def has_half_length(node: Node) -> bool:
    """Is it a real transform that ``by_half_length`` takes?"""
    spec = node.attr
    return spec.kind in _FORMS and spec.axis == node.ndim - 1 and spec.n % 4 == 0


def by_half_length(node: Node) -> Node:
    """The value of a real transform along the last axis, of a length that is a multiple of 4."""
    return _FORMS[node.attr.kind](node)


def _spectrum(node: Node) -> Node:
    """``r2c``."""
    spec, m = node.attr, node.attr.n // 2
    z = build.view(node.args[0], node.dtype)
    half = replace(spec, kind="c2c", n=m)
    spectrum = Node("dft", (z,), half, z.shape, node.dtype)
    own, mirrored = (
        remap(spectrum, spec.axis, AxisMap(m, pieces))
        for pieces in ((Piece(m, 0), Piece(1, 0)), (Piece(1, 0), Piece(m, m - 1, -1)))
    )
    both = _tangled(own, mirrored, spec.sign, spec.n)
    return build.elementwise("multiply", both, build.const(node.dtype.type(0.5)))


def _samples(node: Node) -> Node:
    """``c2r``, without the scale of an inverse."""
    spec, m = node.attr, node.attr.n // 2
    x = node.args[0] if spec.is_mended else hermitian(node.args[0], [node])
    own, mirrored = (
        remap(x, spec.axis, AxisMap(m + 1, (piece,))) for piece in (Piece(m, 0), Piece(m, m, -1))
    )
    spectrum = _tangled(own, mirrored, spec.sign, spec.n)
    half = replace(spec, kind="c2c", n=m, is_mended=False)
    return build.view(Node("dft", (spectrum,), half, spectrum.shape, x.dtype), node.dtype)


def _tangled(own: Node, mirrored: Node, sign: int, n: int) -> Node:
    """``own + conj(mirrored) + sign * 1j * exp(sign * 2j pi k / n) * (own - conj(mirrored))``."""
    mirrored = build.elementwise("conjugate", mirrored)
    k = build.iota(n // 4, 1, own.shape[-1], np.dtype("i4"))  # a quarter turn is in the root
    root = build.root(k, build.const(np.int32(1)), sign, n, own.dtype)
    difference = build.elementwise("subtract", own, mirrored)
    total = build.elementwise("add", own, mirrored)
    return build.elementwise("add", total, build.elementwise("multiply", difference, root))


_FORMS = {"r2c": _spectrum, "c2r": _samples}
