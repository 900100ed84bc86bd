"""Graph nodes: one operation on arrays whose shape and dtype are known and whose values are not."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What a plan may assume of an operand: everything but its values.

    ``alignment`` is a power of two that divides the address in bytes, as far as it matters.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]
    device: str = "cpu"
    alignment: int = 16

    @staticmethod
    def of(shape: Iterable[int], dtype: Any, device: str = "cpu") -> ArraySpec:
        """The description of a new array in C order.

        Parameters
        ----------
        shape : sequence of int
        dtype : dtype or what becomes one
        device : str
            ``cpu``, or a GPU as ``cuda:0``.

        Examples
        --------
        >>> print(ArraySpec.of((16, 1024), "c8", "cuda:0"))
        c8[16,1024]
        """
        extents, kind = tuple(shape), np.dtype(dtype)
        inner = (math.prod(max(e, 1) for e in extents[k + 1 :]) for k in range(len(extents)))
        return ArraySpec(extents, kind, tuple(n * kind.itemsize for n in inner), device)

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}{list(self.shape)}".replace(" ", "")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation. Nodes compare by identity; ``attr`` holds what the operation needs to know.

    ``weak`` marks a value that is a Python number (NumPy's NEP 50 promotion applies to it).
    """

    op: str
    args: tuple[Node, ...]
    attr: Any
    shape: tuple[int, ...]
    dtype: np.dtype
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.op} {short_dtype(self.dtype)}{list(self.shape)}"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Identity of a leaf while it is recorded: a user's array or an argument of a trace.

    ``portable`` values on the host may be copied to the GPU that the other arrays are on.
    ``library`` is that of an array which is handed over by DLPack, ``made_here`` an array of this
    package that nobody else can change.
    """

    name: str
    spec: ArraySpec
    array: Any = field(default=None, repr=False)
    portable: bool = False
    library: str = ""
    made_here: bool = False

    @property
    def goes_along(self) -> bool:
        """May it be used with arrays of any device? Numbers may."""
        return self.spec.device == "cpu" and (self.portable or not self.spec.shape)

    def __str__(self) -> str:
        return self.name or f"an array {self.spec}"


@dataclass(frozen=True, slots=True)
class Expr:
    """A closed graph: ``operand`` leaves carry slot numbers; graphs with equal keys are alike."""

    outputs: tuple[Node, ...]
    operands: tuple[ArraySpec, ...]
    scalars: tuple[np.dtype, ...]
    names: tuple[str, ...]

    @property
    def device(self) -> str:
        """Where the operands are; "cpu" when there are none."""
        return self.operands[0].device if self.operands else "cpu"

    @property
    def key(self) -> Hashable:
        number: dict[int, int] = {}
        rows: list[Hashable] = []
        for node in walk(self.outputs):
            number[id(node)] = len(rows)
            args = tuple(number[id(a)] for a in node.args)
            rows.append((node.op, args, node.attr, node.shape, node.dtype.str, node.weak))
        return (tuple(rows), tuple(number[id(o)] for o in self.outputs), self.operands)

    def __str__(self) -> str:
        return format_graph(self.outputs, self.names)


def walk(outputs: Iterable[Node]) -> list[Node]:
    """Every node under ``outputs`` once, arguments before users. Iterative: graphs may be deep."""
    order: list[Node] = []
    done: set[int] = set()
    for output in outputs:
        stack: list[tuple[Node, Iterator[Node]]] = []
        if id(output) not in done:
            done.add(id(output))
            stack.append((output, iter(output.args)))
        while stack:
            node, args = stack[-1]
            child = next((a for a in args if id(a) not in done), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                done.add(id(child))
                stack.append((child, iter(child.args)))
    return order


def consumers(outputs: Iterable[Node]) -> dict[int, list[Node]]:
    """``id(node) -> nodes that use it`` (a user appears once for each use)."""
    users: dict[int, list[Node]] = {}
    for node in walk(outputs):
        users.setdefault(id(node), [])
        for arg in node.args:
            users[id(arg)].append(node)
    return users


def short_dtype(dtype: np.dtype) -> str:
    """NumPy's letter and size: ``c8`` is complex64, ``?`` is bool."""
    return "?" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize}"


def format_attr(node: Node) -> str:
    """The attribute as it stands in printed graphs; empty when there is none."""
    if node.attr is None:
        return ""
    if isinstance(node.attr, Constant):
        return str(node.attr)
    text = ", ".join(map(str, node.attr)) if isinstance(node.attr, tuple) else str(node.attr)
    return f"[{text}]"


def summary(expr: Expr) -> str:
    """An expression in one line: ``multiply > fft > absolute of x: c8[16,1024]``."""
    ops = [n for n in walk(expr.outputs) if n.op not in ("operand", "scalar", "const")]
    names = [str(n.attr) if n.op == "transform" else n.op for n in ops]
    given = [f"{n}: {s}" for n, s in zip(expr.names, expr.operands, strict=True)]
    return f"{' > '.join(names)} of {', '.join(given)}"


def format_graph(outputs: Iterable[Node], names: tuple[str, ...] = ()) -> str:
    """The graph as text, a line a node: ``%2 = multiply(%0, %1) : c8[16,1024]``."""
    outputs = tuple(outputs)
    number: dict[int, str] = {}
    lines: list[str] = []
    for node in walk(outputs):
        if node.op == "const":
            number[id(node)] = str(node.attr)
            continue
        if node.op == "operand" and isinstance(node.attr, int) and node.attr < len(names):
            number[id(node)] = names[node.attr]
            continue
        number[id(node)] = name = f"%{len(lines)}"
        args = ", ".join(number[id(a)] for a in node.args)
        spec = f"{short_dtype(node.dtype)}{list(node.shape)}".replace(" ", "")
        lines.append(f"{name} = {node.op}{format_attr(node)}({args}) : {spec}")
    lines.append("return " + ", ".join(number[id(o)] for o in outputs))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that is part of the code. Keyed by type and text: 1, 1.0 and True are three
    constants, 0.0 and -0.0 two, and NaN equals itself."""

    kind: str
    text: str
    value: Any = field(compare=False, hash=False)

    def __str__(self) -> str:
        return self.text

    @staticmethod
    def of(value: Any) -> Constant:
        kind = value.dtype.str if isinstance(value, np.generic) else type(value).__name__
        text = repr(value.item()) if isinstance(value, np.generic) else repr(value)
        if isinstance(value, np.generic) and value.dtype.char in "gG":
            text = str(value)
        return Constant(kind, text, value)
