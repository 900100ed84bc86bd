"""What threads of a block do in turn: load, transform, store."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import indexing
from .casts import register_type, stored
from .ctypes import c_type
from .printer import Printer
from .reductions import combination, identity
from .relation import Placement
from .row_along import begin, element, tree
from .row_block import Block, bare_phase
from .row_fft import Side, indented, row_phases
from .row_roots import RowPrinter
from .rows import ELEMENT, Result, load_printer

_MOST_TESTS = 3  # of the row, before loads


def all_phases(block: Block) -> list[str]:
    """All that is done for the rows that a block has at a time."""
    pending: list[str] = []
    lines: list[str] = []
    staged = block.staged

    def close() -> None:
        lines.extend(block.phase(pending))
        pending.clear()

    for number, node in enumerate(block.rows.transforms):
        fft = block.shape.ffts[number]
        if number == 0 and block.shape.shares_loads:
            lines += bare_phase(load_rows_together(block))
            pending += _loaded_together(block)
            close()
        else:
            pending += load(block, number)
        if number:
            close()
        table = f"tw{block.tables.index(fft)}"
        for k, part in enumerate(row_phases(fft, node.attr.sign, f"r.x{number}", "s", table)):
            if k:
                close()
            pending += ["{", *indented(part), "}"]
        for k, result in enumerate(block.rows.results):
            if result.last == number and not block.is_late(k):
                pending += store(block, k)
        for k, result in enumerate(block.rows.results):
            if result.last == number and result.along:
                for step in tree(block, k):
                    close()
                    pending += step
                close()
        if number in staged or block.has_late(number):
            close()
            pending += stage(block, number)
            close()
        for k, result in enumerate(block.rows.results):
            if result.last == number and block.is_late(k):
                lines += bare_phase(late_store(block, k))
    if pending:
        close()
    return lines


def load(block: Block, number: int, taken: dict[str, bool] | None = None) -> list[str]:
    """What a transform reads, into registers.

    What depends on the row alone, such as which of several joined arrays it lies in, is tested
    before the loop over its elements, so that their loads follow one another; ``taken`` are the
    conditions tested so far.
    """
    side, taken = block.before(number), taken or {}
    printer, value = _loaded(block, number, None if side.packed else side, taken)
    if printer.open_conditions and len(taken) < _MOST_TESTS:
        condition = printer.open_conditions[0]
        ways = [load(block, number, {**taken, condition: holds}) for holds in (True, False)]
        return [
            f"if ({condition}) {{",
            *indented(ways[0]),
            "} else {",
            *indented(ways[1]),
            "}",
        ]
    lines = [*_stripped(printer), f"r.x{number}[k] = {value};"]
    if side.packed:
        return side.pairs(f"before{number}", lines, "live_")
    return _after(printer.before, side.loop(f"before{number}", lines, "live_"))


def _loaded(
    block: Block, number: int, known: Side | None, taken: dict[str, bool] | None = None
) -> tuple[RowPrinter, str]:
    """The statements that load element ``e`` of a transform, or a pair, and its complex value;
    ``known`` tells which elements a thread has where that is of use, ``taken`` which conditions on
    the row hold."""
    node, staged, side = block.rows.transforms[number], block.staged, block.before(number)

    def text(earlier: int, element: str) -> str:
        if earlier in staged:
            return _staged_value(block, earlier, element)
        register = f"r.x{earlier}[k]"
        if side.packed:
            return f"{register}.{'re' if element == ELEMENT else 'im'}"
        return block.after(earlier).value(register)

    printer = load_printer(block.rows, number, block.strides, text, known)
    printer.taken = taken or {}
    if side.packed:
        printer.twins = (ELEMENT, f"{ELEMENT}1")
        printer.wide = frozenset(id(n) for n in block.rows.problem.inputs if block.is_wide(n))
        parts = [printer.element(node.args[0], block.rows.index(name)) for name in printer.twins]
        return printer, f"make<{block.real}>({', '.join(parts)})"
    value = printer.element(node.args[0], block.rows.index())
    is_complex = node.args[0].dtype.kind == "c"
    return printer, value if is_complex else f"make<{block.real}>({value}, 0)"


def load_rows_together(block: Block) -> list[str]:
    """An element of every row of the block by one thread, to shared memory: what several rows read
    is loaded once. Rows beyond the last are left out in a block that has such."""
    printer, value = _loaded(block, 0, None)
    together, kind = block.shape.together, f"complex_t<{block.real}>"
    element = "e = 2 * q, e1 = e + 1" if block.before(0).packed else "e = q"
    body = [*block.row_names(), *_stripped(printer)]
    row = f"(({kind}*)(({block.real}*)shared_ + f * {block.pitch}))[q]"
    rows = f"for (int f = 0; f < {together}; ++f)"
    whole = [
        f"{kind} loaded_[{together}];",
        "#pragma unroll",
        f"{rows} {{",
        *indented([*body, f"loaded_[f] = {value};"]),
        "}",
        "#pragma unroll",
        f"{rows} {row} = loaded_[f];",
    ]
    guarded = ["if (live_) {", *indented([*_stripped(printer), f"{row} = {value};"]), "}"]
    part = ["#pragma unroll 1", f"{rows} {{", *indented([*block.row_names(), *guarded]), "}"]
    full, last = divmod(block.kept_rows, together)
    if last:
        whole = [
            f"if (group_ < {full}) {{",
            *indented(whole),
            "} else {",
            *indented(part),
            "}",
        ]
    return [
        f"for (int q = thread_; q < {block.loaded}; q += THREADS) {{",
        *indented([f"const index_t {element};", *whole]),
        "}",
    ]


def _loaded_together(block: Block) -> list[str]:
    """What ``load_rows_together`` loaded, into registers."""
    line = f"r.x0[k] = ((complex_t<{block.real}>*)s)[e];"
    return block.before(0).registers.loop("before0", [line], "live_")


def stage(block: Block, number: int) -> list[str]:
    """A transform's values to shared memory, in order."""
    side = block.after(number)
    value = side.value(f"r.x{number}[k]")
    return side.loop(f"after{number}", [f"{_staged_value(block, number, ELEMENT)} = {value};"])


