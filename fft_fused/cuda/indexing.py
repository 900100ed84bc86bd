"""Index arithmetic as C++ text: reshapes, maps made of pieces, and offsets into memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..expr.index import AxisMap
from ..expr.node import Node

Index = tuple[str, ...]
_SCALED = re.compile(r"\((\w+) \* (\d+) \+ (\d+)\)")


def input_names(inputs: Sequence[Node]) -> dict[int, str]:
    """The C++ names of inputs, by node identity."""
    return {id(node): f"p{k}" for k, node in enumerate(inputs)}


def largest_span(nodes: Sequence[Node], strides: dict[int, tuple[int, ...]]) -> int:
    """How far apart, in items, the first and the last element of an array lie at most."""
    spans = [
        sum((n - 1) * abs(s) for n, s in zip(node.shape, strides[id(node)], strict=True))
        for node in nodes
        if id(node) in strides
    ]
    return max(spans, default=0)


def horner(index: Sequence[str], shape: Sequence[int]) -> str:
    """The position of an element in C order."""
    text = "0"
    for i, n in zip(index, shape, strict=True):
        if n == 1:
            continue
        text = i if text == "0" else f"({text} * {n} + {i})"
    return text


def decompose(position: str, shape: Sequence[int]) -> Index:
    """The index of the element at a position in C order."""
    scaled = _SCALED.fullmatch(position)
    if scaled and shape and int(scaled[2]) == shape[-1] > int(scaled[3]):
        return (*decompose(scaled[1], shape[:-1]), scaled[3])
    parts: list[str] = []
    step = 1
    long = [k for k, n in enumerate(shape) if n != 1]
    for k in reversed(range(len(shape))):
        n = shape[k]
        if n == 1:
            parts.append("0")
            continue
        quotient = position if step == 1 else f"({position} / {step})"
        parts.append(quotient if k == long[0] else f"({quotient} % {n})")
        step *= n
    return tuple(reversed(parts))


def reshaped(index: Index, after: Sequence[int], before: Sequence[int]) -> Index:
    """The index before a C-order reshape; axes it leaves alone cost nothing."""
    result: list[str] = []
    i = j = 0
    while i < len(after) or j < len(before):
        left, right, first_i, first_j = 1, 1, i, j
        while True:
            if left == right and (i > first_i or j > first_j):
                break
            if (left <= right and i < len(after)) or j >= len(before):
                left, i = left * after[i], i + 1
            else:
                right, j = right * before[j], j + 1
        while i < len(after) and after[i] == 1:
            i += 1
        while j < len(before) and before[j] == 1:
            j += 1
        group, target = after[first_i:i], before[first_j:j]
        result += decompose(horner(index[first_i:i], group), target)
    return tuple(result)


def mapped(index: str, mapping: AxisMap) -> tuple[str, str]:
    """Where a map reads, and the condition under which it reads at all ("" for always)."""
    text, condition, low = "", "", 0
    closing = 0
    for piece in mapping.pieces:
        high = low + piece.count
        if piece.start is not None:
            source = _affine(index, piece.start - low * piece.step, piece.step)
            last = high == mapping.size
            text += source if last else f"({index} < {high} ? {source} : "
            closing += 0 if last else 1
            if last:
                break
        else:
            inside = f"{index} >= {low}" + (f" && {index} < {high}" if high < mapping.size else "")
            inside = inside if low else f"{index} < {high}"
            condition += f"{' || ' if condition else ''}({inside})"
            if high == mapping.size:
                text += "0"
        low = high
    return text + ")" * closing, f"!({condition})" if condition else ""


def _affine(index: str, offset: int, step: int) -> str:
    scaled = index if step == 1 else f"{index} * {step}"
    if offset == 0:
        return scaled if step == 1 else f"({scaled})"
    return f"({scaled} {'+' if offset > 0 else '-'} {abs(offset)})"


def offset(index: Sequence[str], strides: Sequence[int], shape: Sequence[int]) -> str:
    """The offset in items for strides in items."""
    terms = [
        i if s == 1 else f"{i} * {s}"
        for i, s, n in zip(index, strides, shape, strict=True)
        if s != 0 and n != 1 and i != "0"
    ]
    return " + ".join(terms) if terms else "0"


def is_c_order(strides: Sequence[int], shape: Sequence[int], step: int = 1) -> bool:
    """Do strides lay a shape out in C order, its elements ``step`` apart?"""
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and s != step:
            return False
        step *= n
    return True
