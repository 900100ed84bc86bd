"""Constructors of graph nodes: check the arguments, infer shape and dtype, make the node.

Every rule about shapes and dtypes is here, and is NumPy's: elementwise dtypes are found by running
the NumPy function on empty arrays of the argument dtypes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .key import Entry, Index, NewAxis, Span, normalize_key
from .memory import frames as frames
from .memory import memory_strides as memory_strides
from .node import Constant, Node, Source
from .ops import OPS
from .spectrum import Transform, transform_shape

_WEAK_SAMPLES = {"i": 1, "f": 1.0, "c": 1j, "b": True}


def leaf(source: Source) -> Node:
    """A leaf for a source."""
    return Node("operand", (), source, source.spec.shape, source.spec.dtype)


def scalar(slot: int, kind: str) -> Node:
    """A Python float or complex whose value is given at each call."""
    return Node("scalar", (), slot, (), np.dtype("f8" if kind == "f" else "c16"), weak=True)


def const(value: Any) -> Node:
    """A number in the code: Python numbers stay weak, NumPy scalars keep their dtype."""
    weak = type(value) in (bool, int, float, complex)
    if isinstance(value, int) and not isinstance(value, bool):
        fits = -(2**63) <= value < 2**63
        dtype = np.dtype("i8") if fits else np.dtype("u8")
        if not fits and not 0 <= value < 2**64:
            raise OverflowError(f"Python integer {value} does not fit any integer dtype")
    else:
        dtype = np.asarray(value).dtype
    return Node(
        "const", (), Constant.of(value), (), dtype, weak=weak and not isinstance(value, bool)
    )


def iota(start: Any, step: Any, count: int, dtype: np.dtype) -> Node:
    """``start + step * arange(count)`` in ``dtype``."""
    return Node("iota", (), (Constant.of(start), Constant.of(step), count), (count,), dtype)


def elementwise(op: str, *args: Node) -> Node:
    """``op`` on arguments that broadcast; dtype as NumPy gives it."""
    shape = broadcast_shapes(op, [a.shape for a in args])
    signature = tuple(_sample_key(a) for a in args)
    return Node(op, args, None, shape, _infer(op, signature))


def weak_elementwise(op: str, *args: Node) -> Node:
    """``op`` on Python numbers: the result is a Python number too."""
    node = elementwise(op, *args)
    return Node(op, args, None, (), node.dtype, weak=node.dtype.kind in "ifc")


def _sample_key(node: Node) -> tuple[Any, ...]:
    if not node.weak:
        return ("array", node.dtype)
    if node.op == "const":
        return ("weak", node.attr)
    return ("sample", node.dtype.kind)


def _sample(key: tuple[Any, ...]) -> Any:
    if key[0] == "array":
        return np.empty(0, key[1])
    return key[1].value if key[0] == "weak" else _WEAK_SAMPLES[key[1]]


@lru_cache(maxsize=4096)
def _infer(op: str, signature: tuple[tuple[Any, ...], ...]) -> np.dtype:
    function = OPS[op].numpy
    assert function is not None
    with np.errstate(all="ignore"):
        return np.asarray(function(*map(_sample, signature))).dtype


def root(a: Node, b: Node, sign: int, n: int, dtype: np.dtype) -> Node:
    """``exp(sign * 2j * pi * a * b / n)`` of integers with ``0 <= a * b < n``."""
    return Node("root", (a, b), (sign, n), broadcast_shapes("root", [a.shape, b.shape]), dtype)


def broadcast_shapes(op: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """NumPy's broadcasting; ValueError in NumPy's words when shapes do not fit."""
    if len(set(shapes)) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = " ".join(str(s).replace(" ", "") for s in shapes)
        raise ValueError(
            f"{op}: operands could not be broadcast together with shapes {given}"
        ) from None


def astype(x: Node, dtype: Any) -> Node:
    """Convert; a no-op when the dtype is already there."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise TypeError(
            f"astype: dtype {dtype} is not numeric; use a bool, integer, float or complex"
        )
    dtype = dtype.newbyteorder("=")
    if dtype == x.dtype and not x.weak:
        return x
    return Node("astype", (x,), None, x.shape, dtype)


def getitem(x: Node, key: Any) -> Node:
    """Basic slicing: integers, slices, Ellipsis and None."""
    entries = normalize_key(key, x.shape)
    if (
        all(isinstance(e, Span) and e.whole(n) for e, n in zip(entries, x.shape, strict=False))
        and len(entries) == x.ndim
    ):
        return x
    return Node("getitem", (x,), entries, entries_shape(entries), x.dtype)


