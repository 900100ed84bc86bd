"""Elements of what joins, cuts and views arrays, as C++."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..expr.key import Index, NewAxis, Span
from ..expr.node import Node
from ..expr.ops import UNALIGNED
from . import indexing
from .casts import loaded, register_type
from .ctypes import c_type

if TYPE_CHECKING:
    from .printer import Printer


def _pairs(printer: Printer, node: Node, index: indexing.Index) -> str:
    """Pairs of numbers as complex ones."""
    double = printer.index(f"({index[-1]} * 2)")
    odd = printer.index(f"({index[-1]} * 2 + 1)")
    at_once = node.attr != UNALIGNED
    _load_pair(printer, node.args[0], (*index[:-1], double), (*index[:-1], odd), at_once)
    real = printer.element(node.args[0], (*index[:-1], double))
    imag = printer.element(node.args[0], (*index[:-1], odd))
    part = register_type(node.args[0].dtype)
    return printer.value(node.dtype, f"make<{part}>({real}, {imag})")


def _load_pair(
    printer: Printer, node: Node, first: indexing.Index, second: indexing.Index, at_once: bool
) -> None:
    """Two neighbours in memory at once, where they are."""
    while node.op == "astype":
        node = node.args[0]
    if id(node) not in printer.names or node.op == "scalar" or printer.strides[id(node)][-1] != 1:
        return
    if (id(node), first) in printer.known:
        return
    name = printer.fresh()
    address = f"{printer.names[id(node)]} + {printer.position(node, first)}"
    even = all(s % 2 == 0 for s in printer.strides[id(node)][:-1])
    function = "load_pair" if at_once and even else "load_two"
    printer.say(f"const complex_t<{c_type(node.dtype)}> {name} = {function}({address});")
    for place, part in ((first, "re"), (second, "im")):
        printer.known[id(node), place] = loaded(f"{name}.{part}", node.dtype)


def _unpair(printer: Printer, node: Node, index: indexing.Index) -> str:
    """The two parts of complex numbers."""
    whole = printer.index(f"({index[-1]} / 2)")
    z = printer.element(node.args[0], (*index[:-1], whole))
    return printer.value(node.dtype, f"({index[-1]} & 1) ? {z}.im : {z}.re")


def _frames(printer: Printer, node: Node, index: indexing.Index) -> str:
    """Frames of memory, or of a value."""
    shape, strides, of_memory = node.attr
    items = tuple(s // node.dtype.itemsize for s in strides)
    where = indexing.offset(index, items, shape)
    if of_memory:
        leaf, start, _ = _view(printer, node.args[0])
        if start % 2 == 0 and printer.has_twin(leaf, index, shape, items):
            places = [(*index[:-1], name) for name in printer.twins]
            position = f"{indexing.offset(places[0], items, shape)} + {start}"
            both = printer.both(leaf, position, [(id(node), place) for place in places])
            return both[printer.twins.index(index[-1])]
        text = f"{printer.names[id(leaf)]}[{where}{f' + {start}' if start else ''}]"
        return printer.value(node.dtype, loaded(text, node.dtype))
    base = node.args[0]
    parts = indexing.decompose(printer.index(f"({where})"), base.shape)
    return printer.element(base, tuple(printer.index(p) for p in parts))


def _view(printer: Printer, node: Node) -> tuple[Node, int, tuple[int, ...]]:
    """An operand's view as (operand, first item, strides in items)."""
    if id(node) in printer.names:
        return node, 0, printer.strides[id(node)]
    leaf, start, inner = _view(printer, node.args[0])
    match node.op:
        case "remap":
            axis, mapping, _ = node.attr
            piece = mapping.pieces[0]
            start += (piece.start or 0) * inner[axis]
            return leaf, start, (*inner[:axis], inner[axis] * piece.step, *inner[axis + 1 :])
        case "transpose":
            return leaf, start, tuple(inner[a] for a in node.attr)
        case "frames":
            return leaf, start, tuple(s // node.dtype.itemsize for s in node.attr[1])
    shape = node.args[0].shape
    long = iter(s for s, n in zip(inner, shape, strict=True) if n != 1)
    return leaf, start, tuple(next(long) if n != 1 else 0 for n in node.shape)


def _concat(printer: Printer, node: Node, index: indexing.Index) -> str:
    """The part that the index is in."""
    axis, low = node.attr, 0
    possible: list[tuple[str, Node, int]] = []
    for part in node.args:
        if not part.shape[axis]:
            continue
        condition = f"{index[axis]} < {low + part.shape[axis]}"
        is_last = low + part.shape[axis] == node.shape[axis]
        decided = True if is_last else printer.decided(condition)
        if decided is not False:
            possible.append((condition, part, low))
        if decided:
            break
        low += part.shape[axis]
    if len(possible) == 1:
        return _part(printer, possible[0], axis, index)
    name = printer.fresh()
    printer.say(f"{register_type(node.dtype)} {name};")
    for place, (condition, *_) in enumerate(possible):
        word = "else " if place else ""
        test = f"if ({condition})" if place < len(possible) - 1 else ""
        with printer.block(f"{word}{test}".rstrip()):
            printer.say(f"{name} = {_part(printer, possible[place], axis, index)};")
    return name


def _part(printer: Printer, chosen: tuple[str, Node, int], axis: int, index: indexing.Index) -> str:
    """An element of a part that begins at an index."""
    _, part, first = chosen
    source = printer.index(f"({index[axis]} - {first})" if first else index[axis])
    return printer.element(part, (*index[:axis], source, *index[axis + 1 :]))


def _update(printer: Printer, node: Node, index: indexing.Index) -> str:
    """An assigned value where the key says so, else what was there."""
    base, value = node.args
    conditions, place = [], []
    axis = 0
    for entry in node.attr:
        if isinstance(entry, NewAxis):
            place.append("0")
            continue
        i = index[axis]
        if isinstance(entry, Index):
            conditions.append(f"{i} == {entry.at}")
        else:
            assert isinstance(entry, Span)
            low, step, count = entry.start, entry.step, entry.count
            if step < 0:
                low, step = low + (count - 1) * step, -step
            if not entry.whole(node.shape[axis]):
                high = low + (count - 1) * step
                conditions.append(f"{i} >= {low} && {i} <= {high}")
                if step > 1:
                    conditions.append(f"({i} - {low}) % {step} == 0")
            first = f"({i} - {entry.start}) / {entry.step}"
            place.append(printer.index(i if entry.whole(node.shape[axis]) else f"({first})"))
        axis += 1
    shift = len(place) - value.ndim
    source = tuple("0" if n == 1 else place[k + shift] for k, n in enumerate(value.shape))
    name = printer.fresh()
    printer.say(f"{register_type(node.dtype)} {name} = {printer.element(base, index)};")
    with printer.block(f"if ({' && '.join(conditions) or 'true'})"):
        printer.say(f"{name} = {printer.element(value, source)};")
    return name


STRUCTURE: dict[str, Callable[[Printer, Node, indexing.Index], str]] = {
    "pairs": _pairs,
    "unpair": _unpair,
    "frames": _frames,
    "concat": _concat,
    "update": _update,
}
