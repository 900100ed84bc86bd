"""Reductions whose blocks add up: which they are, and what they start from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from .blocking import Blocking

_IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}


def is_accumulated(output: Node, blocking: Blocking) -> bool:
    """Is it a reduction over a loop, so that blocks add up?"""
    if OPS[output.op].kind != "reduce" or output.op not in COMMUTATIVE_REDUCTIONS:
        return False
    arg = blocking.axes[id(output.args[0])]
    return any(arg[a].loop is not None for a in output.attr[0])


def identity(output: Node) -> Any:
    """What a reduction starts from without changing its result."""
    if output.op in _IDENTITIES:
        return _IDENTITIES[output.op]
    sign, dtype = (-1 if output.op == "max" else 1), output.dtype
    match dtype.kind:
        case "b":
            return output.op == "min"
        case "i" | "u":
            limits = np.iinfo(dtype)
            return limits.min if output.op == "max" else limits.max
        case "c":
            return complex(sign * math.inf, sign * math.inf)
    return sign * math.inf


def keeps_summed_loop(output: Node, blocking: Blocking) -> bool:
    """Is a sum cut along an axis it keeps, because another output sums over that one? Then a block
    begins some of its elements and adds to others."""
    return is_accumulated(output, blocking) and any(
        e.loop is not None and blocking.reduced[e.loop] for e in blocking.axes[id(output)]
    )
