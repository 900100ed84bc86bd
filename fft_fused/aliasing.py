"""Views: how a lazy array reads from the one it is a view of, and writes back into it."""

from __future__ import annotations

import operator
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
    root: Any
    read: Callable[[Node], Node]
    write: Callable[[Node, Node], Node]


def window(
    parent: Any, read: Callable[[Node], Node], write: Callable[[Node, Node], Node]
) -> Window:
    """A window on ``parent``, or on what that is a view of."""
    return Window(parent, parent.root, read, write)


def item(parent: Any, key: Any) -> Window:
    """Basic slicing."""
    return window(parent, lambda p: build.getitem(p, key), lambda p, v: build.update(p, key, v))


def transpose(parent: Any, order: Sequence[int]) -> Window:
    """Permuted axes."""
    order = tuple(order)
    back = tuple(int(i) for i in np.argsort(order))
    return window(
        parent, lambda p: build.transpose(p, order), lambda p, v: build.transpose(v, back)
    )


def reshape(parent: Any, shape: tuple[int, ...]) -> Window:
    """Another shape."""
    return window(parent, lambda p: build.reshape(p, shape), lambda p, v: build.reshape(v, p.shape))


def view(parent: Any, dtype: np.dtype) -> Window:
    """Another dtype over the same memory."""
    return window(parent, lambda p: build.view(p, dtype), lambda p, v: build.view(v, p.dtype))


def part(parent: Any, name: str) -> Window:
    """The real or imaginary part. Of a real array: itself, and read-only zeros."""
    if parent.dtype.kind == "c":
        return window(parent, lambda p: build.elementwise(name, p), _part_writer(name))
    if name == "real":
        return window(parent, lambda p: p, lambda p, v: v)
    return read_only(
        parent, lambda p: build.elementwise("imag", p), "imag of an array that is not complex"
    )


def _part_writer(name: str) -> Callable[[Node, Node], Node]:
    place = 0 if name == "real" else 1

    def write(p: Node, value: Node) -> Node:
        pairs = build.reshape(build.view(build.reshape(p, (-1,)), value.dtype), (*p.shape, 2))
        pairs = build.update(pairs, (..., place), value)
        return build.reshape(build.view(build.reshape(pairs, (-1,)), p.dtype), p.shape)

    return write


def read_only(parent: Any, read: Callable[[Node], Node], what: str) -> Window:
    """A view that follows its array and refuses to be written through."""

    def refuse(p: Node, value: Node) -> Node:
        raise ValueError(f"assignment destination is read-only: {what}; use .copy()")

    return window(parent, read, refuse)


def keeps_dimension(key: Any) -> bool:
    """Does a key that selects one element give a 0-d view, not a number?"""
    keys = key if isinstance(key, tuple) else (key,)
    return any(k is Ellipsis for k in keys)


def require_c_order(what: str, order: str) -> None:
    """TypeError for other orders of the elements."""
    if order != "C":
        raise TypeError(f"{what}: order {order!r} is not recorded; only 'C'")


def layout(node: Node) -> list[int] | None:
    """Strides in items of a new array; None for C order, which computed values are in."""
    if node.op != "operand":
        return None
    return [s // node.dtype.itemsize for s in node.attr.spec.strides]


def kept_order(array: Any) -> list[int]:
    """Strides in items of a copy that lies in memory as ``array`` does (NumPy's order "K")."""
    strides = _strides(array)
    order = sorted(range(array.ndim), key=lambda a: -abs(strides[a]))
    compact = _c_strides([array.shape[a] for a in order])
    return [compact[order.index(a)] for a in range(array.ndim)]


def reshape_is_view(array: Any, shape: tuple[int, ...]) -> bool:
    """Would NumPy's reshape share memory with ``array``?"""
    return array.size == 0 or _reshaped(array.shape, _strides(array), shape) is not None


def is_contiguous(array: Any) -> bool:
    """Does the view lie in memory without gaps, in C order?"""
    rows = zip(array.shape, _strides(array), _c_strides(array.shape), strict=True)
    return array.size == 0 or all(s == c for n, s, c in rows if n != 1)


def _reshaped(
    shape: Sequence[int], strides: Sequence[int], target: Sequence[int]
) -> list[int] | None:
    """Strides of a reshape without a copy; None where NumPy has to copy."""
    if 0 in shape:
        return _c_strides(target)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    found: list[int] = []
    i = j = 0
    while i < len(old) and j < len(target):
        first, start = i, j
        left, right = old[i][0], target[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * old[i][0], i + 1
            else:
                right, j = right * target[j], j + 1
        group = old[first:i]
        if any(a[1] != b[0] * b[1] for a, b in zip(group, group[1:], strict=False)):
            return None
        found += _c_strides(target[start:j], group[-1][1])
    last = found[-1] if found else 1
    return found + [last] * (len(target) - len(found))


def _strides(array: Any) -> list[int]:
    """Strides in items of the memory a view lies in."""
    views = []
    while array.window is not None:
        views.append(array)
        array = array.window.parent
    strides = array.layout or _c_strides(array.shape)
    parent = array.node
    for each in reversed(views):
        strides = _seen_through(each.node, parent, strides)
        parent = each.node
    return strides


def _seen_through(node: Node, parent: Node, strides: list[int]) -> list[int]:
    """The strides of a view whose value is ``node``, from those of its parent."""
    if node is parent:
        return strides
    match node.op:
        case "getitem":
            source = iter(strides)
            return [s for e in node.attr if (s := _entry_stride(e, source)) is not None]
        case "transpose":
            return [strides[a] for a in node.attr]
        case "real" | "imag":
            return [2 * s for s in strides]
        case "pairs":
            return [*(s // 2 for s in strides[:-1]), 1]
        case "unpair":
            return [*(2 * s for s in strides[:-1]), 1]
        case "broadcast_to":
            repeated = [0] * (node.ndim - parent.ndim)
            pairs = zip(parent.shape, node.shape[len(repeated) :], strides, strict=True)
            return repeated + [s if old == new else 0 for old, new, s in pairs]
        case "frames":
            return [s // node.dtype.itemsize for s in node.attr[1]]
        case "reshape":
            return _reshaped(parent.shape, strides, node.shape) or _c_strides(node.shape)
    return _c_strides(node.shape)


def _entry_stride(entry: Any, source: Any) -> int | None:
    if isinstance(entry, NewAxis):
        return 0
    stride: int = next(source)
    if isinstance(entry, Index):
        return None
    assert isinstance(entry, Span)
    return stride * entry.step


def _c_strides(shape: Sequence[int], step: int = 1) -> list[int]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return strides


def checked_key(key: Any) -> Any:
    """The key with its integers as Python's own; masks and index arrays are refused.

    Raises
    ------
    IndexError
        For arrays and lists in the key.
    """
    if isinstance(key, tuple):
        return tuple(map(checked_key, key))
    if isinstance(key, bool | np.bool_):
        return key
    dtype = getattr(key, "dtype", None)
    is_mask = str(dtype).rpartition(".")[2] == "bool"  # torch's dtypes have no kind
    if dtype is not None and (key.shape or is_mask):
        cure = "where(mask, x, 0)" if is_mask else "take(x, indices, axis)"
        what = "mask" if is_mask else "array"
        raise IndexError(
            f"x[{what}]: an index of dtype {dtype} and shape {key.shape} is not recorded; "
            f"use fft_fused.xp.{cure}"
        )
    return operator.index(key) if hasattr(type(key), "__index__") else key
