"""Surface operations, as users write them, into normal form. One small function an operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..expr import build
from ..expr.index import AxisMap, padded, resized, rolled, sliced
from ..expr.key import Index, NewAxis, Span
from ..expr.node import Constant, Node
from ..expr.ops import is_elementwise, ufunc_of
from ..expr.spectrum import DFT, REAL_TO_REAL, Transform, transform_dtype


def to_normal_form(node: Node) -> Node:
    """One node, its arguments already in normal form."""
    lower = _LOWER.get(node.op)
    if lower is not None:
        return lower(node)
    return explicit_casts(node) if is_elementwise(node.op) else node


def remap(x: Node, axis: int, mapping: AxisMap, fill: Constant | None = None) -> Node:
    """Apply an index map along an axis; nothing for the identity."""
    if mapping.is_identity:
        return x
    shape = x.shape[:axis] + (mapping.size,) + x.shape[axis + 1 :]
    return Node("remap", (x,), (axis, mapping, fill if mapping.fills else None), shape, x.dtype)


def strong(node: Node, dtype: np.dtype) -> Node:
    """The node in ``dtype``; a constant is converted now, as NumPy would."""
    if node.op == "const":
        if node.dtype == dtype and not node.weak:
            return node
        with np.errstate(all="ignore"):
            return build.const(dtype.type(node.attr.value))
    return build.astype(node, dtype)


def explicit_casts(node: Node) -> Node:
    """Arguments converted to the dtypes NumPy's loop computes in."""
    dtypes = _loop_dtypes(node)
    try:
        args = tuple(strong(a, d) for a, d in zip(node.args, dtypes, strict=True))
    except OverflowError:  # comparisons of small integers with a Python int out of their range
        return node
    return replace(node, args=args, weak=False)


def _loop_dtypes(node: Node) -> list[np.dtype]:
    if node.op == "where":
        return [np.dtype(bool), node.dtype, node.dtype]
    if node.op == "clip":
        return [node.dtype] * 3
    ufunc = ufunc_of(node.op)
    if ufunc is None:
        return [a.dtype for a in node.args]
    asked: list[Any] = [_promotion(a) for a in node.args]
    *given, result = ufunc.resolve_dtypes((*asked, None))
    if result != node.dtype:  # the operator's shortcut: bool ** 2 is square, an int8
        return [node.dtype] * len(given)
    return given


def _promotion(node: Node) -> Any:
    return {"i": int, "f": float, "c": complex}[node.dtype.kind] if node.weak else node.dtype


def _getitem(node: Node) -> Node:
    x, axis = node.args[0], 0
    for entry in node.attr:
        if isinstance(entry, NewAxis):
            continue
        if isinstance(entry, Index):
            x = remap(x, axis, sliced(x.shape[axis], entry.at, 1))
        elif isinstance(entry, Span):
            x = remap(x, axis, sliced(x.shape[axis], entry.start, entry.count, entry.step))
        axis += 1
    return build.reshape(x, node.shape)


def _update(node: Node) -> Node:
    base, value = node.args
    whole = all(
        isinstance(e, Span) and e.whole(n) for e, n in zip(node.attr, base.shape, strict=False)
    )
    if whole and len(node.attr) == base.ndim:
        return build.broadcast_to(value, base.shape)
    return node


def _pad(node: Node) -> Node:
    widths, fill = node.attr
    x = node.args[0]
    for axis, (before, after) in enumerate(widths):
        x = remap(x, axis, padded(x.shape[axis], before, after), fill)
    return x


def _roll(node: Node) -> Node:
    x = node.args[0]
    for axis, shift in node.attr:
        x = remap(x, axis, rolled(x.shape[axis], shift))
    return x


def _transform(node: Node) -> Node:
    spec: Transform = node.attr
    if spec.name in REAL_TO_REAL:
        x = node.args[0]
        wanted = transform_dtype(x.dtype, spec.name)
        for axis, n in zip(spec.axes, spec.lengths, strict=True):
            x = remap(x, axis, resized(x.shape[axis], n), _zero(x.dtype))
        return replace(node, args=(build.astype(x, wanted),))
    return _DFTS[spec.name](node.args[0], spec)


def _zero(dtype: np.dtype) -> Constant:
    return Constant.of(dtype.type(0))


def scale_of(norm: str, n: int, forward: bool) -> float:
    """The factor of one axis."""
    if norm == "ortho":
        return 1 / float(np.sqrt(n))
    return 1 / n if (norm == "forward") == forward else 1.0


