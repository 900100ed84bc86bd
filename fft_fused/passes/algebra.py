"""Algebraic rules: each takes a node in normal form and returns a better one, or None.

Every rule is exact, or within the rounding of the expression it replaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.node import Node
from ..expr.ops import OPS, is_elementwise

_MAX_FOLD_TEXT = 64
_INTEGERS_IN_SINGLE = 1 << 24
_EXPONENT_IN_SINGLE = 100


def fold_constants(node: Node) -> Node | None:
    """An operation on constants is a constant."""
    if not is_elementwise(node.op) or not node.args or any(a.op != "const" for a in node.args):
        return None
    values = [a.attr.value for a in node.args]
    with np.errstate(all="ignore"):
        if node.op == "astype":
            return build.const(node.dtype.type(values[0]))
        function = OPS[node.op].numpy
        if function is None:
            return None
        return build.const(np.asarray(function(*values)).astype(node.dtype)[()])


def drop_trivial(node: Node) -> Node | None:
    """positive(x), real(x) of a real x, astype to the own dtype, astype of a constant."""
    match node:
        case Node("positive", (x,)):
            return x
        case Node("real", (x,)) if x.dtype == node.dtype:
            return x
        case Node("conjugate", (x,)) if x.dtype.kind != "c":
            return x
        case Node("astype", (x,)) if x.dtype == node.dtype and not x.weak:
            return x
        case Node("broadcast_to", (x,)) if x.shape == node.shape:
            return x
    return None


def imag_of_real(node: Node) -> Node | None:
    """imag(x) of a real x -> zeros."""
    match node:
        case Node("imag", (x,)) if x.dtype.kind != "c":
            return build.broadcast_to(build.const(node.dtype.type(0)), node.shape)
    return None


def drop_double(node: Node) -> Node | None:
    """conj(conj(x)) -> x, -(-x) -> x for floats."""
    match node:
        case Node("conjugate", (Node("conjugate", (x,)),)):
            return x
        case Node("negative", (Node("negative", (x,)),)) if node.dtype.kind in "fc":
            return x
    return None


def power_shortcut(node: Node) -> Node | None:
    """x**2 -> square, x**1 -> x, x**0.5 -> sqrt, x**-1 -> 1/x: what NumPy's ``**`` does."""
    if node.op != "power" or node.args[1].op != "const" or node.dtype.kind not in "fc":
        return None
    x, exponent = node.args[0], node.args[1].attr.value
    named = {2: "square", 0.5: "sqrt", -1: "reciprocal", 1: "positive"}
    name = next((op for e, op in named.items() if exponent == e), None)
    return None if name is None else replace(node, op=name, args=(x,))


def square_of_modulus(node: Node) -> Node | None:
    """abs(z)**2 and abs(z)*abs(z) -> abs2(z)."""
    match node:
        case Node("square", (Node("absolute", (z,)),)) if z.dtype.kind == "c":
            return Node("abs2", (z,), None, node.shape, node.dtype)
        case Node("multiply", (Node("absolute", (z,)) as a, b)) if a is b and z.dtype.kind == "c":
            return Node("abs2", (z,), None, node.shape, node.dtype)
    return None


def conjugate_product(node: Node) -> Node | None:
    """(conj(z)*z).real -> abs2(z)."""
    match node:
        case Node("real", (Node("multiply", (Node("conjugate", (z,)), w)),)) if z is w:
            return Node("abs2", (z,), None, node.shape, node.dtype)
        case Node("real", (Node("multiply", (w, Node("conjugate", (z,)))),)) if z is w:
            return Node("abs2", (z,), None, node.shape, node.dtype)
    return None


def sum_of_squares(node: Node) -> Node | None:
    """z.real**2 + z.imag**2 -> abs2(z)."""
    if node.op != "add":
        return None
    parts = [_squared(a) for a in node.args]
    match parts:
        case [Node("real", (z,)), Node("imag", (w,))] | [Node("imag", (z,)), Node("real", (w,))]:
            if z is w and z.shape == node.shape:
                return Node("abs2", (z,), None, node.shape, node.dtype)
    return None


def _squared(node: Node) -> Node | None:
    match node:
        case Node("square", (x,)):
            return x
        case Node("multiply", (x, y)) if x is y:
            return x
    return None


def exp_of_imaginary(node: Node) -> Node | None:
    """exp(1j*phase) -> cis(phase): the same products, no complex exponential."""
    if node.op != "exp" or node.dtype.kind != "c":
        return None
    phase = imaginary(node.args[0])
    return None if phase is None else Node("cis", (phase,), None, phase.shape, node.dtype)


