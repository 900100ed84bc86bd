"""Reductions as C++: where they start and how two values are joined."""

from __future__ import annotations

import math

import numpy as np

from ..expr.node import Node
from .casts import loaded, register_type
from .ctypes import literal

_IDENTITY = {"sum": 0, "prod": 1, "any": False, "all": True}
_COMBINE = {
    "sum": "({0} + {1})",
    "prod": "({0} * {1})",
    "any": "({0} || {1})",
    "all": "({0} && {1})",
    "max": "maximum_<T>({0}, {1})",
    "min": "minimum_<T>({0}, {1})",
}


LONGEST_INLINE = 64


def reduced_length(output: Node) -> int:
    """How many elements each element of a reduction is made of."""
    return math.prod(output.args[0].shape[a] for a in output.attr[0])


def is_inline(output: Node) -> bool:
    """Is a reduction short enough to be done by one thread where its result is needed?"""
    return output.op in _COMBINE and 0 < reduced_length(output) <= LONGEST_INLINE


def combination(output: Node) -> str:
    """The text that joins ``{0}`` and ``{1}`` in the reduction whose result is given."""
    return _COMBINE[output.op].replace("<T>", f"<{register_type(output.dtype)}>")


def identity(output: Node) -> str:
    """The text of what changes nothing."""
    if output.op in _IDENTITY:
        return loaded(literal(_IDENTITY[output.op], output.dtype), output.dtype)
    lowest = output.op == "max"
    if output.dtype.kind == "f":
        return loaded(literal(-np.inf if lowest else np.inf, output.dtype), output.dtype)
    if output.dtype.kind == "b":
        return "false" if lowest else "true"
    limits = np.iinfo(output.dtype)
    return literal(limits.min if lowest else limits.max, output.dtype)
