"""cuFFT's load and store callbacks as text: device functions with the names it inlines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..expr.node import Node, format_graph
from ..expr.user_function import UserFunction
from . import indexing
from .casts import number_type, stored
from .ctypes import PREAMBLE, c_type
from .printer import Printer
from .relation import Placement, names
from .user_code import called, definitions, wrappers

_CUFFT_TYPES = {"F": "float2", "D": "double2", "f": "float", "d": "double"}
_CUFFT_NAMES = {"F": "Complex", "D": "DoubleComplex", "f": "Real", "d": "DoubleReal"}


@dataclass(frozen=True, slots=True)
class Slots:
    """The block of 8-byte words that both callbacks read: addresses and numbers.

    ``words`` says at which word each input is, by node identity; ``data`` is the array a load
    callback gets as cuFFT's own input, ``shift`` the word that says how many bytes it lies behind
    the aligned address cuFFT is given, ``result`` the word of the result's address when it is not
    cuFFT's own output.
    """

    words: dict[int, int]
    count: int
    alignment: int
    data: Node | None
    shift: int | None
    result: int | None


def assign_slots(
    inputs: Sequence[Node],
    needed: set[int],
    data: Node | None,
    result_apart: bool,
    alignment: int,
    shifted: bool,
) -> Slots:
    """Words for the inputs that are needed through the block; ``alignment`` in bytes is what cuFFT
    asks of the addresses it is given, whatever is read there. The data are ``shifted`` where their
    address may not have it."""
    words: dict[int, int] = {}
    count = int(shifted)
    for node in inputs:
        if id(node) not in needed:
            continue
        words[id(node)] = count
        count += 2 if node.op == "scalar" and node.dtype.kind == "c" else 1
    result = count if result_apart else None
    return Slots(words, count + result_apart, alignment, data, 0 if shifted else None, result)


def load_callback(
    value: Node, inputs: Sequence[Node], strides: dict[int, tuple[int, ...]], slots: Slots
) -> str:
    """The source of the function that gives cuFFT an element of ``value``."""
    printer = Printer(indexing.input_names(inputs), strides, indent=1)
    index = tuple(printer.index(p) for p in indexing.decompose("i", value.shape))
    printer.flat = (value.shape, index, "i")
    element = printer.element(value, index)
    own, kind = value.dtype, _CUFFT_TYPES[value.dtype.char]
    result = f"{kind} r; r.x = {element}.re; r.y = {element}.im; return r;"
    body = [
        *_declared(inputs, slots, "data", printer.lines),
        *printer.lines,
        f"  {result if own.kind == 'c' else f'return {element};'}",
    ]
    head = (
        f"__device__ {kind} cufftJITCallbackLoad{_CUFFT_NAMES[own.char]}"
        "(void* data, unsigned long long offset, void* info, void* shared) {"
    )
    return _source(value, (head, *body), [value, *inputs], strides, called(value, inputs))


def store_callback(
    output: Node,
    spectrum: Node,
    placements: Sequence[Placement],
    inputs: Sequence[Node],
    strides: dict[int, tuple[int, ...]],
    slots: Slots,
) -> str:
    """The source of the function that takes an element of ``spectrum`` and stores ``output``."""
    own = spectrum.dtype
    kind = _CUFFT_TYPES[own.char]
    body: list[str] = []
    for axis, text in zip(
        names(spectrum.ndim), indexing.decompose("i", spectrum.shape), strict=True
    ):
        body.append(f"  const index_t {axis} = {text};")
    part = c_type(np.dtype(own.char.lower()))
    given = f"make<{part}>(element.x, element.y)" if own.kind == "c" else "element"
    body.append(f"  const {c_type(own)} x = {given};")
    lines: list[str] = []
    for placement in placements:
        lines += _stored_element(output, spectrum, placement, inputs, strides)
    target = "data" if slots.result is None else _word(slots.result)
    body += _declared(inputs, slots, "", lines)
    body.append(f"  {c_type(output.dtype)}* out = ({c_type(output.dtype)}*){target};")
    head = (
        f"__device__ void cufftJITCallbackStore{_CUFFT_NAMES[own.char]}"
        f"(void* data, unsigned long long offset, {kind} element, void* info, void* shared) {{"
    )
    functions = called(output, (spectrum, *inputs))
    sized = [spectrum, output, *inputs]
    return _source(output, (head, *body, *lines), sized, strides, functions)


def _stored_element(
    output: Node,
    spectrum: Node,
    placement: Placement,
    inputs: Sequence[Node],
    strides: dict[int, tuple[int, ...]],
) -> list[str]:
    placed = dict(placement.index)
    printer = Printer(indexing.input_names(inputs), strides, indent=2, placed=placed)
    placed |= {i: tuple(printer.index(t) for t in index) for i, index in placed.items()}
    printer.held[id(spectrum)] = lambda index: "x"
    printer.flat = (spectrum.shape, placed[id(spectrum)], "i")
    value = printer.element(output, placed[id(output)])
    place = printer.place(output, placed[id(output)])
    guard = " && ".join(f"({g})" for g in placement.guards) or "true"
    return [
        f"  if ({guard}) {{",
        *printer.lines,
        f"    out[{place}] = {stored(value, output.dtype)};",
        "  }",
    ]


def _declared(inputs: Sequence[Node], slots: Slots, data: str, lines: Sequence[str]) -> list[str]:
    """The inputs that the lines use."""
    text = "\n".join(lines)
    found = []
    for k, node in enumerate(inputs):
        name = f"p{k}"
        if not _mentions(text, name):
            continue
        if node.op == "scalar":
            word = slots.words[id(node)]
            numbers = [f"((const double*)info)[{word + k}]" for k in range(2)]
            value = f"make<double>({', '.join(numbers)})" if node.dtype.kind == "c" else numbers[0]
            found.append(f"  const {number_type(node.dtype)} {name} = {value};")
        elif data and node is slots.data:
            address = data
            if slots.shift is not None:
                address = f"((char*){data} + ((const long long*)info)[{slots.shift}])"
            found.append(
                f"  const {c_type(node.dtype)}* {name} = ({c_type(node.dtype)}*){address};"
            )
        else:
            address = _word(slots.words[id(node)])
            found.append(
                f"  const {c_type(node.dtype)}* {name} = ({c_type(node.dtype)}*){address};"
            )
    return found


def _word(place: int) -> str:
    """An address from the block."""
    return f"((const unsigned long long*)info)[{place}]"


def _mentions(text: str, name: str) -> bool:
    position = text.find(name)
    while position >= 0:
        after = text[position + len(name) : position + len(name) + 1]
        before = text[position - 1 : position] if position else ""
        if not (after.isalnum() or before.isalnum() or before == "_"):
            return True
        position = text.find(name, position + 1)
    return False


def _source(
    value: Node,
    body: Sequence[str],
    sized: Sequence[Node],
    strides: dict[int, tuple[int, ...]],
    functions: Sequence[UserFunction],
) -> str:
    wide = max(indexing.largest_span(sized, strides), *(n.size for n in sized)) >= 2**30
    comment = "\n".join(f"// {line}" for line in format_graph([value]).splitlines())
    head, *rest = body
    index = "  const index_t i = (index_t)offset;\n  ASSUME(i >= 0);"
    lines = [
        f"{definitions(functions)}typedef {'long long' if wide else 'int'} index_t;\n"
        f"#define RARE DEVICE\n{PREAMBLE}"
        f"{wrappers(functions)}",
        comment,
        head,
        index,
        *rest,
        "}",
    ]
    return "\n".join(lines) + "\n"
