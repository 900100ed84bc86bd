"""Shapes of a row kernel: rows of a block, which way threads run, FFTs; the best guesses first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from .fft.shape import SHARED_BYTES
from .indexing import horner
from .row_block import REGISTER_FILE, Block, RowShape
from .row_fft import RowFFT, row_ffts
from .rows import ELEMENT, Rows, load_printer
from .steps import steps

_MOST_THREADS = 1024
_GOOD_SHARED = 113 * 1024  # two blocks on a multiprocessor
_ROW_THREADS = 128
_MOST_REGISTERS = 36
_SIDE_BY_SIDE_BYTES = 128
_CROSSED_ROWS = 16
_MANY_LOADS = 4  # of one array for one element: more than half of them other rows load as well
_LOAD = re.compile(r"\bp(\d+)(?:\[| \+ )([^\];]*)")


def row_shapes(rows: Rows, strides: dict[int, tuple[int, ...]], count: int) -> tuple[RowShape, ...]:
    """Up to ``count`` shapes, the best guess first; none when no FFT fits a block."""
    loads = [_loads(rows, number, strides) for number in range(len(rows.transforms))]
    read, written = _load_direction(rows, loads), _store_directions(rows)
    columns = read != ELEMENT
    lead = read if columns else next((w for w in written if w not in ("", ELEMENT)), "")
    order = (*(n for n in rows.batch if n != lead), *((lead,) if lead in rows.batch else ()))
    other = tuple(
        len(result.spectra) == 1 and w not in ("", read) and ELEMENT in (read, w)
        for result, w in zip(rows.results, written, strict=True)
    )
    groups = [r.group for r in rows.results]
    crossed = tuple(o or g is not None for o, g in zip(other, groups, strict=True))
    along = any(other) or any(g is not None and g.name != ELEMENT for g in groups)
    sharing = (True, False) if _reads_rows_again(loads[0]) else (False,)
    found: list[RowShape] = []
    for ffts in _equal_threads(rows):
        for together in _together(rows, ffts, columns, along, order):
            for shares in sharing:
                shape = RowShape(ffts, together, columns, order, crossed, shares)
                if shape not in found and Block(rows, shape, strides).is_possible:
                    found.append(shape)
    return tuple(_best_first(found)[:count])


def _best_first(found: Sequence[RowShape]) -> list[RowShape]:
    """The first choice of rows for each FFT before the second choices."""
    seen: dict[tuple[RowFFT, ...], int] = {}
    ranked = []
    for k, shape in enumerate(found):
        turn = seen.get(shape.ffts, 0)
        seen[shape.ffts] = turn + 1
        ranked.append((turn + list(seen).index(shape.ffts), k, shape))
    return [shape for _, _, shape in sorted(ranked, key=lambda r: r[:2])]


def _equal_threads(rows: Rows) -> Iterator[tuple[RowFFT, ...]]:
    """FFTs of all transforms that use the same number of threads."""
    choices = [_of_few_registers(row_ffts(n)) for n in rows.transforms]
    for first in choices[0]:
        others = [_like(first, some) for some in choices[1:]]
        if all(f is not None for f in others):
            yield (first, *(f for f in others if f is not None))


def _of_few_registers(ffts: tuple[RowFFT, ...]) -> tuple[RowFFT, ...]:
    """Those that leave registers for what is around them, if there are any."""
    return tuple(f for f in ffts if f.registers <= _MOST_REGISTERS) or ffts


def _like(first: RowFFT, some: tuple[RowFFT, ...]) -> RowFFT | None:
    """The FFT itself, or another one of as many threads."""
    return first if first in some else next((f for f in some if f.threads == first.threads), None)


def _together(
    rows: Rows, ffts: tuple[RowFFT, ...], columns: bool, crossed: bool, order: Sequence[str]
) -> list[int]:
    """How many rows a block takes."""
    threads = ffts[0].threads
    double = rows.transforms[0].dtype.char in "dD"
    real_bytes = 8 if double else 4
    extents = [n.shape[rows.axis] for n in rows.transforms]
    row_bytes = max([f.shared_reals for f in ffts] + [2 * n for n in extents]) * real_bytes
    lead = rows.batch[order[-1]] if order else 1
    if columns or crossed:
        wanted = _SIDE_BY_SIDE_BYTES // (2 * real_bytes) if columns else _CROSSED_ROWS
        choices = [wanted, wanted * 2, wanted // 2, wanted // 4, wanted // 8]
        available = lead if any(r.reduced for r in rows.results) else rows.count
    else:
        first = max(1, _ROW_THREADS // threads)
        choices = [first, first * 2, max(1, first // 2)]
        available = rows.count
    registers = threads * (max(f.registers for f in ffts) * (4 if double else 2) + 32)
    most = 2 ** math.ceil(math.log2(available))
    fitting = [
        f
        for f in dict.fromkeys(max(1, min(f, most)) for f in choices)
        if f * threads <= _MOST_THREADS
        and f * row_bytes <= SHARED_BYTES
        and f * registers <= REGISTER_FILE
    ]
    if not fitting and row_bytes <= SHARED_BYTES:
        fitting = [1]
    return sorted(fitting, key=lambda f: f * row_bytes > _GOOD_SHARED)


def _loads(rows: Rows, number: int, strides: dict[int, tuple[int, ...]]) -> list[str]:
    """The statements that load an element of a transform."""
    printer = load_printer(rows, number, strides, lambda earlier, element: "0")
    printer.element(rows.transforms[number].args[0], rows.index())
    return printer.lines


def _load_direction(rows: Rows, loads: Sequence[Sequence[str]]) -> str:
    """What neighbours in memory differ by where most bytes are read: the element or an axis."""
    found, most = ELEMENT, 0
    for lines in loads:
        positions = _positions(lines)
        for k, leaf in enumerate(rows.problem.inputs):
            if k not in positions or leaf.op == "scalar" or leaf.nbytes <= most:
                continue
            name = _nearest(steps(positions[k], _definitions(lines)), rows)
            if name:
                found, most = name, leaf.nbytes
    return found


def _reads_rows_again(lines: Sequence[str]) -> bool:
    """Is an element made of several of one array, as a sum over taps is?"""
    counts = Counter(n for line in lines for n, _ in _LOAD.findall(line))
    return max(counts.values(), default=0) >= _MANY_LOADS


def _nearest(moved: dict[str, float], rows: Rows) -> str:
    """The element or the axis of the batch that moves least; the element where both do as much."""
    names = [n for n in (ELEMENT, *rows.batch) if n in moved]
    return min(names, key=lambda n: abs(moved[n]), default="")


def _positions(lines: Sequence[str]) -> dict[int, str]:
    """Where an input is first read, in items, by its number."""
    found: dict[int, str] = {}
    for line in lines:
        for number, text in _LOAD.findall(line):
            found.setdefault(int(number), text)
    return found


def _definitions(lines: Sequence[str]) -> dict[str, str]:
    found = {}
    for line in lines:
        text = line.strip()
        if text.startswith("const index_t "):
            name, _, value = text.removeprefix("const index_t ").rstrip(";").partition(" = ")
            found[name] = value
    return found


def _store_directions(rows: Rows) -> list[str]:
    """For each result, what neighbours in memory differ by; empty for sums over rows."""
    found = []
    for result in rows.results:
        if result.is_gathered:
            found.append("")
            continue
        place = horner(result.placements[0].index[id(result.value)], result.value.shape)
        found.append("" if result.reduced or result.along else _nearest(steps(place), rows))
    return found
