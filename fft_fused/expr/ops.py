"""THE table of operators: name, kind, how NumPy computes it, what it is.

Adding an elementwise operator is adding one row. ``numpy`` takes the argument values and returns
the result exactly as a user would have computed it; it also serves shape and dtype inference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

UNALIGNED = "unaligned"  # attribute of pairs that cannot be loaded at once


@dataclass(frozen=True, slots=True)
class Op:
    """One row. ``blockwise`` takes the same arguments and ``out=`` and is what blocks run."""

    name: str
    kind: str  # elementwise | structure | reduce | transform | leaf | opaque
    arity: int
    numpy: Callable[..., Any] | None
    doc: str
    internal: bool = False  # made by rewrites only


def abs2(z: Any, out: Any = None) -> Any:
    """``abs(z)**2`` with the rounding and overflow of that expression."""
    modulus = np.absolute(z, out=out)
    return np.multiply(modulus, modulus, out=out)


def cis(phase: Any, out: Any = None) -> Any:
    """``exp(1j*phase)`` for a real phase in radians."""
    if out is None:
        out = np.empty(np.shape(phase), np.result_type(np.asarray(phase).dtype, np.complex64))
    np.cos(phase, out=out.real)
    np.sin(phase, out=out.imag)
    return out


def phasor(z: Any, out: Any = None) -> Any:
    """``exp(1j*angle(z))``: z over its modulus, 1 where z is zero."""
    modulus = np.absolute(z)
    smallest = np.finfo(modulus.dtype).tiny
    if modulus.min() > smallest and modulus.max() < np.inf:
        return np.multiply(z, np.reciprocal(modulus), out=out)
    bad = ~(np.isfinite(modulus) & (modulus > smallest))
    unit = np.asarray(np.multiply(z, np.reciprocal(np.where(bad, 1, modulus)), out=out))
    unit[bad] = cis(np.angle(np.broadcast_to(z, unit.shape)[bad]))
    return unit


def divide_real(z: Any, r: Any, out: Any = None) -> Any:
    """``z / r`` of a complex and a real, both parts divided."""
    if out is None:
        dtype = np.result_type(z, r)
        out = np.empty(np.broadcast_shapes(np.shape(z), np.shape(r)), dtype)
    np.divide(np.real(z), r, out=out.real)
    np.divide(np.imag(z), r, out=out.imag)
    return out


def _assign(value: Any, out: Any) -> Any:
    if out is None:
        return value
    np.copyto(out, value, casting="unsafe")
    return out


def where(condition: Any, a: Any, b: Any, out: Any = None) -> Any:
    """``numpy.where`` that can write into an array."""
    if out is None:
        return np.where(condition, a, b)
    np.copyto(out, b, casting="unsafe")
    np.copyto(out, a, where=np.asarray(condition, bool), casting="unsafe")
    return out


def power(a: Any, b: Any, out: Any = None) -> Any:
    """``a ** b``, with the shortcuts of the operator for exponents such as 2 and 0.5."""
    return a**b if out is None else np.power(a, b, out=out)


def angle(z: Any, out: Any = None) -> Any:
    """``numpy.angle`` in radians."""
    return np.arctan2(np.imag(z), np.real(z), out=out) if out is not None else np.angle(z)


def sinc(x: Any, out: Any = None) -> Any:
    """``numpy.sinc``: sin(pi x)/(pi x)."""
    return _assign(np.sinc(x), out)


_UFUNCS = {
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "floor_divide": "a // b",
    "remainder": "a % b",
    "fmod": "C remainder",
    "power": "a ** b",
    "float_power": "a ** b in double precision",
    "negative": "-a",
    "positive": "+a",
    "absolute": "abs(a); the modulus of a complex value",
    "fabs": "modulus of a real value",
    "sign": "sign; z/abs(z) of a complex value",
    "copysign": "modulus of a, sign of b",
    "signbit": "is the sign bit set",
    "conjugate": "complex conjugate",
    "square": "a * a",
    "sqrt": "square root",
    "cbrt": "cube root",
    "reciprocal": "1 / a",
    "exp": "e ** a",
    "exp2": "2 ** a",
    "expm1": "exp(a) - 1",
    "log": "natural logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "log1p": "log(1 + a)",
    "logaddexp": "log(exp(a) + exp(b))",
    "logaddexp2": "log2(2**a + 2**b)",
    "sin": "sine of radians",
    "cos": "cosine of radians",
    "tan": "tangent of radians",
    "arcsin": "inverse sine",
    "arccos": "inverse cosine",
    "arctan": "inverse tangent",
    "arctan2": "angle of the point (b, a)",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent",
    "arcsinh": "inverse hyperbolic sine",
    "arccosh": "inverse hyperbolic cosine",
    "arctanh": "inverse hyperbolic tangent",
    "hypot": "sqrt(a*a + b*b)",
    "deg2rad": "degrees to radians",
    "rad2deg": "radians to degrees",
    "degrees": "radians to degrees",
    "radians": "degrees to radians",
    "rint": "nearest integer, ties to even",
    "floor": "largest integer not above",
    "ceil": "smallest integer not below",
    "trunc": "towards zero",
    "maximum": "larger, NaN if either is NaN",
    "minimum": "smaller, NaN if either is NaN",
    "fmax": "larger, ignoring NaN",
    "fmin": "smaller, ignoring NaN",
    "heaviside": "step function",
    "equal": "a == b",
    "not_equal": "a != b",
    "less": "a < b",
    "less_equal": "a <= b",
    "greater": "a > b",
    "greater_equal": "a >= b",
    "logical_and": "both true",
    "logical_or": "either true",
    "logical_xor": "one true",
    "logical_not": "not true",
    "bitwise_and": "a & b",
    "bitwise_or": "a | b",
    "bitwise_xor": "a ^ b",
    "invert": "~a",
    "left_shift": "a << b",
    "right_shift": "a >> b",
    "isfinite": "neither infinite nor NaN",
    "isinf": "infinite",
    "isnan": "NaN",
    "nextafter": "next number after a towards b",
}

_OPERATORS = {"power": power}  # where the operator differs from the ufunc

_ELEMENTWISE = [
    Op(n, "elementwise", getattr(np, n).nin, _OPERATORS.get(n, getattr(np, n)), d)
    for n, d in _UFUNCS.items()
] + [
    Op("where", "elementwise", 3, where, "a where the condition holds, else b"),
    Op("clip", "elementwise", 3, np.clip, "limit to [b, c]"),
    Op("real", "elementwise", 1, np.real, "real part"),
    Op("imag", "elementwise", 1, np.imag, "imaginary part"),
    Op("angle", "elementwise", 1, angle, "phase in radians"),
    Op("sinc", "elementwise", 1, sinc, "sin(pi a)/(pi a)"),
    Op("astype", "elementwise", 1, None, "convert to a dtype"),
    Op("abs2", "elementwise", 1, abs2, "abs(z)**2", internal=True),
    Op("cis", "elementwise", 1, cis, "exp(1j*a) of a real phase", internal=True),
    Op("divide_real", "elementwise", 2, divide_real, "a / b of a real b", internal=True),
    Op("phasor", "elementwise", 1, phasor, "exp(1j*angle(z))", internal=True),
    Op("root", "elementwise", 2, None, "exp(+-2j pi a b / n), 0 <= a*b < n", internal=True),
    Op("call", "elementwise", -1, None, "a device function of the user's", internal=True),
]

_OTHERS = [
    Op("operand", "leaf", 0, None, "an array given by the caller"),
    Op("scalar", "leaf", 0, None, "a number given at each call"),
    Op("const", "leaf", 0, None, "a number that is part of the code"),
    Op("iota", "leaf", 0, None, "start + step*i: arange"),
    Op("getitem", "structure", 1, None, "basic slicing"),
    Op("update", "structure", 2, None, "a copy of a with a region replaced by b"),
    Op("reshape", "structure", 1, None, "same elements, other shape"),
    Op("transpose", "structure", 1, None, "permute axes"),
    Op("broadcast_to", "structure", 1, None, "repeat axes of length one"),
    Op("pad", "structure", 1, None, "add constant borders"),
    Op("roll", "structure", 1, None, "circular shift; fftshift and ifftshift"),
    Op("concat", "structure", -1, None, "join along an axis; stack"),
    Op("pairs", "structure", 1, None, "view float pairs as complex numbers"),
    Op("unpair", "structure", 1, None, "view complex numbers as float pairs"),
    Op("frames", "structure", 1, None, "as_strided and sliding_window_view: overlapping frames"),
    Op("remap", "structure", 1, None, "index map along an axis", internal=True),
    Op("sum", "reduce", 1, np.sum, "sum over axes"),
    Op("mean", "reduce", 1, np.mean, "mean over axes"),
    Op("max", "reduce", 1, np.max, "largest over axes"),
    Op("min", "reduce", 1, np.min, "smallest over axes"),
    Op("prod", "reduce", 1, np.prod, "product over axes"),
    Op("any", "reduce", 1, np.any, "true anywhere along axes"),
    Op("all", "reduce", 1, np.all, "true everywhere along axes"),
    Op("argmax", "reduce", 1, np.argmax, "index of the largest"),
    Op("argmin", "reduce", 1, np.argmin, "index of the smallest"),
    Op("transform", "transform", 1, None, "fft ... ihfftn, dct ... idstn as called"),
    Op("dft", "transform", 1, None, "one-dimensional transform in normal form", internal=True),
    Op("matmul", "opaque", 2, np.matmul, "matrix product"),
    Op("take", "opaque", 2, None, "elements at integer indices along an axis"),
    Op("cumsum", "opaque", 1, None, "running sum"),
]

OPS: dict[str, Op] = {op.name: op for op in _ELEMENTWISE + _OTHERS}

COMMUTATIVE_REDUCTIONS = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "any": np.logical_or,
    "all": np.logical_and,
}


VIEWS = frozenset(
    ("getitem", "transpose", "broadcast_to", "frames", "pairs", "unpair", "reshape", "real", "imag")
)


def is_elementwise(name: str) -> bool:
    """Does the operator work element by element, with broadcasting?"""
    return OPS[name].kind == "elementwise"


def ufunc_of(name: str) -> np.ufunc | None:
    """The NumPy ufunc whose loops an elementwise operator runs, if there is one."""
    function = getattr(np, name) if name in _UFUNCS else None
    return function if isinstance(function, np.ufunc) else None
