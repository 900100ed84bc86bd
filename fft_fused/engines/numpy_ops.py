"""Every node as one NumPy or SciPy call on whole arrays: what ``unfused`` runs and tables use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..expr.index import AxisMap
from ..expr.key import numpy_key
from ..expr.node import Node
from ..expr.ops import OPS
from ..runtime.pocketfft import TRANSFORMS, implementation, real_implementation, scale_mode


def node_function(node: Node, xp: Any = np) -> Callable[..., Any]:
    """The call that computes a node from the values of its arguments.

    Parameters
    ----------
    node : Node
        As recorded or in normal form.
    xp : module
        NumPy, or CuPy: NumPy's functions reach it by its override protocols, the rest is here.
    """
    kind = OPS[node.op].kind
    if xp is not np:
        from .cupy_ops import device_function

        return device_function(node, xp)
    maker = _MAKERS.get(node.op)
    if maker is not None:
        return maker(node)
    if kind == "reduce":
        return _reduction(node)
    function = OPS[node.op].numpy
    assert function is not None, node.op
    return _weak(function, node) if node.weak else function


def pieces(mapping: AxisMap) -> list[tuple[int, int, tuple[int, int, int] | None]]:
    """``(low, high, (start, stop, step) or None for fill)`` per piece, in output order."""
    found: list[tuple[int, int, tuple[int, int, int] | None]] = []
    low = 0
    for p in mapping.pieces:
        part = None if p.start is None else (p.start, p.start + p.count * p.step, p.step)
        found.append((low, low + p.count, part))
        low += p.count
    return found


def _weak(function: Callable[..., Any], node: Node) -> Callable[..., Any]:
    """A Python number from Python numbers."""
    kind = {"i": int, "f": float, "c": complex}[node.dtype.kind]
    return lambda *args: kind(function(*args))


def _astype(node: Node) -> Callable[..., Any]:
    dtype = node.dtype

    def call(x: Any) -> Any:
        x = x if hasattr(x, "astype") else np.asarray(x)
        return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)

    return call


def _root(node: Node) -> Callable[..., Any]:
    sign, n = node.attr

    def call(a: Any, b: Any) -> Any:
        steps = np.multiply(a, b, dtype=np.int64)
        quarters = (4 * steps + n // 2) // n  # of a turn, so that these are exact
        angle = (4 * steps - quarters * n) * (np.pi / (2 * n))
        cosine, sine = np.cos(angle), np.sin(angle)
        odd = quarters % 2 == 1
        real, imag = np.where(odd, -sine, cosine), np.where(odd, cosine, sine)
        return (np.where(quarters % 4 >= 2, -1, 1) * (real + sign * 1j * imag)).astype(node.dtype)

    return call


def _iota(node: Node) -> Callable[..., Any]:
    start, step, count = node.attr
    return lambda: arange(start.value, step.value, count, node.dtype)


def arange(start: Any, step: Any, count: int, dtype: np.dtype) -> np.ndarray:
    """``numpy.arange`` of a given number of elements."""
    if isinstance(start, int) and isinstance(step, int):
        return np.arange(start, start + count * step, step, dtype=dtype)
    return np.arange(start, start + (count - 0.5) * step, step, dtype=dtype)[:count]


def _getitem(node: Node) -> Callable[..., Any]:
    key = numpy_key(node.attr)
    return lambda x: x[key]


def _update(node: Node) -> Callable[..., Any]:
    key = numpy_key(node.attr)

    def call(base: Any, value: Any) -> Any:
        base = np.array(base)
        base[key] = value
        return base

    return call


def _reduction(node: Node) -> Callable[..., Any]:
    axes, keepdims, asked, flat = node.attr
    function = OPS[node.op].numpy
    assert function is not None
    if node.op in ("argmax", "argmin"):
        axis = None if flat else axes[0]
        return lambda x: function(x, axis=axis, keepdims=keepdims)
    extra = {"dtype": np.dtype(asked)} if asked else {}
    return lambda x: function(x, axis=axes, keepdims=keepdims, **extra)


def _transform(node: Node) -> Callable[..., Any]:
    spec = node.attr
    extra: dict[str, Any] = {"norm": spec.norm}
    found = implementation
    if spec.type:
        found = real_implementation
        extra |= {"type": spec.type, "orthogonalize": spec.orthogonalize}
    if len(spec.axes) == 1:
        function, n, axis = found(spec.name), spec.lengths[0], spec.axes[0]
        if spec.type:
            return lambda x: function(x, n=n, axis=axis, **extra)
        return lambda x: function(x, n, axis, **extra)
    many = found(spec.name + "n")
    lengths, axes = spec.lengths, spec.axes
    return lambda x: many(x, s=lengths, axes=axes, **extra)


def _dft(node: Node) -> Callable[..., Any]:
    spec = node.attr
    mode = scale_mode(spec.scale, spec.n)
    run = TRANSFORMS[spec.kind]

    def call(x: Any) -> Any:
        out = np.empty(node.shape, node.dtype)
        return run(np.asarray(x), spec.axis, spec.n, spec.sign < 0, mode, out, 1)

    return call


def _remap(node: Node) -> Callable[..., Any]:
    axis, mapping, fill = node.attr
    before = (slice(None),) * axis
    parts = pieces(mapping)
    if mapping.is_slice:
        part = range_slice(*parts[0][2]) if parts and parts[0][2] else slice(0, 0)
        return lambda x: x[(*before, part)]

    def call(x: Any) -> Any:
        out = np.empty(node.shape, node.dtype)
        for low, high, source in parts:
            value = fill.value if source is None else x[(*before, range_slice(*source))]
            out[(*before, slice(low, high))] = value
        return out

    return call


def range_slice(start: int, stop: int, step: int) -> slice:
    return slice(start, None if stop < 0 else stop, step)


def _pairs(node: Node) -> Callable[..., Any]:
    return lambda x: as_pairs(x, node.dtype)


def as_pairs(a: Any, dtype: Any) -> Any:
    """View with another item size; a copy only where the last axis is not contiguous."""
    if (a.ndim and a.shape[-1] > 1 and a.strides[-1] != a.itemsize) or a.size == 0:
        a = np.ascontiguousarray(a)
    return a.view(dtype)


def assign(out: np.ndarray, value: np.ndarray) -> None:
    """Copy; short last axes that are contiguous on both sides move as one item."""
    if out.ndim > 1 and value.shape == out.shape and value.dtype == out.dtype:
        size = out.shape[-1] * out.itemsize
        whole = out.strides[-1] == value.strides[-1] == out.itemsize
        wide = _ITEMS.get(size) if whole and out.shape[-1] > 1 else None
        if wide is not None and all(
            s % size == 0 for s in (*out.strides[:-1], *value.strides[:-1])
        ):
            out, value = out.view(wide), value.view(wide)
    np.copyto(out, value)


_ITEMS: dict[int, np.dtype] = {
    2: np.dtype("u2"),
    4: np.dtype("u4"),
    8: np.dtype("u8"),
    16: np.dtype("c16"),
}


def _frames(node: Node) -> Callable[..., Any]:
    shape, strides, of_memory = node.attr

    def call(x: Any) -> Any:
        x = x if of_memory else np.ascontiguousarray(x)
        return as_strided(x, shape, strides, writeable=False)

    return call


def _pad(node: Node) -> Callable[..., Any]:
    widths, fill = node.attr
    return lambda x: np.pad(x, widths, constant_values=fill.value)


_MAKERS: dict[str, Callable[[Node], Callable[..., Any]]] = {
    "const": lambda node: lambda: node.attr.value,
    "iota": _iota,
    "astype": _astype,
    "root": _root,
    "getitem": _getitem,
    "update": _update,
    "reshape": lambda node: lambda x: np.reshape(x, node.shape),
    "transpose": lambda node: lambda x: np.transpose(x, node.attr),
    "broadcast_to": lambda node: lambda x: np.broadcast_to(x, node.shape),
    "pad": _pad,
    "roll": lambda node: lambda x: np.roll(x, [s for _, s in node.attr], [a for a, _ in node.attr]),
    "concat": lambda node: lambda *parts: np.concatenate(parts, axis=node.attr),
    "pairs": _pairs,
    "unpair": _pairs,
    "frames": _frames,
    "remap": _remap,
    "transform": _transform,
    "dft": _dft,
    "take": lambda node: lambda x, indices: np.take(x, indices, axis=node.attr),
    "call": lambda node: partial(node.attr.on_host, dtype=node.dtype),
    "cumsum": lambda node: lambda x: np.cumsum(x, axis=node.attr),
}