def entries_shape(entries: Sequence[Entry]) -> tuple[int, ...]:
    """The shape a key gives."""
    return tuple(
        1 if isinstance(e, NewAxis) else e.count for e in entries if not isinstance(e, Index)
    )


def update(x: Node, key: Any, value: Node) -> Node:
    """A copy of ``x`` in which ``x[key]`` is ``value`` (cast to the dtype of ``x``)."""
    entries = normalize_key(key, x.shape)
    region = entries_shape(entries)
    try:
        fits = np.broadcast_shapes(value.shape, region) == region
    except ValueError:
        fits = False
    if not fits and value.ndim > len(region):
        extra = value.ndim - len(region)
        if value.shape[:extra] == (1,) * extra:
            return update(x, key, reshape(value, value.shape[extra:]))
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape {region}"
        )
    if value.dtype.kind == "c" and x.dtype.kind != "c":
        raise TypeError(
            f"x[...] = value: value is {value.dtype}, x is {x.dtype}; take value.real or abs(value)"
        )
    return Node("update", (x, astype(value, x.dtype)), entries, x.shape, x.dtype)


def reshape(x: Node, shape: Any) -> Node:
    """C-order reshape; one extent may be -1."""
    dims = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
    if dims.count(-1) == 1:
        known = math.prod(n for n in dims if n != -1)
        if known == 0 or x.size % known:
            raise ValueError(f"cannot reshape array of size {x.size} into shape {dims}")
        dims = tuple(x.size // known if n == -1 else n for n in dims)
    if min(dims, default=0) < 0 or math.prod(dims) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {dims}")
    return x if dims == x.shape else Node("reshape", (x,), None, dims, x.dtype)


def normalize_axis(axis: Any, ndim: int, what: str = "axis") -> int:
    """A non-negative axis; numpy.exceptions.AxisError when out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise np.exceptions.AxisError(index, ndim, what if what != "axis" else None)
    return index % ndim


def normalize_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Distinct non-negative axes; None means all."""
    if axes is None:
        return tuple(range(ndim))
    sequence = tuple(axes) if isinstance(axes, Sequence | np.ndarray) else (axes,)
    found = tuple(normalize_axis(a, ndim) for a in sequence)
    if len(set(found)) != len(found):
        raise ValueError(f"repeated axis in {tuple(sequence)}")
    return found


def transpose(x: Node, axes: Sequence[int] | None = None) -> Node:
    """Permute the axes; reversed when None."""
    order = tuple(reversed(range(x.ndim))) if axes is None else normalize_axes(axes, x.ndim)
    if len(order) != x.ndim:
        raise ValueError(f"axes {tuple(axes or ())} do not match an array of {x.ndim} dimensions")
    if order == tuple(range(x.ndim)):
        return x
    return Node("transpose", (x,), order, tuple(x.shape[a] for a in order), x.dtype)


def broadcast_to(x: Node, shape: Sequence[int]) -> Node:
    """Repeat axes of length one, as numpy.broadcast_to."""
    target = tuple(operator.index(n) for n in shape)
    if broadcast_shapes("broadcast_to", [x.shape, target]) != target:
        raise ValueError(f"cannot broadcast shape {x.shape} to {target}")
    return x if target == x.shape else Node("broadcast_to", (x,), None, target, x.dtype)


def pad(x: Node, widths: Sequence[tuple[int, int]], fill: Any = 0) -> Node:
    """Constant borders; ``fill`` is cast to the dtype of ``x``."""
    if any(b < 0 or a < 0 for b, a in widths):
        raise ValueError("index can't contain negative values")
    if not any(b or a for b, a in widths):
        return x
    with np.errstate(all="ignore"):
        value = Constant.of(np.asarray(fill).astype(x.dtype)[()])
    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, widths, strict=True))
    return Node("pad", (x,), (tuple(map(tuple, widths)), value), shape, x.dtype)


def roll(x: Node, shifts: Sequence[tuple[int, int]]) -> Node:
    """Circular shifts as ``(axis, shift)`` pairs."""
    kept = tuple((a, s % x.shape[a]) for a, s in shifts if x.shape[a] and s % x.shape[a])
    return x if not kept else Node("roll", (x,), kept, x.shape, x.dtype)


