"""Small values that are dear to compute and read many times: they are computed once."""

from __future__ import annotations

from ..expr.chain import ANCHORS
from ..expr.node import Expr, Node, consumers, walk
from ..expr.ops import OPS, VIEWS

_LEAST_READS = 32  # of each element
_LEAST_CONSUMER = 1 << 22  # elements; below, another launch costs more than it saves
_LARGEST = 1 << 18  # elements: it should stay in the cache
_DEAR = frozenset(
    ("call", "cis", "exp", "sin", "cos", "tan", "power", "log", "log2", "log10", "phasor", "angle")
    + ("arctan2", "sinc", "hypot", "sinh", "cosh", "tanh", "exp2", "expm1", "arcsin", "arccos")
)


def tables(expr: Expr) -> tuple[Node, ...]:
    """Values that depend on no transform or reduction, hold a dear operation, and are read by one
    at least ``_LEAST_READS`` times as large."""
    order = walk(expr.outputs)
    dear: set[int] = set()
    anchored: set[int] = set()
    for node in order:
        below = [id(a) for a in node.args]
        if OPS[node.op].kind in ANCHORS or any(b in anchored for b in below):
            anchored.add(id(node))
        if node.op in _DEAR or any(b in dear for b in below):
            dear.add(id(node))
    users = consumers(expr.outputs)
    return tuple(
        n
        for n in order
        if id(n) in dear - anchored
        and n.size <= _LARGEST
        and n.op not in VIEWS
        and _read_by_larger(n, users)
    )


def _read_by_larger(node: Node, users: dict[int, list[Node]]) -> bool:
    """Looking through views, which cost nothing."""
    return any(
        _read_by_larger(u, users)
        if u.op in VIEWS and u.size == node.size
        else u.size >= max(_LEAST_CONSUMER, _LEAST_READS * node.size)
        for u in users[id(node)]
    )