def _dft(x: Node, kind: str, axis: int, n: int, forward: bool, norm: str) -> Node:
    """One axis: resize to the length the transform reads, then transform."""
    reads, gives = (n // 2 + 1 if kind == "c2r" else n), (n // 2 + 1 if kind == "r2c" else n)
    x = remap(x, axis, resized(x.shape[axis], reads), _zero(x.dtype))
    char = x.dtype.char.lower() if kind in ("r2c", "rfull") else x.dtype.char
    dtype = np.dtype(char if kind == "c2r" else char.upper())
    if kind == "c2r":
        dtype = np.dtype(x.dtype.char.lower())
    shape = x.shape[:axis] + (gives,) + x.shape[axis + 1 :]
    spec = DFT(kind, axis, n, -1 if forward else 1, scale_of(norm, n, forward))
    return Node("dft", (x,), spec, shape, dtype)


def _c2c(x: Node, spec: Transform) -> Node:
    forward = spec.name == "fft"
    if not spec.axes:
        return build.astype(x, transform_dtype(x.dtype, spec.name))
    pairs = list(zip(spec.axes, spec.lengths, strict=True))
    pairs.sort(reverse=forward)  # last axis first, and last axis last on the way back
    complex_dtype = transform_dtype(x.dtype, spec.name)
    real = x.dtype.kind != "c"
    x = build.astype(x, np.dtype(complex_dtype.char.lower()) if real else complex_dtype)
    for i, (axis, n) in enumerate(pairs):
        x = _dft(x, "rfull" if real and i == 0 else "c2c", axis, n, forward, spec.norm)
    return x


def _r2c(x: Node, spec: Transform, forward: bool = True) -> Node:
    real_dtype = np.dtype(transform_dtype(x.dtype, "rfft").char.lower())
    *others, (last, n) = zip(spec.axes, spec.lengths, strict=True)
    x = _dft(build.astype(x, real_dtype), "r2c", last, n, forward, spec.norm)
    for axis, m in sorted(others, reverse=True):
        x = _dft(x, "c2c", axis, m, forward, spec.norm)
    return x


def _c2r(x: Node, spec: Transform, forward: bool = False) -> Node:
    x = build.astype(x, np.result_type(transform_dtype(x.dtype, "irfft"), np.complex64))
    *others, (last, n) = zip(spec.axes, spec.lengths, strict=True)
    for axis, m in sorted(others):
        x = _dft(x, "c2c", axis, m, forward, spec.norm)
    return _dft(x, "c2r", last, n, forward, spec.norm)


_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hfft(x: Node, spec: Transform) -> Node:
    """hfft(x) is irfft(conj(x)) with the norms exchanged (numpy.fft.hfft, Notes)."""
    conjugate = build.elementwise("conjugate", x)
    return _c2r(conjugate, replace(spec, norm=_SWAPPED[spec.norm]))


def _ihfft(x: Node, spec: Transform) -> Node:
    """ihfft(x) is conj(rfft(x)) with the norms exchanged."""
    return build.elementwise("conjugate", _r2c(x, replace(spec, norm=_SWAPPED[spec.norm])))


_DFTS: dict[str, Callable[[Node, Transform], Node]] = {
    "fft": _c2c,
    "ifft": _c2c,
    "rfft": _r2c,
    "irfft": _c2r,
    "hfft": _hfft,
    "ihfft": _ihfft,
}


def _reduce(node: Node) -> Node:
    """Reduce in the accumulator's dtype without keepdims, then cast, divide and reshape."""
    axes, _keep, asked, flat = node.attr
    x = node.args[0]
    if flat:
        x, axes = build.reshape(x, (x.size,)), (0,)
    result = np.dtype(asked) if asked else node.dtype
    if node.op in ("sum", "mean", "prod"):
        wide = np.dtype("f4") if result.kind == "f" and result.itemsize == 2 else result
        x = build.astype(x, wide)
    elif node.op in ("any", "all"):
        x = build.astype(x, np.dtype(bool))
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    op = "sum" if node.op == "mean" else node.op
    if axes:
        dtype = node.dtype if op in ("argmax", "argmin") else x.dtype
        x = Node(op, (x,), (axes, False, None, False), shape, dtype)
    if node.op == "mean":
        x = explicit_casts(build.elementwise("divide", x, build.const(x.dtype.type(count))))
    return build.reshape(build.astype(x, node.dtype), node.shape)


def _reshape(node: Node) -> Node:
    x = node.args[0]
    return build.reshape(x.args[0], node.shape) if x.op == "reshape" else node


def _transpose(node: Node) -> Node:
    x = node.args[0]
    if x.op != "transpose":
        return node
    return build.transpose(x.args[0], tuple(x.attr[a] for a in node.attr))


_LOWER: dict[str, Callable[[Node], Node]] = {
    "getitem": _getitem,
    "update": _update,
    "pad": _pad,
    "roll": _roll,
    "transform": _transform,
    "reshape": _reshape,
    "transpose": _transpose,
    **dict.fromkeys(
        ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin"), _reduce
    ),
}
