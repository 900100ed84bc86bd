"""Elementwise operators as C++: ``{0}`` and ``{1}`` are the arguments, ``T`` is their type."""

from __future__ import annotations

import numpy as np

from ..expr.node import Node

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
    "logical_and": "&&",
    "logical_or": "||",
}
_ANY = {name: f"({{0}} {sign} {{1}})" for name, sign in _INFIX.items()} | {
    "negative": "(-{0})",
    "positive": "({0})",
    "where": "({0} ? {1} : {2})",
    "maximum": "maximum_<T>({0}, {1})",
    "minimum": "minimum_<T>({0}, {1})",
    "clip": "minimum_<T>(maximum_<T>({0}, {1}), {2})",
    "square": "({0} * {0})",
    "logical_not": "(!{0})",
    "invert": "(~{0})",
}
_BOOL = {
    "add": "({0} || {1})",
    "multiply": "({0} && {1})",
    "subtract": "({0} != {1})",
    "invert": "(!{0})",
    "absolute": "({0})",
    "square": "({0})",
}
_FUNCTIONS = (
    *("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos"),
    *("tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "rint", "hypot", "fmod", "fmax"),
    *("fmin", "copysign", "nextafter"),
)
_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "fabs": "fabs",
    "power": "pow",
    "float_power": "pow",
}
_FLOAT = {
    "divide": "({0} / {1})",
    "absolute": "fabs{s}({0})",
    "reciprocal": "(1 / {0})",
    "sign": "sign_<T>({0})",
    "real": "({0})",
    "conjugate": "({0})",
    "isfinite": "(bool)isfinite({0})",
    "isinf": "(bool)isinf({0})",
    "isnan": "({0} != {0})",
    "signbit": "(bool)signbit({0})",
    "cis": "cis_({0})",
    "angle": "atan2{s}((T)0, {0})",
    "deg2rad": "({0} * (T)0.017453292519943295)",
    "radians": "({0} * (T)0.017453292519943295)",
    "rad2deg": "({0} * (T)57.29577951308232)",
    "degrees": "({0} * (T)57.29577951308232)",
    "logaddexp": "(maximum_<T>({0}, {1}) + log1p{s}(exp{s}(-fabs{s}({0} - {1}))))",
    "heaviside": "({0} != {0} ? {0} : {0} == 0 ? {1} : (T)({0} > 0))",
    "sinc": "({0} == 0 ? (T)1 : sin{s}((T)3.141592653589793 * {0}) / ((T)3.141592653589793 * {0}))",
}
_TWO = {"hypot", "fmod", "fmax", "fmin", "copysign", "nextafter", "arctan2", "power", "float_power"}
_FLOAT |= {
    name: f"{function}{{s}}({{0}}{', {1}' if name in _TWO else ''})"
    for name, function in ({n: n for n in _FUNCTIONS} | _RENAMED).items()
}
_COMPLEX = {
    "divide": "({0} / {1})",
    "divide_real": "make<R>({0}.re / {1}, {0}.im / {1})",
    "absolute": "modulus({0})",
    "abs2": "abs2_({0})",
    "conjugate": "conj_({0})",
    "real": "({0}.re)",
    "imag": "({0}.im)",
    "angle": "atan2{s}({0}.im, {0}.re)",
    "exp": "exp_({0})",
    "sqrt": "sqrt_({0})",
    "phasor": "phasor_({0})",
    "reciprocal": "(make<R>(1, 0) / {0})",
    "isfinite": "(isfinite({0}.re) && isfinite({0}.im))",
    "isnan": "({0} != {0})",
}
_INTEGER = {
    "absolute": "({0} < 0 ? -{0} : {0})",
    "sign": "sign_<T>({0})",
    "real": "({0})",
    "conjugate": "({0})",
    "floor": "({0})",
    "ceil": "({0})",
    "trunc": "({0})",
    "rint": "({0})",
    "isfinite": "true",
    "isnan": "false",
    "isinf": "false",
}
_SMALLEST_DIVISOR = 1e-30
_UNORDERED = {"less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "clip"}


_WIDE = "(unsigned long long)"
_SIGNED_FIRST = {
    "equal": f"({{0}} >= 0 && {_WIDE}{{0}} == {{1}})",
    "not_equal": f"({{0}} < 0 || {_WIDE}{{0}} != {{1}})",
    "less": f"({{0}} < 0 || {_WIDE}{{0}} < {{1}})",
    "less_equal": f"({{0}} < 0 || {_WIDE}{{0}} <= {{1}})",
    "greater": f"({{0}} >= 0 && {_WIDE}{{0}} > {{1}})",
    "greater_equal": f"({{0}} >= 0 && {_WIDE}{{0}} >= {{1}})",
}
_TURNED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}


def _mixed_signs(node: Node) -> str | None:
    """A comparison of a signed integer with an unsigned one, by value as in NumPy."""
    kinds = "".join(a.dtype.kind for a in node.args)
    if node.op not in _TURNED or kinds not in ("iu", "ui"):
        return None
    if kinds == "iu":
        return _SIGNED_FIRST[node.op]
    return _SIGNED_FIRST[_TURNED[node.op]].format("{1}", "{0}")


def template(node: Node) -> str | None:
    """The expression of an operator for the dtype of its arguments; None when there is none."""
    if node.op == "root":
        sign, n = node.attr
        return _root(sign, n, node.dtype)
    if node.op == "divide" and node.args[1].op == "const" and node.dtype.char == "f":
        return _divided(node.args[1].attr.value)
    dtype = node.args[-1 if node.op == "where" else 0].dtype
    mixed = _mixed_signs(node)
    if mixed is not None:
        return mixed
    if dtype.kind == "c":
        if node.op in _UNORDERED or node.op.startswith(("bitwise", "logical", "inv")):
            return None
        own = _COMPLEX
    elif dtype.kind == "f":
        own = _FLOAT
    else:
        own = {**_INTEGER, **_BOOL} if dtype.kind == "b" else _INTEGER
    return own.get(node.op, _ANY.get(node.op))


def _divided(by: float) -> str:
    """Division of single precision by a constant: a product, and one correction of its rounding."""
    if not _SMALLEST_DIVISOR < abs(by) < 1 / _SMALLEST_DIVISOR:
        return "({0} / {1})"
    inverse = float(np.float32(1) / np.float32(by))
    return f"divided_({{0}}, {{1}}, {inverse.hex()}f)"


def _root(sign: int, n: int, dtype: np.dtype) -> str:
    """``exp(sign * 2j * pi * a * b / n)``: the angle as a fraction of 32 bits of a turn where that
    is exact, otherwise what is left of a quarter."""
    real = "double" if dtype.char == "D" else "float"
    exact = 1 << 32 if real == "double" else 1 << 25  # steps of a turn that a real holds
    if exact % n == 0:
        fraction = (
            f"(int)((unsigned){{0}} * (unsigned){{1}} * {sign * (1 << 32) // n % (1 << 32)}u)"
        )
        return f"turned_(({real}){fraction} * ({real})0x1p-31)"
    root = f"root_<{real}>((unsigned){{0}} * (unsigned){{1}}, {n}u)"
    return root if sign > 0 else f"conj_({root})"


def suffix(dtype: np.dtype) -> str:
    """``f`` for the single-precision functions of the C library."""
    return "" if dtype.char in "dD" else "f"
