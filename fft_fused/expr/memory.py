"""Overlapping frames: strides of a value in memory, and views made of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from .key import NewAxis, Span
from .node import Node


def frames(x: Node, shape: Sequence[int], strides: Sequence[int]) -> Node:
    """``as_strided``: checked to stay inside the memory of ``x``. Strides in bytes."""
    shape = tuple(operator.index(n) for n in shape)
    strides = tuple(operator.index(s) for s in strides)
    if len(shape) != len(strides) or min(shape, default=0) < 0:
        raise ValueError(f"as_strided: shape {shape} and strides {strides} do not go together")
    own = memory_strides(x)
    if math.prod(shape):
        low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        own_low = sum(min(0, (n - 1) * s) for n, s in zip(x.shape, own, strict=True))
        own_high = sum(max(0, (n - 1) * s) for n, s in zip(x.shape, own, strict=True))
        if not x.size or low < own_low or high > own_high:
            raise ValueError(
                f"as_strided: shape {shape} with strides {strides} reaches outside the "
                f"{x.nbytes} bytes of an array of shape {x.shape}"
            )
        if any(s % x.dtype.itemsize for s, n in zip(strides, shape, strict=True) if n > 1):
            raise ValueError(
                f"as_strided: strides {strides} are no multiples of {x.dtype.itemsize}"
            )
    return Node("frames", (x,), (shape, strides, in_memory(x)), shape, x.dtype)


def in_memory(x: Node) -> bool:
    """Is the value a view of an operand, with the strides NumPy would give it?"""
    while x.op in ("getitem", "transpose", "remap", "frames", "reshape"):
        if x.op == "remap" and not x.attr[1].is_slice:
            return False
        if x.op == "reshape" and _extents(x.shape) != _extents(x.args[0].shape):
            return False
        x = x.args[0]
    return x.op == "operand"


def _extents(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def memory_strides(x: Node) -> tuple[int, ...]:
    """Byte strides: the array's own for a leaf and its views, C order for a computed value."""
    if not in_memory(x):
        return c_strides(x.shape, x.dtype.itemsize)
    match x.op:
        case "operand":
            return x.attr.spec.strides
        case "transpose":
            inner = memory_strides(x.args[0])
            return tuple(inner[a] for a in x.attr)
        case "reshape":
            long = iter(
                s for s, n in zip(memory_strides(x.args[0]), x.args[0].shape, strict=True) if n != 1
            )
            return tuple(next(long) if n != 1 else x.dtype.itemsize for n in x.shape)
        case "frames":
            return x.attr[1]
    strides = iter(memory_strides(x.args[0]))
    found: list[int] = []
    for entry in x.attr:
        if isinstance(entry, NewAxis):
            found.append(0)
            continue
        step = next(strides)
        if isinstance(entry, Span):
            found.append(step * entry.step)
    return tuple(found)


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Byte strides of an array in C order."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