def _staged_value(block: Block, number: int, element: str) -> str:
    """A value of a transform in shared memory."""
    real = block.rows.transforms[number].dtype.kind != "c"
    return f"s[{element}]" if real else f"((complex_t<{block.real}>*)s)[{element}]"


def store(block: Block, k: int) -> list[str]:
    """A result from registers: stored, or added to the thread's totals."""
    result = block.rows.results[k]
    before: list[str] = []
    side = block.after(result.last)
    lines = _result(block, k, side, before)
    stores = _after(before, side.loop(f"after{result.last}", lines, "live_"))
    return [begin(k, result), *stores] if result.along else stores


def _after(before: Sequence[str], loop: Sequence[str]) -> list[str]:
    """A loop after what its elements share."""
    return ["{", *indented([*before, *loop]), "}"] if before else [*loop]


def late_store(block: Block, k: int) -> list[str]:
    """A result made of what is in shared memory."""
    result = block.rows.results[k]
    if result.is_gathered:
        return gathered_store(block, k)
    return crossed_store(block, k) if result.group is None else grouped_store(block, k)


def crossed_store(block: Block, k: int) -> list[str]:
    """A result read from shared memory and written along the other direction."""
    extent, together = block.extent(block.rows.results[k].last), block.shape.together
    along_rows = (f"q % {together}", f"q / {together}")
    along_elements = (f"q / {extent}", f"q % {extent}")
    f, e = along_elements if block.shape.columns else along_rows
    return [
        "#pragma unroll 4",
        f"for (int q = thread_; q < {extent * together}; q += THREADS) {{",
        *indented(
            [
                f"const int f = {f}, e = {e};",
                *block.row_names(),
                "if (live_) {",
                *indented(_result(block, k)),
                "}",
            ]
        ),
        "}",
    ]


def gathered_store(block: Block, k: int) -> list[str]:
    """A result each element of which reads what it needs of its row in shared memory."""
    result, together = block.rows.results[k], block.shape.together
    names = indexing.input_names(block.rows.problem.inputs)
    printer = Printer(names, block.strides, indent=0)
    spectrum = block.rows.transforms[result.last]
    printer.held[id(spectrum)] = lambda index: _staged_value(
        block, result.last, index[block.rows.axis]
    )
    shape = result.output.shape
    index = tuple("0" if n == 1 else f"o{a}" for a, n in enumerate(shape))
    value = printer.element(result.output, index)
    inner = iter(indexing.decompose("m", result.within))
    places = [name or next(inner) for name in result.rows]
    own = [f"const index_t o{a} = {place};" for a, place in enumerate(places) if shape[a] != 1]
    size = math.prod(result.within)
    f, m = (
        (f"q % {together}", f"q / {together}")
        if block.shape.columns
        else (f"q / {size}", f"q % {size}")
    )
    end = f"out{k}[{indexing.horner(index, shape)}] = {stored(value, result.output.dtype)};"
    return [
        f"for (int q = thread_; q < {size * together}; q += THREADS) {{",
        *indented(
            [
                f"const int f = {f}, m = {m};",
                *block.row_names(),
                "if (live_) {",
                *indented([*own, *_stripped(printer), end]),
                "}",
            ]
        ),
        "}",
    ]