def imaginary(node: Node) -> Node | None:
    """The real v of a node that is 1j*v by construction."""
    real = np.dtype(node.dtype.char.lower())
    match node:
        case Node("const") if node.attr.value.real == 0 and np.isfinite(node.attr.value.imag):
            return build.const(real.type(node.attr.value.imag))
        case Node("negative", (x,)):
            v = imaginary(x)
            return None if v is None else build.elementwise("negative", v)
        case Node("multiply", (a, b)):
            for x, y in ((a, b), (b, a)):
                v, factor = imaginary(x), real_valued(y)
                if v is not None and factor is not None:
                    return build.elementwise("multiply", v, factor)
        case Node("divide", (a, b)):
            v, factor = imaginary(a), real_valued(b)
            if v is not None and factor is not None:
                return build.elementwise("divide", v, factor)
        case Node("divide_real", (a, r)):
            v = imaginary(a)
            return None if v is None else build.elementwise("divide", v, r)
        case Node("astype", (x,)) if x.dtype.kind == "c":
            v = imaginary(x)
            return None if v is None else build.astype(v, real)
    return None


def real_valued(node: Node) -> Node | None:
    """The real r of a complex node that is r + 0j by construction."""
    real = np.dtype(node.dtype.char.lower())
    match node:
        case Node("const") if node.attr.value.imag == 0:
            return build.const(real.type(node.attr.value.real))
        case Node("astype", (x,)) if x.dtype.kind != "c":
            return build.astype(x, real)
        case Node("multiply", (a, b)):
            left, right = real_valued(a), real_valued(b)
            if left is not None and right is not None:
                return build.elementwise("multiply", left, right)
    return None


def unit_phasor(node: Node) -> Node | None:
    """exp(1j*angle(z)) -> z/abs(z), and 1 where z is zero."""
    match node:
        case Node("cis", (Node("angle", (z,)),)) if z.dtype == node.dtype:
            return Node("phasor", (z,), None, node.shape, node.dtype)
        case Node("cis", (Node("multiply", (one, Node("angle", (z,)))),)) if (
            one.op == "const" and one.attr.value == 1 and z.dtype == node.dtype
        ):
            return Node("phasor", (z,), None, node.shape, node.dtype)
    return None


def unit_factor(node: Node) -> Node | None:
    """1*x -> x, x/1 -> x for floats of the same shape."""
    match node:
        case Node("multiply", (Node("const") as c, x)) | Node("multiply", (x, Node("const") as c)):
            if c.attr.value == 1 and x.dtype == node.dtype and x.dtype.kind == "f":
                return x
        case Node("divide", (x, Node("const") as c)):
            if c.attr.value == 1 and x.dtype == node.dtype and x.dtype.kind == "f":
                return x
    return None


def division_by_constant(node: Node) -> Node | None:
    """x / c -> x * (1/c) where 1/c is exact (c a power of two)."""
    match node:
        case Node("divide", (x, Node("const") as c)) if node.dtype.kind == "f":
            value = c.attr.value
            mantissa, _ = np.frexp(value)
            inverse = node.dtype.type(1) / value if mantissa in (0.5, -0.5) else None
            if inverse is not None and np.isfinite(inverse) and abs(inverse) > 1e-30:
                return build.elementwise("multiply", x, build.const(inverse))
    return None


def scaled_index(node: Node) -> Node | None:
    """An index times a power of two, rounded to single precision: exact in single precision."""
    match node:
        case Node(
            "astype", (Node("multiply", (Node("astype", (i,)), Node("const") as c)) as wide,)
        ):
            if node.dtype.char != "f" or wide.dtype.char != "d" or not _is_small_index(i):
                return None
            mantissa, exponent = np.frexp(c.attr.value)
            if mantissa in (0.5, -0.5) and abs(exponent) < _EXPONENT_IN_SINGLE:
                index = build.astype(i, node.dtype)
                return build.elementwise("multiply", index, build.const(np.float32(c.attr.value)))
    return None


def _is_small_index(node: Node) -> bool:
    """Is it an integer function of the index that single precision holds?"""
    while node.op == "remap" and node.attr[2] is None:
        node = node.args[0]
    if node.op != "iota" or node.dtype.kind not in "iu":
        return False
    start, step = (int(v.value) for v in node.attr[:2])
    return max(abs(start), abs(start + step * node.size)) <= _INTEGERS_IN_SINGLE


def division_by_real(node: Node) -> Node | None:
    """z / (r + 0j) -> both parts divided by r: no complex division."""
    if node.op != "divide" or node.dtype.kind != "c" or node.args[0].dtype != node.dtype:
        return None
    z, divisor = node.args
    real = real_valued(divisor)
    if real is None or (z.op == "const" and divisor.op != "const"):
        return None
    return Node("divide_real", (z, real), None, node.shape, node.dtype)


ALGEBRA: tuple[Callable[[Node], Node | None], ...] = (
    drop_trivial,
    imag_of_real,
    fold_constants,
    drop_double,
    power_shortcut,
    square_of_modulus,
    conjugate_product,
    sum_of_squares,
    exp_of_imaginary,
    unit_phasor,
    unit_factor,
    division_by_constant,
    scaled_index,
    division_by_real,
)
