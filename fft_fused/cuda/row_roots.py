"""Twiddle factors of a thread's elements: a few roots of one before the loop, products in it.

A thread holds elements ``t + i * threads``, so that its factors differ by powers of one rotation.
Those of i = 0 ... 3 and the rotations by 4, 8, ... are in registers; the factor is a product of
two. Each is made of few exact ones, so that the error hardly grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..expr.node import Node
from . import indexing
from .casts import register_type
from .operators import template
from .printer import Printer
from .row_fft import Side
from .steps import steps

_LOW = 4
_LEAST = 4  # elements of a thread


@dataclass(slots=True)
class RowPrinter(Printer):
    """A printer for the loop over the elements of a row that a thread holds.

    ``side`` says which these are; ``before`` are the statements that stand before the loop.
    ``taken`` says of conditions on the row alone whether they hold; ``open_conditions`` are those
    that were tested for each element although the row decides them.
    """

    side: Side | None = None
    element_name: str = ""
    before: list[str] = field(default_factory=list)
    row_names: frozenset[str] = frozenset()
    taken: dict[str, bool] = field(default_factory=dict)
    open_conditions: list[str] = field(default_factory=list)

    def decided(self, condition: str) -> bool | None:
        known = self.taken.get(condition)
        if known is None and condition and _words(condition) <= self.row_names:
            self.open_conditions.append(condition)
        return known

    def _element(self, node: Node, index: indexing.Index) -> str:
        factors = self._factors(node, index) if node.op == "root" else None
        return factors or Printer._element(self, node, index)

    def _factors(self, node: Node, index: indexing.Index) -> str | None:
        """The root as a product of what is computed before the loop."""
        side = self.side
        if side is None or not side.is_regular or side.packed or len(side.places) < _LEAST:
            return None
        first, second = (_number(a, index[node.ndim - a.ndim :]) for a in node.args)
        if first is None or second is None or re.search(r"[-jv/%?]", first + second):
            return None
        if (self.element_name in _words(first)) == (self.element_name in _words(second)):
            return None
        moving, other = (first, second) if self.element_name in _words(first) else (second, first)
        step = int(steps(moving)[self.element_name]) * side.threads
        start = re.sub(rf"\b{self.element_name}\b", "t", moving)
        name = f"roots{len(self.before)}"
        self.before += _declared(name, node, start, step, other, len(side.places))
        low, high = f"{name}_low[i % {_LOW}]", f"{name}_high[i / {_LOW}]"
        return self.value(node.dtype, f"i < {_LOW} ? {low} : {low} * {high}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _number(node: Node, index: indexing.Index) -> str | None:
    """An integer as text of the index; None where it is no plain count."""
    index = tuple("0" if n == 1 else i for i, n in zip(index, node.shape, strict=True))
    while node.op == "reshape":
        index = indexing.reshaped(index, node.shape, node.args[0].shape)
        node = node.args[0]
    if node.op == "const":
        return str(int(node.attr.value))
    if node.op != "iota" or node.attr[1].value != 1:
        return None
    start = int(node.attr[0].value)
    return f"({start} + {index[0]})" if start else index[0]


def _declared(
    name: str, node: Node, start: str, step: int, other: str, count: int
) -> Iterator[str]:
    """Factors of the first elements, and rotations by more of them."""
    text, kind = template(node), register_type(node.dtype)
    assert text is not None

    def root(steps: str) -> str:
        return text.format(f"({steps})", f"({other})")

    for power in _powers(count):
        yield f"const {kind} {name}_by{power} = {root(str(power * step))};"
    yield f"{kind} {name}_low[{_LOW}], {name}_high[{-(-count // _LOW)}];"
    yield f"{name}_low[0] = {root(start)};"
    for k in range(1, _LOW):
        yield f"{name}_low[{k}] = {name}_low[{k - _top(k)}] * {name}_by{_top(k)};"
    for k in range(1, -(-count // _LOW)):
        turn = f"{name}_by{_LOW * _top(k)}"
        whole = turn if k == _top(k) else f"{name}_high[{k - _top(k)}] * {turn}"
        yield f"{name}_high[{k}] = {whole};"


def _powers(count: int) -> list[int]:
    return [1 << k for k in range((count - 1).bit_length())]


def _top(number: int) -> int:
    """The largest power of two in it."""
    return 1 << (number.bit_length() - 1)
