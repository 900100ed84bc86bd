"""The FFT of a row, whatever its kind: shapes, phases, table, and where elements are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..expr.node import Node
from ..runtime.cache import remembered
from .fft.bluestein import Bluestein, bluestein_phases, bluestein_shapes, bluestein_table
from .fft.real import RealFFT, real_phases, real_shapes, real_table
from .fft.shape import BlockFFT, shapes
from .fft.stage import Element
from .fft.stockham import phases, twiddle_table

RowFFT = BlockFFT | Bluestein | RealFFT

_SIGNS = {"r2c": -1, "c2r": 1}


def row_ffts(node: Node) -> tuple[RowFFT, ...]:
    """Ways to do a transform in one block, the best guess first; none when there is no way."""
    spec, double = node.attr, node.dtype.char in "dD"
    if spec.kind == "c2c":
        return shapes(spec.n, double) or bluestein_shapes(spec.n, double)
    if spec.sign != _SIGNS.get(spec.kind):
        return ()
    return real_shapes(spec.n, spec.kind == "c2r", double)


@remembered(128)
def row_phases(
    fft: RowFFT, sign: int, registers: str, shared: str, table: str
) -> tuple[tuple[str, ...], ...]:
    """Statements between barriers, as of ``fft.stockham.phases``."""
    match fft:
        case RealFFT():
            found = real_phases(fft, registers, shared, table)
        case Bluestein():
            found = bluestein_phases(fft, sign, registers, shared, table)
        case _:
            found = phases(fft, sign, registers, shared, table)
    return tuple(map(tuple, found))


def row_table(fft: RowFFT) -> np.ndarray:
    """The table that the phases read; empty when they read none."""
    match fft:
        case RealFFT():
            return real_table(fft)
        case Bluestein():
            return bluestein_table(fft)
    return twiddle_table(fft)


@dataclass(frozen=True, slots=True)
class Side:
    """Where the elements of a transform are before or after it, as seen by one thread.

    ``places`` are complex registers; in those of a ``packed`` side are two real elements,
    ``2 * index`` and ``2 * index + 1``; of another ``real`` one the imaginary part is no element.
    """

    places: tuple[Element, ...]
    threads: int
    real: bool
    packed: bool

    @property
    def is_regular(self) -> bool:
        """Is element ``t + i * threads`` in register i, for every thread?"""
        return all(
            p == Element(i, f"t + {i * self.threads}", p.guard) for i, p in enumerate(self.places)
        )

    @property
    def parts(self) -> int:
        """Elements of a register."""
        return 2 if self.packed else 1

    @property
    def count(self) -> int:
        """Elements of the busiest thread."""
        return len(self.places) * self.parts

    def functions(self, name: str) -> list[str]:
        """Register, index and guard of place i, for a loop that is unrolled."""
        if self.is_regular:
            return []
        registers = [str(p.register) for p in self.places]
        indices = [p.index for p in self.places]
        guards = [p.guard or "true" for p in self.places]
        return [
            f"DEVICE int {name}_register(int i) {{ return {_chosen(registers)}; }}",
            f"DEVICE int {name}_index(int i, int t) {{ return {_chosen(indices)}; }}",
            f"DEVICE bool {name}_guard(int i, int t) {{ return {_chosen(guards)}; }}",
        ]

    def loop(self, name: str, lines: Sequence[str], condition: str = "") -> list[str]:
        """Lines for each element ``e`` of the thread, in part ``p`` of register ``k``; the ``n``th
        of the thread's."""
        place = [
            f"const int k = {name}_register(i);",
            f"const index_t e = {self._element(f'{name}_index(i, t)')};",
        ]
        guard = f"{name}_guard(i, t)"
        if self.is_regular:
            last = self.places[-1].guard
            place = ["const int k = i;", f"const index_t e = {self._element(self._regular())};"]
            guard = f"(i < {len(self.places) - 1} || {last})" if last else ""
        elif not any(p.guard for p in self.places):
            guard = ""
        tests = " && ".join(t for t in (condition, guard) if t)
        inner = [*place, f"if ({tests}) {{" if tests else "{", *indented(lines), "}"]
        part = ["#pragma unroll", "for (int p = 0; p < 2; ++p) {", *indented(inner), "}"]
        return [
            "#pragma unroll",
            f"for (int i = 0; i < {len(self.places)}; ++i) {{",
            *indented(part if self.packed else inner),
            "}",
        ]

    @property
    def registers(self) -> Side:
        """The same with a register as one element."""
        return Side(self.places, self.threads, self.real, False)

    def pairs(self, name: str, lines: Sequence[str], condition: str = "") -> list[str]:
        """Lines for each two neighbours ``e`` and ``e1`` of a packed side."""
        element = ["const index_t e0 = e;", "{", "const index_t e = 2 * e0, e1 = e + 1;"]
        return self.registers.loop(name, [*element, *lines, "}"], condition)

    def _regular(self) -> str:
        return f"t + i * {self.threads}" if len(self.places) > 1 else "t"

    def _element(self, index: str) -> str:
        return f"2 * ({index}) + p" if self.packed else index

    def value(self, register: str) -> str:
        """The element of a register in the loop."""
        if self.packed:
            return f"(p ? {register}.im : {register}.re)"
        return f"{register}.re" if self.real else register


def before(fft: RowFFT) -> Side:
    """Where a transform wants its elements."""
    match fft:
        case RealFFT(inverse=False):
            return Side(fft.samples, fft.threads, True, fft.packed)
        case RealFFT():
            return Side(fft.bins, fft.threads, False, False)
    return Side(fft.places, fft.threads, False, False)


def after(fft: RowFFT) -> Side:
    """Where a transform leaves its elements."""
    match fft:
        case RealFFT(inverse=False):
            return Side(fft.bins, fft.threads, False, False)
        case RealFFT():
            return Side(fft.samples, fft.threads, True, fft.packed)
    return Side(fft.places, fft.threads, False, False)


def indented(lines: Sequence[str]) -> list[str]:
    """Lines one level deeper; directives stay at the margin."""
    return [line if line.startswith("#") else f"  {line}" for line in lines]


def _chosen(texts: Sequence[str]) -> str:
    *first, last = texts
    return "".join(f"i == {i} ? {text} : " for i, text in enumerate(first)) + last
