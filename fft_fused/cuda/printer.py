"""From nodes to C++: the value of one element of a result, computed from the operands.

Elements are pulled: an element of the result asks for the elements of its arguments, index maps
change the index on the way, and what is asked for twice at one index is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..expr.node import Node
from ..expr.ops import OPS
from . import indexing
from .casts import converted, loaded, register_type, rounded
from .ctypes import c_type, is_supported, literal
from .operators import suffix, template
from .reductions import combination, identity, reduced_length
from .structure import STRUCTURE

_STRUCTURE = {
    *("remap", "reshape", "transpose", "broadcast_to", "pairs", "unpair", "frames", "concat"),
    *("update", "iota", "const", "astype", "operand", "scalar"),
}


def unsupported(node: Node) -> str:
    """Why a node has no C++ form of its own; empty when it has one.

    A user's function has none: an engine that takes it puts ``user_code`` into its source.
    """
    if node.op == "call":
        return f"the user's function {node.attr}"
    if not is_supported(node.dtype):
        return f"dtype {node.dtype}"
    if node.op in _STRUCTURE or template(node) is not None:
        return ""
    return f"{node.op} of {node.args[0].dtype if node.args else node.dtype}"


@dataclass(slots=True)
class Printer:
    """Writes the statements that compute elements.

    ``names`` are the C++ names of the inputs by node identity, ``strides`` their strides in items.
    ``placed`` says at which index a value is taken, whatever index it is asked for at; ``held``
    says how to read a value that has been computed, at an index. ``flat`` is a shape, an index into
    it and the position in C order that the index was made from. ``twins`` are the names of an even
    number and the next one: of the inputs in ``wide``, whose addresses allow it, two neighbours in
    memory at these are loaded at once.
    """

    names: dict[int, str]
    strides: dict[int, tuple[int, ...]]
    lines: list[str] = field(default_factory=list)
    indent: int = 2
    count: int = 0
    known: dict[Any, str] = field(default_factory=dict)
    placed: dict[int, indexing.Index] = field(default_factory=dict)
    held: dict[int, Callable[[indexing.Index], str]] = field(default_factory=dict)
    flat: tuple[tuple[int, ...], indexing.Index, str] | None = None
    twins: tuple[str, ...] = ()
    wide: frozenset[int] = frozenset()

    def element(self, node: Node, index: indexing.Index) -> str:
        """The name of the value of ``node`` at an index."""
        index = self.placed.get(id(node), index)
        if id(node) in self.held:
            return self.held[id(node)](index)
        key = (id(node), index)
        if key not in self.known:
            self.known[key] = self._element(node, index)
        return self.known[key]

    def say(self, line: str) -> None:
        """Add a statement."""
        self.lines.append("  " * self.indent + line)

    def fresh(self) -> str:
        """A name that no value has yet."""
        self.count += 1
        return f"v{self.count - 1}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Statements in a block of their own; what they compute is not known outside."""
        known, self.known = self.known, dict(self.known)
        self.say(f"{head} {{")
        self.indent += 1
        yield
        self.indent -= 1
        self.say("}")
        self.known = known

    def index(self, text: str) -> str:
        """A name for an index expression; simple ones stay as they are."""
        if text.isidentifier() or text.isdigit():
            return text
        key = ("index", text)
        if key not in self.known:
            name = f"j{self.count}"
            self.count += 1
            self.say(f"const index_t {name} = {text};")
            self.known[key] = name
        return self.known[key]

    def decided(self, condition: str) -> bool | None:
        """Does a condition hold wherever the statements will stand? None: it is to be tested."""
        return None

    def value(self, dtype: np.dtype, text: str) -> str:
        name = self.fresh()
        self.say(f"const {register_type(dtype)} {name} = {text};")
        return name

    def _element(self, node: Node, index: indexing.Index) -> str:
        if id(node) in self.names:
            return self._load(node, index)
        if OPS[node.op].kind == "reduce":
            return self._reduced(node, index)
        if node.op in STRUCTURE:
            return STRUCTURE[node.op](self, node, index)
        special = getattr(self, f"_{node.op}", None)
        if special is not None:
            return str(special(node, index))
        args = [self.element(a, _broadcast(index, node, a)) for a in node.args]
        return self._operator(node, args)

    def _load(self, node: Node, index: indexing.Index) -> str:
        if node.op == "scalar":
            return self.names[id(node)]
        if self.has_twin(node, index, node.shape, self.strides[id(node)]):
            places = [(*index[:-1], name) for name in self.twins]
            position = self.position(node, places[0])
            parts = self.both(node, position, [(id(node), place) for place in places])
            return parts[self.twins.index(index[-1])]
        text = f"{self.names[id(node)]}[{self.position(node, index)}]"
        return self.value(node.dtype, loaded(text, node.dtype))

    def has_twin(
        self, leaf: Node, index: indexing.Index, shape: Sequence[int], strides: Sequence[int]
    ) -> bool:
        """Can the element be loaded together with its neighbour, which must exist?"""
        if not self.twins or not index or index[-1] not in self.twins or id(leaf) not in self.wide:
            return False
        *others, last = strides
        even = shape[-1] % 2 == 0 and all(s % 2 == 0 for s in others)
        return last == 1 and even and leaf.dtype.kind != "c"

    def both(self, leaf: Node, position: str, keys: Sequence[Any]) -> list[str]:
        """Two neighbours in memory, loaded at once; known by the keys from now on."""
        name = self.fresh()
        address = f"{self.names[id(leaf)]} + {position}"
        self.say(f"const complex_t<{c_type(leaf.dtype)}> {name} = load_pair({address});")
        parts = [loaded(f"{name}.{part}", leaf.dtype) for part in ("re", "im")]
        self.known |= dict(zip(keys, parts, strict=True))
        return parts

    def position(self, node: Node, index: indexing.Index) -> str:
        """Where an element lies in memory, in items."""
        strides = self.strides[id(node)]
        if self.flat is not None and self.flat[0]:
            shape, known, name = self.flat
            axes = len(shape)
            step = strides[axes - 1] if len(strides) >= axes else 0
            rows = step and indexing.is_c_order(strides[:axes], shape, step)
            if rows and node.shape[:axes] == shape and index[:axes] == known:
                rest = indexing.offset(index[axes:], strides[axes:], node.shape[axes:])
                start = name if step == 1 else f"{name} * {step}"
                return start if rest == "0" else f"{start} + {rest}"
        return indexing.offset(index, strides, node.shape)

    def place(self, node: Node, index: indexing.Index) -> str:
        """The position of an element of a new array in C order."""
        if self.flat is not None and self.flat[:2] == (node.shape, index):
            return self.flat[2]
        return indexing.horner(index, node.shape)

    def _operator(self, node: Node, args: Sequence[str]) -> str:
        text = template(node)
        assert text is not None, node.op
        kind = node.args[-1 if node.op == "where" else 0].dtype
        real = np.dtype(kind.char.lower()) if kind.kind == "c" else kind
        own = register_type(kind)
        text = text.replace("<T>", f"<{own}>").replace("(T)", f"({own})")
        text = text.replace("<R>", f"<{register_type(real)}>")
        return self.value(node.dtype, rounded(node.dtype, text.format(*args, s=suffix(real))))

    # ---- one method for each operation of structure

    def _const(self, node: Node, index: indexing.Index) -> str:
        text = literal(node.attr.value, node.dtype)
        return loaded(text, node.dtype)

    def _iota(self, node: Node, index: indexing.Index) -> str:
        start, step, _ = node.attr
        kind = node.dtype if node.dtype.kind in "iu" else np.dtype("f8")
        first, second = (
            np.asarray(v).astype(node.dtype) for v in (start.value, start.value + step.value)
        )
        delta = (second - first) if node.dtype.kind not in "iu" else np.asarray(step.value)
        own = register_type(node.dtype)
        wide = "long long" if kind.kind in "iu" else own
        begin, by = literal(first, node.dtype), literal(delta, node.dtype)
        text = f"({own})({begin} + ({wide}){index[0]} * ({wide}){by})"
        return self.value(node.dtype, rounded(node.dtype, text.replace("to_half", "")))

    def _astype(self, node: Node, index: indexing.Index) -> str:
        return self.value(
            node.dtype, converted(self.element(node.args[0], index), node.args[0].dtype, node.dtype)
        )

    def _call(self, node: Node, index: indexing.Index) -> str:
        args = [self.element(a, _broadcast(index, node, a)) for a in node.args]
        return self.value(node.dtype, f"{node.attr.symbol}({', '.join(args)})")

    def _multiply(self, node: Node, index: indexing.Index) -> str:
        """A complex number times a real one takes two products."""
        args = [self.element(a, _broadcast(index, node, a)) for a in node.args]
        if node.dtype.kind == "c":
            part = np.dtype(node.dtype.char.lower())
            for k, other in ((0, 1), (1, 0)):
                real = self._real_factor(node.args[k], part, _broadcast(index, node, node.args[k]))
                if real:
                    return self.value(node.dtype, f"scaled_({args[other]}, {real})")
        return self._operator(node, args)

    def _real_factor(self, node: Node, part: np.dtype, index: indexing.Index) -> str:
        """The real number that a complex value was made of; empty when it was not."""
        if node.op == "astype" and node.args[0].dtype.kind != "c":
            inner = node.args[0]
            return converted(self.element(inner, index), inner.dtype, part)
        if node.op == "const" and np.imag(node.attr.value) == 0:
            return literal(np.real(node.attr.value), part)
        return ""

    def _transpose(self, node: Node, index: indexing.Index) -> str:
        source = [""] * node.ndim
        for out, axis in enumerate(node.attr):
            source[axis] = index[out]
        return self.element(node.args[0], tuple(source))

    def _broadcast_to(self, node: Node, index: indexing.Index) -> str:
        return self.element(node.args[0], _broadcast(index, node, node.args[0]))

    def _where(self, node: Node, index: indexing.Index) -> str:
        """Only the branch that is taken is computed, where computing it takes a statement."""
        condition, *branches = node.args
        chosen = self.element(condition, _broadcast(index, node, condition))
        places = [(b, _broadcast(index, node, b)) for b in branches]
        if all(b.op == "const" or (id(b), i) in self.known for b, i in places):
            return self._operator(node, [chosen, *(self.element(b, i) for b, i in places)])
        name = self.fresh()
        self.say(f"{register_type(node.dtype)} {name};")
        for word, (branch, place) in zip((f"if ({chosen})", "else"), places, strict=True):
            with self.block(word):
                self.say(f"{name} = {self.element(branch, place)};")
        return name

    def _reshape(self, node: Node, index: indexing.Index) -> str:
        parts = indexing.reshaped(index, node.shape, node.args[0].shape)
        return self.element(node.args[0], tuple(self.index(p) for p in parts))

    def _remap(self, node: Node, index: indexing.Index) -> str:
        axis, mapping, fill = node.attr
        source, condition = indexing.mapped(index[axis], mapping)
        decided = self.decided(condition)
        if decided is False:
            return self._constant(fill.value, node.dtype)
        if not condition or decided:
            moved = (*index[:axis], self.index(source), *index[axis + 1 :])
            return self.element(node.args[0], moved)
        name = self.fresh()
        own = register_type(node.dtype)
        filled = self._constant(fill.value, node.dtype)
        self.say(f"{own} {name} = {filled};")
        with self.block(f"if ({condition})"):
            moved = (*index[:axis], self.index(source), *index[axis + 1 :])
            self.say(f"{name} = {self.element(node.args[0], moved)};")
        return name

    def _constant(self, value: Any, dtype: np.dtype) -> str:
        return loaded(literal(value, dtype), dtype)

    def _reduced(self, node: Node, index: indexing.Index) -> str:
        """A short reduction, as a loop."""
        (arg,), (axes, keepdims, *_) = node.args, node.attr
        name = self.fresh()
        r = f"r{name[1:]}"
        self.say(f"{register_type(node.dtype)} {name} = {identity(node)};")
        with self.block(f"for (index_t {r} = 0; {r} < {reduced_length(node)}; ++{r})"):
            over = iter(indexing.decompose(r, [arg.shape[a] for a in axes]))
            kept = iter(i for a, i in enumerate(index) if not (keepdims and a in axes))
            inner = tuple(next(over) if a in axes else next(kept) for a in range(arg.ndim))
            value = self.element(arg, tuple(self.index(i) for i in inner))
            self.say(f"{name} = {combination(node).format(name, value)};")
        return name


def _broadcast(index: indexing.Index, node: Node, arg: Node) -> indexing.Index:
    shift = node.ndim - arg.ndim
    return tuple("0" if n == 1 else index[k + shift] for k, n in enumerate(arg.shape))