def grouped_store(block: Block, k: int) -> list[str]:
    """Neighbours read from shared memory, reduced to one in order, and that one written."""
    result = block.rows.results[k]
    extent, together = block.extent(result.last), block.shape.together
    assert result.group is not None
    count, start, (placement,) = result.group.count, result.group.first, result.placements
    if result.group.name == ELEMENT:
        per_row = (extent - start) // count
        total = per_row * together
        first = f"f = q / {per_row}, e = {start} + q % {per_row} * {count}"
    else:
        total = extent * together // count
        first = f"e = q / {together // count}, f = q % {together // count} * {count}"
    kept = range(result.value.ndim - 1)
    index = [placement.index[id(result.value)][a] for a in kept]
    place = indexing.horner(index, [result.value.shape[a] for a in kept])
    guard = " && ".join(["live_", *(f"({g})" for g in placement.guards)])
    each = [f"const int {first} + r;", *block.row_names(), "if (live_)", *_result(block, k)]
    lines = [
        f"{register_type(result.output.dtype)} total = {identity(result.output)};",
        "#pragma unroll",
        f"for (int r = 0; r < {count}; ++r) {{",
        *indented(each),
        "}",
        f"const int {first};",
        *block.row_names(),
        f"if ({guard}) out{k}[{place}] = {stored('total', result.output.dtype)};",
    ]
    loop = f"for (int q = thread_; q < {total}; q += THREADS) {{"
    return [loop, *indented(lines), "}"]


def _result(
    block: Block, k: int, side: Side | None = None, before: list[str] | None = None
) -> list[str]:
    """One element of a result, from the elements of the transforms it is made of.

    ``side`` tells which elements a thread has, None that they are read from shared memory.
    """
    result = block.rows.results[k]
    shared = [] if before is None else before
    printed = [_printed(block, result, p, side, shared) for p in range(len(result.placements))]
    if len(printed) == 2 and _side_by_side(result):
        (first, real, place), (second, imag, _) = printed
        kind = c_type(result.output.dtype)
        pair = ", ".join(f"({kind}){stored(v, result.output.dtype)}" for v in (real, imag))
        both = f"*(complex_t<{kind}>*)(out{k} + {place}) = make<{kind}>({pair});"
        guard = _guard(result.placements[0])
        return [f"{guard}{{", *indented([*_stripped(first), *_stripped(second), both]), "}"]
    lines: list[str] = []
    for (printer, value, place), placement in zip(printed, result.placements, strict=True):
        if result.along:
            end = element(k, result, value, placement.index[id(result.value)])
        elif result.reduced or result.group:
            own = f"r.total{k}[{total_place(block, result)}]"
            total = "total" if result.group else own
            end = [f"{total} = {_with(result, placement, printer, total, value)};"]
        else:
            end = [f"out{k}[{place}] = {stored(value, result.output.dtype)};"]
        lines += [f"{_guard(placement)}{{", *indented([*_stripped(printer), *end]), "}"]
    return lines


def _with(result: Result, placement: Placement, printer: Printer, total: str, value: str) -> str:
    """A total and one more value; two multiplications and additions in one for a power."""
    power = result.value
    if result.output.op == "sum" and power.op == "abs2" and power.dtype == result.output.dtype:
        z = printer.element(power.args[0], placement.index[id(power)])
        return f"plus_abs2_({total}, {z})"
    return combination(result.output).format(total, value)


def _guard(placement: Placement) -> str:
    """The condition under which an element is used at all."""
    text = " && ".join(f"({g})" for g in placement.guards)
    return f"if ({text}) " if text else ""


def total_place(block: Block, result: Result) -> str:
    """Which of the thread's totals the element of the loop belongs to."""
    return "i * 2 + p" if block.after(result.last).packed else "i"


def _printed(
    block: Block, result: Result, part: int, side: Side | None, before: list[str]
) -> tuple[Printer, str, str]:
    """The statements of a part of a result, its value, and its place in C order."""
    placement = result.placements[part]
    names = indexing.input_names(block.rows.problem.inputs)
    printer = RowPrinter(names, block.strides, indent=0, count=1000 * part, before=before)
    printer.side, printer.element_name = side, ELEMENT
    spectra = {id(block.rows.transforms[n]): n for n in result.spectra}
    for key, number in spectra.items():
        staged = _staged_value(block, number, ELEMENT)
        text = staged if side is None else block.after(number).value(f"r.x{number}[k]")
        printer.held[key] = lambda index, text=text: text  # type: ignore[misc]
    placed = {i: index for i, index in placement.index.items() if i not in spectra}
    printer.placed = {i: tuple(map(printer.index, index)) for i, index in placed.items()}
    own = printer.placed.get(id(result.value), placement.index[id(result.value)])
    value = printer.element(result.value, own)
    if result.reduced or result.along or result.group:
        return printer, value, ""
    if result.output is not result.value:  # over axes of one element
        value = combination(result.output).format(identity(result.output), value)
    shape = [result.value.shape[a] for a in result.axes]
    return printer, value, indexing.horner([own[a] for a in result.axes], shape)


def _side_by_side(result: Result) -> bool:
    """Do the two parts of a complex number lie beside each other?"""
    first, second = (p.index[id(result.value)] for p in result.placements)
    alike = result.placements[0].guards == result.placements[1].guards
    ends = (first[-1], second[-1]) == ("0", "1") and result.value.shape[-1] == 2
    return ends and first[:-1] == second[:-1] and alike and result.output.dtype.char != "e"


def _stripped(printer: Printer) -> Sequence[str]:
    return [line.strip() for line in printer.lines]
