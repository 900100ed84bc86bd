"""Which rows a kernel of our own works on: transforms of equal batch, loads, results.

A *row* is the values along the transformed axis for one index of the others. A kernel fits a
problem when everything a row's transforms read, beside operands, is of the same row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import OPS
from .indexing import Index, input_names
from .printer import Printer
from .reductions import is_inline
from .relation import Placement
from .row_fft import Side
from .row_groups import Group, group_of
from .row_roots import RowPrinter

ELEMENT = "e"
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all")
ALONG = (*REDUCTIONS, "argmax", "argmin")
_MOST_TRANSFORMS = 4


class OtherRowError(Exception):
    """A value of another row is read, or one that is no longer there."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a row gives: ``value`` is stored element by element, or reduced over rows into
    ``output``.

    ``spectra`` are the transforms it is made of, by number; ``placements`` say where the elements
    of the last of them go; ``reduced`` names the axes of the batch that a reduction runs over, or
    it runs over a ``group`` of neighbours, or ``along`` the elements of a row. A *gathered* result
    reads any elements of its row: ``rows`` are the axes of the batch that its axes stand for, ""
    for those within a row.
    """

    output: Node
    value: Node
    spectra: tuple[int, ...]
    placements: tuple[Placement, ...]
    reduced: tuple[str, ...] = ()
    group: Group | None = None
    along: bool = False
    rows: tuple[str, ...] = ()

    @property
    def is_gathered(self) -> bool:
        """Are its elements made of any elements of a row?"""
        return not self.placements

    @property
    def within(self) -> tuple[int, ...]:
        """Extents of the axes within a row."""
        pairs = zip(self.rows, self.output.shape, strict=True)
        return tuple(n for name, n in pairs if not name)

    @property
    def last(self) -> int:
        """The transform after which the result is known."""
        return max(self.spectra)

    @property
    def axes(self) -> list[int]:
        """The axes of the value that the output has."""
        gone = () if self.output is self.value else self.output.attr[0]
        return [a for a in range(self.value.ndim) if a not in gone]

    @property
    def kept_guards(self) -> list[str]:
        """The conditions under which a total is used, not only an element of it."""
        (placement,) = self.placements
        return [g for g in placement.guards if not mentioned(g) & set(self.reduced)]


@dataclass(frozen=True, slots=True)
class Rows:
    """Transforms along one axis, ``batch`` being the extents of the others, by name.

    ``reads`` says which earlier transforms each load reads; ``moved`` are those of which a load
    reads other elements than its own.
    """

    problem: Problem
    transforms: tuple[Node, ...]
    axis: int
    batch: dict[str, int]
    results: tuple[Result, ...]
    reads: tuple[frozenset[int], ...] = ()
    moved: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """Rows in all."""
        return math.prod(self.batch.values())

    def index(self, element: str = ELEMENT) -> Index:
        """The index of an element of a row."""
        ndim = self.transforms[0].ndim
        return _index(self.transforms[0].shape, self.axis, ndim, element)


def rows_of(problem: Problem) -> Rows | str | None:
    """The problem as rows; why it is none; None when there is no transform in it."""
    transforms = tuple(n for n in problem.nodes if n.op == "dft")
    if not transforms:
        return None
    reason = _unlike(transforms)
    if reason:
        return reason
    first, axis = transforms[0], transforms[0].attr.axis
    batch = {f"b{a}": n for a, n in enumerate(first.shape) if a != axis and n != 1}
    results = []
    for output in problem.outputs:
        result = _result(output, problem, transforms, axis)
        if isinstance(result, str):
            result = _gathered(output, problem, transforms, axis) or result
        if isinstance(result, str):
            return result
        results.append(result)
    if len({r.reduced for r in results if r.reduced}) > 1:
        return "reductions over different axes"
    found = Rows(problem, transforms, axis, batch, tuple(results))
    try:
        tries = [_try(found, number) for number in range(len(transforms))]
    except OtherRowError as error:
        return str(error)
    reads = tuple(frozenset(read) for read, _ in tries)
    return replace(found, reads=reads, moved=frozenset().union(*(m for _, m in tries)))


def _unlike(transforms: Sequence[Node]) -> str:
    """What keeps transforms from sharing a kernel."""
    first = transforms[0]
    if len(transforms) > _MOST_TRANSFORMS:
        return f"more than {_MOST_TRANSFORMS} transforms"
    for node in transforms:
        if node.attr.scale != 1.0:
            return "the transform has a scale"
        if node.attr.axis != first.attr.axis or node.ndim != first.ndim:
            return "transforms over different axes"
        if any(
            n != m
            for a, (n, m) in enumerate(zip(node.shape, first.shape, strict=True))
            if a != first.attr.axis
        ):
            return "transforms of different batches"
        if node.dtype.char.lower() != first.dtype.char.lower():
            return "transforms of different precision"
    return ""


def _index(shape: tuple[int, ...], axis: int, ndim: int, element: str) -> Index:
    return tuple(element if a == axis else "0" if shape[a] == 1 else f"b{a}" for a in range(ndim))


def _result(output: Node, problem: Problem, transforms: Sequence[Node], axis: int) -> Result | str:
    reduces = OPS[output.op].kind == "reduce"
    if reduces and output.op not in ALONG:
        return f"{output.op} over rows"
    value = output.args[0] if reduces else output
    between = _between(value, problem, transforms)
    spectra = tuple(
        k for k, t in enumerate(transforms) if t is value or any(t in n.args for n in between)
    )
    if not spectra:
        return "a result that no transform makes"
    chosen = [transforms[k] for k in spectra]
    if any(t.shape != chosen[-1].shape for t in chosen):
        return "spectra of different lengths"
    index = _index(chosen[-1].shape, axis, chosen[-1].ndim, ELEMENT)
    parts = (0, 1) if any(n.op == "unpair" for n in between) else (0,)
    placements = tuple(Placement(between, chosen[-1], p, index, chosen[:-1]) for p in parts)
    reason = next((p.reason for p in placements if p.reason), "")
    if reason:
        return reason
    if any(OPS[n.op].kind in ("reduce", "transform", "opaque") for n in between if n not in chosen):
        return "a reduction inside a row"
    if value.size > chosen[-1].size * len(parts):
        return "the result has elements that are no element of the spectrum"
    if not reduces:
        return Result(output, value, spectra, placements)
    return _reduction(output, value, spectra, placements)


def _reduction(
    output: Node, value: Node, spectra: tuple[int, ...], placements: tuple[Placement, ...]
) -> Result | str:
    axes = output.attr[0]
    if len(placements) > 1:
        return "a reduction of parts"
    index = placements[0].index[id(value)]
    group = group_of(output, index)
    alone = len(spectra) == 1 and len(placements[0].guards) <= 1
    if group is not None and is_inline(output) and alone:
        return Result(output, value, spectra, placements, group=group)
    reduced = {index[a] for a in axes if index[a] != "0"}
    kept = {index[a] for a in range(value.ndim) if a not in axes}
    if any(ELEMENT in mentioned(text) for text in reduced):
        return _along(output, value, spectra, placements, reduced, kept)
    if output.op not in REDUCTIONS:
        return f"{output.op} over rows"
    if not all(text.isidentifier() and text != ELEMENT for text in reduced):
        return "a reduction along the transform"
    guards = [{w for w in mentioned(g) if not w.isdigit()} for g in placements[0].guards]
    mixed = any(words & reduced and not words <= reduced for words in guards)
    if mixed or any(mentioned(text) & reduced for text in kept):
        return "a reduction over a part of an axis"
    return Result(output, value, spectra, placements, tuple(sorted(reduced)))


def _along(
    output: Node,
    value: Node,
    spectra: tuple[int, ...],
    placements: tuple[Placement, ...],
    reduced: set[str],
    kept: set[str],
) -> Result | str:
    """A reduction over all elements of a row, and nothing else."""
    names = {w for text in reduced for w in mentioned(text) if not w.isdigit()}
    if names != {ELEMENT} or any(ELEMENT in mentioned(text) for text in kept):
        return "a reduction over a part of a row"
    return Result(output, value, spectra, placements, along=True)


def mentioned(text: str) -> set[str]:
    """The words of an expression."""
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def _gathered(
    output: Node, problem: Problem, transforms: Sequence[Node], axis: int
) -> Result | None:
    """A result each element of which is made of a few elements of one row; None for others."""
    if OPS[output.op].kind == "reduce" and not is_inline(output):
        return None
    last = transforms[-1]
    index = tuple("0" if n == 1 else f"o{a}" for a, n in enumerate(output.shape))
    found: set[Index] = set()
    printer = Printer(
        {id(n): "p" for n in problem.inputs}, {id(n): (0,) * n.ndim for n in problem.inputs}
    )
    for number, node in enumerate(transforms):
        printer.held[id(node)] = partial(_recorded, found, number == len(transforms) - 1)
    try:
        printer.element(output, index)
    except OtherRowError:
        return None
    batches = {tuple(i for a, i in enumerate(read) if a != axis) for read in found}
    if len(batches) != 1:
        return None
    (batch,) = batches
    axes = [a for a in range(last.ndim) if a != axis]
    rows = {i: f"b{a}" for a, i in zip(axes, batch, strict=True) if last.shape[a] != 1}
    named = tuple(
        rows.get(i, "") if n != 1 else "" for i, n in zip(index, output.shape, strict=True)
    )
    if len(rows) != sum(last.shape[a] != 1 for a in axes) or sorted(rows.values()) != sorted(
        name for name in named if name
    ):
        return None
    return Result(output, output, (len(transforms) - 1,), (), rows=named)


def _recorded(found: set[Index], is_last: bool, index: Index) -> str:
    if not is_last:
        raise OtherRowError("a result of more than one transform")
    found.add(index)
    return "0"


def _between(value: Node, problem: Problem, transforms: Sequence[Node]) -> list[Node]:
    """The computed nodes between the transforms and a value that are made of a transform."""
    stops = {id(t) for t in transforms}
    depends = set(stops)
    for node in problem.nodes:
        if id(node) not in stops and any(id(a) in depends for a in node.args):
            depends.add(id(node))
    found: set[int] = set()
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in found or id(node) in stops or id(node) not in depends:
            continue
        found.add(id(node))
        waiting += node.args
    return [n for n in problem.nodes if id(n) in found]


def _try(rows: Rows, number: int) -> tuple[set[int], set[int]]:
    """The earlier transforms that a load reads, and those it reads at other elements.

    Raises
    ------
    OtherRowError
        When the load reads another row, or a spectrum whose place has been taken.
    """
    read: set[int] = set()
    moved: set[int] = set()

    def text(earlier: int, element: str) -> str:
        read.add(earlier)
        if element not in (ELEMENT, f"{ELEMENT}1"):
            moved.add(earlier)
        return "0"

    printer = load_printer(rows, number, {}, text)
    printer.element(rows.transforms[number].args[0], rows.index())
    if any(k != number - 1 for k in moved):
        raise OtherRowError("a spectrum that is moved and used later")
    return read, moved


def load_printer(
    rows: Rows,
    number: int,
    strides: dict[int, tuple[int, ...]],
    text: Callable[[int, str], str],
    side: Side | None = None,
) -> RowPrinter:
    """A printer of what transform ``number`` reads.

    ``text`` gives that of an element of an earlier transform, by its number; ``side`` tells which
    elements a thread reads.
    """
    problem = rows.problem
    names = input_names(problem.inputs)
    zeros = {id(n): (0,) * n.ndim for n in problem.inputs}
    printer = RowPrinter(names, strides or zeros, indent=0, side=side, element_name=ELEMENT)
    printer.row_names = frozenset(rows.batch)
    for earlier in range(number):
        printer.held[id(rows.transforms[earlier])] = partial(_read, rows, earlier, text)
    return printer


def _read(rows: Rows, earlier: int, text: Callable[[int, str], str], index: Index) -> str:
    node = rows.transforms[earlier]
    for a, (asked, here) in enumerate(zip(index, rows.index(), strict=True)):
        if a != rows.axis and asked != here and node.shape[a] != 1:
            raise OtherRowError("a transform reads another row")
    return text(earlier, index[rows.axis])
