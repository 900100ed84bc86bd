"""Views: how a lazy array reads from the one it is a view of, and writes back into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .expr import build
from .expr.key import Index, NewAxis, Span
from .expr.node import Node


@dataclass(frozen=True, slots=True)
class Window:
    """``read(parent)`` is the view's value, ``write(parent, value)`` the parent's with the view
    replaced."""

    parent: Any
    read: Callable[[Node], Node]
    write: Callable[[Node, Node], Node]


class windows:  # noqa: N801 - a namespace
    """Makers of windows, one for each kind of view."""

    @staticmethod
    def item(parent: Any, key: Any) -> Window:
        """Basic slicing."""
        build.getitem(parent.node, key)
        return Window(
            parent, lambda p: build.getitem(p, key), lambda p, v: build.update(p, key, v)
        )

    @staticmethod
    def transpose(parent: Any, order: Sequence[int] | None) -> Window:
        """Permuted axes."""
        order = tuple(reversed(range(parent.ndim))) if order is None else tuple(order)
        build.transpose(parent.node, order)
        back = tuple(int(i) for i in np.argsort(order))
        return Window(
            parent, lambda p: build.transpose(p, order), lambda p, v: build.transpose(v, back)
        )

    @staticmethod
    def reshape(parent: Any, shape: tuple[int, ...]) -> Window:
        """Another shape."""
        return Window(
            parent, lambda p: build.reshape(p, shape), lambda p, v: build.reshape(v, p.shape)
        )

    @staticmethod
    def view(parent: Any, dtype: np.dtype) -> Window:
        """Another dtype over the same memory."""
        build.view(parent.node, dtype)
        return Window(
            parent, lambda p: build.view(p, dtype), lambda p, v: build.view(v, p.dtype)
        )

    @staticmethod
    def part(parent: Any, name: str) -> Window:
        """The real or imaginary part."""
        if parent.dtype.kind != "c":
            return _part_of_real(parent, name)
        place = 0 if name == "real" else 1

        def write(p: Node, value: Node) -> Node:
            flat = build.reshape(build.view(p, value.dtype), (*p.shape, 2)) if p.ndim else None
            if flat is None:
                raise TypeError(f"writing through .{name} of a 0-d array is not recorded")
            pairs = build.update(flat, (..., place), value)
            return build.reshape(build.view(pairs, p.dtype), p.shape)

        return Window(parent, lambda p: build.elementwise(name, p), write)


def _part_of_real(parent: Any, name: str) -> Window:
    """``real`` is the array itself, ``imag`` read-only zeros."""
    if name == "real":
        return Window(parent, lambda p: p, lambda p, v: v)

    def refuse(p: Node, value: Node) -> Node:
        raise TypeError("cannot set imag of an array that is not complex")

    return Window(parent, lambda p: build.elementwise("imag", p), refuse)


def reshape_is_view(array: Any, shape: tuple[int, ...]) -> bool:
    """Would NumPy's reshape share memory with ``array``?"""
    strides = _strides(array)
    old = [(n, s) for n, s in zip(array.shape, strides, strict=True) if n != 1]
    new = [n for n in shape if n != 1]
    if array.size == 0:
        return True
    i = j = 0
    while i < len(old) and j < len(new):
        first, left, right = i, old[i][0], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * old[i][0], i + 1
            else:
                right, j = right * new[j], j + 1
        group = old[first:i]
        if any(a[1] != b[0] * b[1] for a, b in zip(group, group[1:], strict=False)):
            return False
    return True


def _strides(array: Any) -> list[int]:
    """Strides in items of the memory a view lies in; a computed value is in C order."""
    node = array.node
    window = array._window
    strides: list[int] = []
    if window is None:
        step = 1
        for extent in reversed(node.shape):
            strides.insert(0, step)
            step *= max(extent, 1)
        if node.op == "operand":
            return [s // node.dtype.itemsize for s in node.attr.spec.strides]
        return strides
    inner = _strides(window.parent)
    if node is window.parent.node:
        return inner
    match node.op:
        case "getitem" if node.args[0] is window.parent.node:
            source = iter(inner)
            return [s for e in node.attr if (s := _entry_stride(e, source)) is not None]
        case "transpose" if node.args[0] is window.parent.node:
            return [inner[a] for a in node.attr]
    contiguous = all(
        s == t for s, t in zip(inner, _c_strides(window.parent.shape), strict=True)
    )
    return _c_strides(node.shape) if contiguous else [0] * node.ndim


def _entry_stride(entry: Any, source: Any) -> int | None:
    if isinstance(entry, NewAxis):
        return 0
    stride: int = next(source)
    if isinstance(entry, Index):
        return None
    assert isinstance(entry, Span)
    return stride * entry.step


def _c_strides(shape: tuple[int, ...]) -> list[int]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return strides