def concat(parts: Sequence[Node], axis: int) -> Node:
    """Join along an axis; dtypes promote as in numpy.concatenate."""
    if not parts:
        raise ValueError("need at least one array to concatenate")
    ndim = parts[0].ndim
    axis = normalize_axis(axis, ndim)
    shapes = {p.shape[:axis] + p.shape[axis + 1 :] for p in parts}
    if len(shapes) > 1 or any(p.ndim != ndim for p in parts):
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly: "
            + ", ".join(str(p.shape) for p in parts)
        )
    dtype = np.result_type(*[p.dtype for p in parts])
    extent = sum(p.shape[axis] for p in parts)
    shape = parts[0].shape[:axis] + (extent,) + parts[0].shape[axis + 1 :]
    return Node("concat", tuple(astype(p, dtype) for p in parts), axis, shape, dtype)


def view(x: Node, dtype: Any) -> Node:
    """``x.view(dtype)``: float pairs to complex, complex to float pairs, or the same dtype."""
    target = np.dtype(dtype)
    if target == x.dtype:
        return x
    if target.kind == "c" and x.dtype == target.type(0).real.dtype:
        if x.ndim == 0 or x.shape[-1] % 2:
            raise ValueError(f"view: the last axis of {x.shape} must hold (re, im) pairs")
        return Node("pairs", (x,), None, x.shape[:-1] + (x.shape[-1] // 2,), target)
    if x.dtype.kind == "c" and target == x.dtype.type(0).real.dtype:
        if x.ndim == 0:
            raise ValueError("view: changing the item size needs at least one axis")
        return Node("unpair", (x,), None, x.shape[:-1] + (2 * x.shape[-1],), target)
    raise TypeError(
        f"view: {x.dtype} as {target} is not recorded; only float pairs <-> complex of the same "
        "precision. Use .astype(...) first, or view the array before fft_fused.lazy"
    )


def reduce(op: str, x: Node, axes: Any, keepdims: bool = False, dtype: Any = None) -> Node:
    """sum, mean, max, min, prod, any, all, argmax or argmin over ``axes`` (None: all)."""
    if op in ("argmax", "argmin") and axes is not None:
        axes = (operator.index(axes),)
    which = tuple(sorted(normalize_axes(axes, x.ndim)))
    empty = any(x.shape[a] == 0 for a in which)
    if empty and op in ("max", "min", "argmax", "argmin"):
        raise ValueError(
            f"{op}: zero-size array of shape {x.shape} has no largest or smallest value"
        )
    flat = op in ("argmax", "argmin") and axes is None
    shape = tuple(
        1 if i in which else n for i, n in enumerate(x.shape) if keepdims or i not in which
    )
    attr = (which, bool(keepdims), None if dtype is None else np.dtype(dtype).str, flat)
    return Node(op, (x,), attr, shape, _reduced_dtype(op, x.dtype, dtype))


@lru_cache(maxsize=512)
def _reduced_dtype(op: str, dtype: np.dtype, asked: Any) -> np.dtype:
    function = OPS[op].numpy
    assert function is not None
    sample = np.ones(1, dtype)
    return np.asarray(function(sample) if asked is None else function(sample, dtype=asked)).dtype


def transform(x: Node, spec: Transform) -> Node:
    """A transform as the user called it (checked by ``spectrum.transform_spec``)."""
    shape, dtype = transform_shape(x, spec)
    return Node("transform", (x,), spec, shape, dtype)


def matmul(a: Node, b: Node) -> Node:
    """Matrix product with NumPy's shape rules; run by NumPy on whole arrays."""
    shape = _matmul_shape(a.shape, b.shape)
    return Node("matmul", (a, b), None, shape, np.result_type(a.dtype, b.dtype))


def _matmul_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if not a or not b:
        raise ValueError("matmul: an operand is 0-d; use * to scale")
    left = a if len(a) > 1 else (1, *a)
    right = b if len(b) > 1 else (*b, 1)
    if left[-1] != right[-2]:
        raise ValueError(f"matmul: inner extents differ: {a} @ {b}")
    batch = broadcast_shapes("matmul", [left[:-2], right[:-2]])
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return batch + rows + columns


def take(x: Node, indices: Node, axis: int) -> Node:
    """``numpy.take`` along one axis; indices outside raise IndexError when run."""
    axis = normalize_axis(axis, x.ndim)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"take: indices are {indices.dtype}, need integers")
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
    return Node("take", (x, indices), axis, shape, x.dtype)


def cumsum(x: Node, axis: int) -> Node:
    """Running sum along one axis."""
    axis = normalize_axis(axis, x.ndim)
    return Node("cumsum", (x,), axis, x.shape, np.cumsum(np.empty(0, x.dtype)).dtype)
