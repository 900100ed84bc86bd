"""Values computed straight into a part of what they are joined or padded into."""

from __future__ import annotations

from dataclasses import dataclass

from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import OPS


@dataclass(frozen=True, slots=True)
class Forward:
    """``low:high`` along ``axis`` of ``target``, seen in ``shape`` when that differs."""

    target: Node
    axis: int
    low: int
    high: int
    reshaped: bool


def forwards(problem: Problem, places: dict[int, int], fixed: set[int]) -> dict[int, Forward]:
    """``id(value) -> where it goes``; ``fixed`` are values that have another destination."""
    found: dict[int, Forward] = {}
    outputs = {id(o) for o in problem.outputs}

    def offer(part: Node, target: Node, axis: int, low: int) -> None:
        value, high = part, low + part.shape[axis]
        only = len(problem.users[id(part)]) == 1 and id(part) not in outputs
        if part.op == "reshape" and _loose(part) and only:
            value = part.args[0]
            only = len(problem.users[id(value)]) == 1 and id(value) not in outputs
        writes = OPS[value.op].kind == "elementwise" or value.op == "dft"
        parts_of_complex = value.op in ("real", "imag")
        free = id(value) in places and id(value) not in fixed and id(part) in places
        if only and writes and free and not parts_of_complex and value.dtype == target.dtype:
            found[id(value)] = Forward(target, axis, low, high, value is not part)

    for node in problem.nodes:
        if id(node) not in places:
            continue
        if node.op == "concat":
            low = 0
            for part in node.args:
                offer(part, node, node.attr, low)
                low += part.shape[node.attr]
        elif node.op == "remap" and (start := pad_start(node)) is not None:
            offer(node.args[0], node, node.attr[0], start)
    return found


def pad_start(node: Node) -> int | None:
    """Where the argument of a pure pad lies in it; None for other maps."""
    _, mapping, _ = node.attr
    low, start = 0, None
    for piece in mapping.pieces:
        if piece.start is not None:
            if start is not None or piece.start != 0 or piece.count != mapping.extent:
                return None
            if piece.step != 1 and piece.count > 1:
                return None
            start = low
        low += piece.count
    return start if mapping.fills else None


def _loose(node: Node) -> bool:
    """A reshape that adds or drops axes of length one only."""
    before, after = node.args[0].shape, node.shape
    return [n for n in before if n != 1] == [n for n in after if n != 1]
