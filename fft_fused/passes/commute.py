"""What commutes with a transform: factors that are constant along it, and joins of other axes.

For libraries, whose calls are few and large: transforms come to stand next to one another, or
become one call with a larger batch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.index import sliced
from ..expr.key import Span
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, is_elementwise
from .motion import WITHIN_AXES, Motion, Uses
from .surface import remap


def factor_below_transform(node: Node, uses: Uses) -> Node | None:
    """dft_b(dft_a(x) * c) -> dft_b(dft_a(x * c)) for a factor that is constant along axis a."""
    if node.op != "dft" or node.args[0].op != "multiply" or uses(node.args[0]) > 1:
        return None
    product = node.args[0]
    for inner, factor in (product.args, product.args[::-1]):
        if inner.op != "dft" or inner.attr.kind != "c2c" or uses(inner) > 1:
            continue
        if inner.attr.axis == node.attr.axis or inner.shape != product.shape:
            continue
        if _extent(factor, inner.attr.axis, inner.ndim) == 1 and factor.op != "dft":
            below = replace(product, args=(inner.args[0], factor), shape=inner.args[0].shape)
            return replace(node, args=(replace(inner, args=(below,)),))
    return None


def _extent(node: Node, axis: int, ndim: int) -> int:
    place = axis - (ndim - node.ndim)
    return 1 if place < 0 else node.shape[place]


def new_axis_below_transform(node: Node, uses: Uses) -> Node | None:
    """dft(x)[None] -> dft(x[None])."""
    if node.op != "reshape" or node.args[0].op != "dft" or uses(node.args[0]) > 1:
        return None
    inner = node.args[0]
    if node.ndim != inner.ndim + 1 or node.shape != (1, *inner.shape):
        return None
    x = build.reshape(inner.args[0], (1, *inner.args[0].shape))
    spec = replace(inner.attr, axis=inner.attr.axis + 1)
    return replace(inner, args=(x,), attr=spec, shape=node.shape)


def join_below_transform(node: Node, uses: Uses) -> Node | None:
    """Transforms joined along another axis are one transform of the joined arguments."""
    if node.op != "concat" or node.args[0].op != "dft":
        return None
    spec = node.args[0].attr
    if spec.axis == node.attr or any(p.op != "dft" or uses(p) > 1 for p in node.args):
        return None
    if any(p.attr != spec or p.args[0].dtype != node.args[0].args[0].dtype for p in node.args):
        return None
    joined = build.concat([p.args[0] for p in node.args], node.attr)
    return replace(node.args[0], args=(joined,), shape=node.shape)


def assignment_as_choice(node: Node, uses: Uses) -> Node | None:
    """x[a:b] = f(x[a:b]) -> where(a <= i < b, f(x), x): no element changes its place."""
    if node.op != "update":
        return None
    base, value = node.args
    spans = node.attr
    if len(spans) != base.ndim or not all(isinstance(e, Span) and e.step == 1 for e in spans):
        return None
    parts = [a for a, e in enumerate(spans) if not e.whole(base.shape[a])]
    if len(parts) != 1:
        return None
    (axis,) = parts
    span = spans[axis]
    lifted = _uncropped(value, axis, span, base)
    if lifted is None or lifted.shape != base.shape:
        return None
    i = build.iota(0, 1, base.shape[axis], np.dtype("i8"))
    inside = build.elementwise("greater_equal", i, build.const(np.int64(span.start)))
    last = build.const(np.int64(span.start + span.count))
    inside = build.elementwise("logical_and", inside, build.elementwise("less", i, last))
    shape = tuple(n if a == axis else 1 for a, n in enumerate(base.shape))
    return build.elementwise("where", build.reshape(inside, shape), lifted, base)


def _uncropped(value: Node, axis: int, span: Span, base: Node) -> Node | None:
    """The elementwise value of which ``value`` is the crop; None where it is not elementwise."""
    crop = sliced(base.shape[axis], span.start, span.count)
    if value.op == "remap" and value.attr[0] == axis and value.attr[1] == crop:
        return value.args[0]
    if value.ndim != base.ndim or value.shape[axis] == 1:
        return value if value.ndim < base.ndim - axis or value.shape[axis] == 1 else None
    if not is_elementwise(value.op):
        return None
    args = []
    for arg in value.args:
        lifted = _uncropped(arg, axis, span, base) if arg.ndim == base.ndim else arg
        if lifted is None or (arg.ndim != base.ndim and arg.ndim >= base.ndim - axis):
            return None
        args.append(lifted)
    shape = build.broadcast_shapes(value.op, [a.shape for a in args])
    return replace(value, args=tuple(args), shape=shape)


def order_below_reduction(node: Node, uses: Uses) -> Node | None:
    """A shift or flip of a reduced result is one before the reduction, which costs nothing there;
    after it, it would be a kernel of its own."""
    if node.op != "remap" or node.args[0].op not in COMMUTATIVE_REDUCTIONS:
        return None
    (axis, mapping, _), inner = node.attr, node.args[0]
    if mapping.fills or uses(inner) > 1 or mapping.size != mapping.extent:
        return None
    kept = [a for a in range(inner.args[0].ndim) if a not in inner.attr[0]]
    return replace(inner, args=(remap(inner.args[0], kept[axis], mapping),))


FOR_LIBRARY: tuple[Motion, ...] = (
    *WITHIN_AXES,
    factor_below_transform,
    new_axis_below_transform,
    join_below_transform,
    assignment_as_choice,
    order_below_reduction,
)
