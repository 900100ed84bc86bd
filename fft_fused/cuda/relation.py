"""Where an element of a spectrum goes: index maps run forwards, for store callbacks."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.chain import Problem
from ..expr.index import AxisMap, Piece
from ..expr.node import Node
from ..expr.ops import OPS
from . import indexing
from .indexing import Index

_NAMES = tuple(f"k{a}" for a in range(32))


def downstream(problem: Problem, spectrum: Node) -> list[Node]:
    """The computed values that depend on a spectrum, arguments first; without the spectrum."""
    depends = {id(spectrum)}
    found = []
    for node in problem.nodes:
        if any(id(a) in depends for a in node.args):
            depends.add(id(node))
            found.append(node)
    return found


def names(ndim: int) -> Index:
    """The names of an element's index along each axis of the spectrum."""
    return _NAMES[:ndim]


class Placement:
    """For one element of a spectrum: the index of every value made of it.

    ``index`` names the element, ``others`` are spectra taken at the same one. ``part`` says which
    of the two parts of a complex number is followed at each ``unpair``; ``guards`` are conditions
    outside of which the element is used by nothing. ``reason`` tells why there is no such index;
    empty when there is.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        spectrum: Node,
        part: int = 0,
        index: Index | None = None,
        others: Sequence[Node] = (),
    ) -> None:
        index = names(spectrum.ndim) if index is None else index
        self.index: dict[int, Index] = {id(s): index for s in (spectrum, *others)}
        self.guards: list[str] = []
        self.reason = ""
        self._part = part
        for node in nodes:
            self.reason = self._place(node)
            if self.reason:
                return

    def _place(self, node: Node) -> str:
        dependent = [a for a in node.args if id(a) in self.index]
        if OPS[node.op].kind == "elementwise":
            if any(a.shape != node.shape for a in dependent):
                return f"{node.op} repeats elements of a spectrum"
            found = {self.index[id(a)] for a in dependent}
            if len(found) != 1:
                return f"{node.op} joins elements of different places"
            self.index[id(node)] = found.pop()
            return ""
        method = getattr(self, f"_{node.op}", None)
        if method is None:
            return f"{node.op} of a spectrum"
        return str(method(node, self.index[id(dependent[0])]))

    def _transpose(self, node: Node, index: Index) -> str:
        self.index[id(node)] = tuple(index[a] for a in node.attr)
        return ""

    def _reshape(self, node: Node, index: Index) -> str:
        before, after = node.args[0].shape, node.shape
        self.index[id(node)] = indexing.reshaped(index, before, after)
        return ""

    def _unpair(self, node: Node, index: Index) -> str:
        self.index[id(node)] = (*index[:-1], f"({index[-1]} * 2 + {self._part})")
        return ""

    def _remap(self, node: Node, index: Index) -> str:
        axis, mapping, _ = node.attr
        placed = forwards(index[axis], mapping)
        if placed is None:
            return "an index map that repeats or fills elements"
        place, guard = placed
        if guard:
            self.guards.append(guard)
        self.index[id(node)] = (*index[:axis], place, *index[axis + 1 :])
        return ""


def forwards(source: str, mapping: AxisMap) -> tuple[str, str] | None:
    """Where a map puts the element ``source``, and the condition under which it does.

    None where elements are repeated or filled in.
    """
    if mapping.fills or not _disjoint(mapping.pieces):
        return None
    low, cases = 0, []
    for piece in mapping.pieces:
        cases.append((_inside(source, piece, mapping.extent), _placed(source, piece, low)))
        low += piece.count
    covers = sum(p.count for p in mapping.pieces) == mapping.extent
    guard = "" if covers else " || ".join(f"({c})" for c, _ in cases if c)
    if not covers and any(not c for c, _ in cases):
        guard = ""
    text = cases[-1][1]
    for condition, place in reversed(cases[:-1]):
        text = f"({condition} ? {place} : {text})"
    return text, guard


def _disjoint(pieces: Sequence[Piece]) -> bool:
    """Does no element stand in two pieces? "No" where that takes more than a comparison."""
    return not any(_overlap(p, q) for i, p in enumerate(pieces) for q in pieces[:i])


def _overlap(p: Piece, q: Piece) -> bool:
    assert p.start is not None
    assert q.start is not None
    apart = max(p.start, p.last) < min(q.start, q.last) or max(q.start, q.last) < min(
        p.start, p.last
    )
    step = abs(p.step)
    woven = step > 1 and step == abs(q.step) and (p.start - q.start) % step != 0
    return not (apart or woven)


def _inside(source: str, piece: Piece, extent: int) -> str:
    """Is the element one of a piece's? Empty for always."""
    assert piece.start is not None
    low, high = sorted((piece.start, piece.last))
    parts = []
    if low > 0:
        parts.append(f"{source} >= {low}")
    if high < extent - 1:
        parts.append(f"{source} <= {high}")
    if abs(piece.step) > 1:
        parts.append(f"({source} - {low}) % {abs(piece.step)} == 0")
    return " && ".join(parts)


def _placed(source: str, piece: Piece, low: int) -> str:
    assert piece.start is not None
    if piece.step < 0:
        distance = f"({piece.start} - {source})"
    else:
        distance = f"({source} - {piece.start})" if piece.start else source
    if abs(piece.step) > 1:
        distance = f"{distance} / {abs(piece.step)}"
    if not low:
        return distance if distance.isidentifier() else f"({distance})"
    return f"({low} + {distance})"
