"""A block of threads at work on rows: its shape, and the names a thread has for its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..expr.node import Node
from . import indexing
from .casts import register_type
from .fft.padding import Padding, conflicts
from .fft.shape import SHARED_BYTES
from .fft.stage import Stage
from .row_fft import RowFFT, Side, after, before, indented
from .rows import Result, Rows

REGISTER_FILE = 65536  # of a multiprocessor
_SHARED_OF_SYSTEM = 1024  # of each block
_PITCHES = 17  # of pairs of reals: all that differ in banks, and one


@dataclass(frozen=True, slots=True)
class RowShape:
    """How a block shares out the work.

    Attributes
    ----------
    ffts : tuple of RowFFT
        One for each transform, all of the same number of threads.
    together : int
        Rows of a block.
    columns : bool
        Are neighbouring threads at neighbouring rows, rather than elements of one row?
    order : tuple of str
        The axes of the batch as rows are counted, the last one fastest.
    crossed : tuple of bool
        For each result: is it written along rows although it is read along elements, or the
        other way round? It then goes through shared memory once more.
    shares_loads : bool
        Are the elements of all rows of a block loaded side by side, what several rows read but
        once, and handed on through shared memory?
    """

    ffts: tuple[RowFFT, ...]
    together: int
    columns: bool
    order: tuple[str, ...]
    crossed: tuple[bool, ...]
    shares_loads: bool = False

    @property
    def row_threads(self) -> int:
        """Threads of one row."""
        return self.ffts[0].threads

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.row_threads * self.together


@dataclass(frozen=True, slots=True)
class Block:
    """Rows in a shape. ``strides`` are those of array inputs in items, by node identity.

    Rows along axes of the batch that no reduction runs over are *kept* apart, the others are gone
    *over* in a loop.
    """

    rows: Rows
    shape: RowShape
    strides: dict[int, tuple[int, ...]]

    @property
    def double(self) -> bool:
        return self.rows.transforms[0].dtype.char in "dD"

    @property
    def real_bytes(self) -> int:
        return 8 if self.double else 4

    @property
    def real(self) -> str:
        """The C++ type of a real."""
        return "double" if self.double else "float"

    # ---- rows that are kept, and rows that are gone over

    @property
    def reduced(self) -> tuple[str, ...]:
        """The axes that reductions run over."""
        return next((r.reduced for r in self.rows.results if r.reduced), ())

    @property
    def kept(self) -> list[str]:
        return [n for n in self.shape.order if n not in self.reduced]

    @property
    def over(self) -> list[str]:
        return [n for n in self.shape.order if n in self.reduced]

    @property
    def kept_rows(self) -> int:
        return math.prod(self.rows.batch[n] for n in self.kept)

    @property
    def over_rows(self) -> int:
        return math.prod(self.rows.batch[n] for n in self.over)

    @property
    def over_together(self) -> int:
        """Rows that a block goes over at a time."""
        lead_is_over = bool(self.shape.order) and self.shape.order[-1] in self.reduced
        spread = bool(self.reduced) and (not self.shape.columns or lead_is_over)
        return self.shape.together if spread else 1

    @property
    def kept_together(self) -> int:
        """Rows that a block keeps apart."""
        return self.shape.together // self.over_together

    # ---- transforms

    def is_wide(self, node: Node) -> bool:
        """Does the address of an input allow to load two elements at once?"""
        return self.rows.problem.alignment(node) % (2 * node.dtype.itemsize) == 0

    def before(self, number: int) -> Side:
        return before(self.shape.ffts[number])

    def after(self, number: int) -> Side:
        return after(self.shape.ffts[number])

    @property
    def loaded(self) -> int:
        """Registers' worth of elements that a row of the first transform is made of."""
        extent = self.rows.transforms[0].args[0].shape[self.rows.axis]
        return extent // self.before(0).parts

    def extent(self, number: int) -> int:
        """Elements of a row after a transform."""
        return self.rows.transforms[number].shape[self.rows.axis]

    @property
    def staged(self) -> frozenset[int]:
        """The transforms whose values other threads, or other registers, read next."""
        found = set(self.rows.moved)
        for number, read in enumerate(self.rows.reads):
            found |= {k for k in read if not _alike(self.after(k), self.before(number))}
        return frozenset(found)

    @property
    def is_possible(self) -> bool:
        """Is every value that goes through shared memory read before its place is taken, do
        spectra that are joined lie in the same registers, and does a block have the neighbours
        that are reduced to one?"""
        if not all(self._has_group(r) for r in self.rows.results):
            return False
        alone = self.shape.columns or self.shape.together == 1 or self.reduced
        if self.shape.shares_loads and alone:
            return False
        staged = self.staged
        late = {k for n, read in enumerate(self.rows.reads) for k in read if k != n - 1}
        joined = ((k, r.last) for r in self.rows.results for k in r.spectra)
        return not staged & late and all(_alike(self.after(k), self.after(j)) for k, j in joined)

    def _has_group(self, result: Result) -> bool:
        group, order = result.group, self.shape.order
        if group is None:
            return True
        if group.name not in self.rows.batch:
            return not self.reduced
        extents = (self.shape.together, self.rows.batch[group.name], group.first)
        whole = not any(extent % group.count for extent in extents)
        return not self.reduced and order[-1] == group.name and whole

    def is_late(self, k: int) -> bool:
        """Is a result made of what is in shared memory, after the transform?"""
        return self.shape.crossed[k] or self.rows.results[k].is_gathered

    def has_late(self, number: int) -> bool:
        """Has the transform such a result?"""
        return any(r.last == number and self.is_late(k) for k, r in enumerate(self.rows.results))

    @property
    def tables(self) -> tuple[RowFFT, ...]:
        """The transforms' tables, each once."""
        return tuple(dict.fromkeys(self.shape.ffts))

    # ---- shared memory

    @property
    def pitch(self) -> int:
        """Reals of shared memory of one row, as many more than needed as keep rows apart in
        banks."""
        least = self._row_reals
        if self.shape.together == 1 or not least:
            return least
        return min(range(least, least + 2 * _PITCHES, 2), key=lambda p: (self.bank_conflicts(p), p))

    def bank_conflicts(self, pitch: int) -> int:
        """Bank conflicts of the exchanges of FFTs, and of what is written in order."""
        shape, found = self.shape, 0
        alternating = shape.together if shape.columns else 1
        for fft in shape.ffts:
            unit = pitch // 2 if fft.unit_bytes > self.real_bytes else pitch
            found += conflicts(fft.exchanges, fft.padding, unit, fft.unit_bytes, alternating)
        for number in range(len(shape.ffts)):
            if number in self.staged or self.has_late(number):
                order = Stage(self.extent(number), shape.row_threads)
                ways = {alternating, 1 if shape.columns else shape.together}
                for way in ways if self.has_late(number) else {alternating}:
                    bytes_of_pair = 2 * self.real_bytes
                    found += conflicts(((order, order),), Padding(), pitch // 2, bytes_of_pair, way)
        return found

    @property
    def _row_reals(self) -> int:
        """Reals of shared memory that a row needs; an even number."""
        reals = max(f.shared_reals for f in self.shape.ffts)
        if self.shape.shares_loads:
            reals = max(reals, 2 * self.loaded)
        staged = self.staged
        for number in range(len(self.rows.transforms)):
            if number in staged or self.has_late(number):
                reals = max(reals, 2 * self.extent(number))
        if any(r.along for r in self.rows.results):  # a value and its place for each thread
            reals = max(reals, 16 * self.shape.row_threads // self.real_bytes)
        return reals + reals % 2

    @property
    def shared_bytes(self) -> int:
        """Of a block."""
        exchange = self.shape.together * self.pitch * self.real_bytes
        if self.over_together == 1:
            return exchange
        sums = [self._sum_bytes(r) for r in self.rows.results if r.reduced]
        return max([exchange, *sums])

    def _sum_bytes(self, result: Result) -> int:
        size = 4 if register_type(result.output.dtype) == "float" else result.output.dtype.itemsize
        return self.shape.together * self.extent(result.last) * size

    # ---- registers

    @property
    def wanted_blocks(self) -> int:
        """Blocks that a multiprocessor should hold, at the price of registers; 0 where that is
        left to the compiler, as it is for sums, which need registers of their own."""
        chain, most = len(self.shape.ffts) > 1, max(f.registers for f in self.shape.ffts)
        if self.double or self.reduced or any(r.along for r in self.rows.results):
            return 0
        wanted = 64 if most <= 16 else 128 if most <= 32 and chain else 0
        if not wanted:
            return 0
        by_registers = REGISTER_FILE // (wanted * self.shape.threads)
        shared = SHARED_BYTES + _SHARED_OF_SYSTEM
        return min(by_registers, shared // (self.shared_bytes + _SHARED_OF_SYSTEM))

    # ---- text

    def phase(self, lines: Sequence[str]) -> list[str]:
        """A phase with the thread's place in it."""
        return bare_phase([*self.place(), *self.row_names(), *lines])

    def place(self) -> list[str]:
        """The thread's row in the block and its number in the row."""
        together, threads = self.shape.together, self.shape.row_threads
        if self.shape.columns:
            t, f = f"thread_ / {together}", f"thread_ % {together}"
        else:
            t, f = f"thread_ % {threads}", f"thread_ / {threads}"
        return [f"const int t = {t}, f = {f};"]

    def row_names(self, over: bool = True) -> list[str]:
        """The indices of row ``f`` of the block, and whether there is such a row."""
        lines = [f"{self.real}* const s = ({self.real}*)shared_ + f * {self.pitch};"]
        tests = []
        for name, axes, total, together, first in (
            ("kept_", self.kept, self.kept_rows, self.kept_together, "group_"),
            ("over_", self.over if over else [], self.over_rows, self.over_together, "first_"),
        ):
            if not axes:
                continue
            scaled = f"group_ * {together}" if name == "kept_" and together > 1 else first
            text = f"{scaled} + f" if together > 1 else scaled
            lines += [f"const index_t {name} = {text};", f"ASSUME({name} >= 0);"]
            lines += self.axis_names(name, axes)
            if total % together:
                tests.append(f"{name} < {total}")
        if not self.kept and self.kept_together > 1:
            tests.append("f == 0")
        return [*lines, f"const bool live_ = {' && '.join(tests) or 'true'};"]

    def axis_names(self, position: str, axes: Sequence[str]) -> list[str]:
        """The indices of the axes of the row at a position."""
        parts = indexing.decompose(position, [self.rows.batch[a] for a in axes])
        return [f"const index_t {a} = {p};" for a, p in zip(axes, parts, strict=True)]


def bare_phase(lines: Sequence[str]) -> list[str]:
    """What all threads do before any goes on."""
    return ["PHASE", *indented(lines), "PHASE_END"]


def _alike(given: Side, wanted: Side) -> bool:
    """Are elements in the registers where they are wanted?"""
    if given.packed != wanted.packed:
        return False
    if given.is_regular and wanted.is_regular:
        return given.threads == wanted.threads
    return given.places == wanted.places
