"""What a node costs a core whose data lie in its cache: measured rates, rounded.

Nanoseconds an element, from a current x86 server core and NumPy 2.4; what counts is their ratio.
"""

from __future__ import annotations

import math

from ..expr.node import Expr, Node, walk
from ..expr.ops import OPS, VIEWS
from .long_fft import factors

LANES = 4  # rows that pocketfft transforms at once
_NS_PER_4_BYTES = 0.05
_SLOW_REAL = {
    **dict.fromkeys(("exp", "log", "log10", "log2", "tan", "arctan", "expm1", "log1p"), 0.25),
    **dict.fromkeys(("sin", "cos", "sqrt", "power"), 0.35),
    **dict.fromkeys(("arctan2", "angle"), 1.0),
    **dict.fromkeys(("hypot", "arcsin", "arccos", "fmod", "sinc"), 3.0),
    **dict.fromkeys(("remainder", "floor_divide"), 5.5),
    **dict.fromkeys(("where", "cis"), 1.0),
}
_SLOW_COMPLEX = {
    **dict.fromkeys(("divide", "reciprocal"), 5.0),
    **dict.fromkeys(("exp", "sqrt"), 30.0),
    **dict.fromkeys(("log", "log10", "log2", "sin", "cos", "tan"), 50.0),
    "power": 100.0,
    "absolute": 0.2,
    "abs2": 0.25,
    "phasor": 0.7,
    "divide_real": 0.6,
    "angle": 1.4,
    "where": 1.0,
}
_NS_DFT_STAGE = 0.17  # an element a factor of two, LANES rows or adjacent columns at once
_SINGLE_ROW = 2.5
_TWO_PASSES = 1.4


def node_nanoseconds(node: Node, rows: int = LANES) -> float:
    """Time of one node on its whole value.

    Parameters
    ----------
    node : Node
        In normal form or as recorded.
    rows : int
        Rows a transform along the last axis gets at once.
    """
    if node.op in VIEWS or not node.args:
        return 0.0
    if node.op == "dft":
        return _dft(node, rows)
    if node.op == "transform":
        return sum(_stage(n, node.size) for n in node.attr.lengths) * 2
    arg = node.args[0]
    if OPS[node.op].kind == "reduce":
        return arg.nbytes / 4 * 0.08
    if node.op == "astype" and 2 in (arg.dtype.itemsize, node.dtype.itemsize):
        half = "e" in (arg.dtype.char, node.dtype.char)
        return node.size * (1.0 if half else 0.06)
    slow = (_SLOW_COMPLEX if arg.dtype.kind == "c" else _SLOW_REAL).get(node.op)
    if slow is not None:
        return node.size * slow * max(1.0, arg.dtype.itemsize / (8 if arg.dtype.kind == "c" else 4))
    return max(node.nbytes, arg.nbytes) / 4 * _NS_PER_4_BYTES


def node_seconds(node: Node, rate: float, rows: int = LANES) -> float:
    """Time of one node when its data come and go at a rate in bytes per second."""
    if node.op in VIEWS or not node.args:
        return 0.0
    traffic = node.nbytes + sum(touched_bytes(a) for a in node.args)
    passes = 2 if node.op in ("dft", "transform") else 1
    return max(node_nanoseconds(node, rows) * 1e-9, passes * traffic / rate)


def touched_bytes(node: Node) -> int:
    """Bytes that reading a value touches: views that repeat elements touch them once."""
    if node.op in ("broadcast_to", "frames"):
        return min(node.nbytes, touched_bytes(node.args[0]))
    return node.nbytes


def _dft(node: Node, rows: int) -> float:
    spec = node.attr
    elements = node.size if spec.kind in ("c2c", "rfull") else node.size // 2 + 1
    if spec.kind == "r2c":
        elements = node.size
    alone = 1.0
    if spec.axis == node.ndim - 1 and rows < LANES:
        two_passes = spec.kind in ("c2c", "rfull") and factors(spec.n) is not None
        alone = _TWO_PASSES if two_passes else _SINGLE_ROW
    return (
        _stage(spec.n, elements)
        * alone
        * (node.dtype.itemsize / 8 if node.dtype.kind == "c" else 1)
    )


def _stage(n: int, elements: int) -> float:
    return elements * max(1.0, math.log2(max(n, 2))) * _NS_DFT_STAGE


def unfused_bytes(expr: Expr) -> dict[str, int]:
    """Bytes moved when every operation is one pass over memory, and bytes of its temporaries."""
    moved = made = 0
    outputs = {id(o) for o in expr.outputs}
    for node in walk(expr.outputs):
        if OPS[node.op].kind == "leaf" or node.op in VIEWS:
            continue
        moved += node.nbytes + sum(touched_bytes(a) for a in node.args)
        made += 0 if id(node) in outputs else node.nbytes
    return {"moved": moved, "temporaries": made}
