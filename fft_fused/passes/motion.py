"""Moving index maps: crops and shifts towards the loads, zero pads away from them.

A crop that moves down is work never done; a zero pad that moves up past a transform over another
axis is a transform of zeros never done; a shift that meets its inverse is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..expr.index import AxisMap
from ..expr.node import Node
from ..expr.ops import is_elementwise
from .surface import remap

Uses = Callable[[Node], int]


def compose(node: Node, uses: Uses) -> Node | None:
    """remap(remap(x)) along one axis -> one remap."""
    if node.op != "remap" or node.args[0].op != "remap":
        return None
    (axis, outer, fill), inner_node = node.attr, node.args[0]
    inner_axis, inner, inner_fill = inner_node.attr
    if axis != inner_axis:
        if axis > inner_axis or fill != inner_fill and (outer.fills and inner.fills):
            return None  # lower axis innermost: one order for maps of several axes
        below = remap(inner_node.args[0], axis, outer, fill)
        return remap(below, inner_axis, inner, inner_fill)
    if outer.fills and inner.fills and fill != inner_fill:
        return None
    return remap(inner_node.args[0], axis, outer.after(inner), fill or inner_fill)


def below_elementwise(node: Node, uses: Uses) -> Node | None:
    """remap(f(x, y)) -> f(remap(x), remap(y)) when nothing else uses f and no fill is involved."""
    if node.op != "remap" or not is_elementwise(node.args[0].op):
        return None
    (axis, mapping, _), inner = node.attr, node.args[0]
    if mapping.fills or uses(inner) > 1 or mapping.extent == 1:
        return None
    args = tuple(_remap_broadcast(a, inner.ndim, axis, mapping) for a in inner.args)
    return replace(inner, args=args, shape=node.shape)


def _remap_broadcast(arg: Node, ndim: int, axis: int, mapping: AxisMap) -> Node:
    place = axis - (ndim - arg.ndim)
    if place < 0 or arg.shape[place] == 1:
        return arg
    return remap(arg, place, mapping)


def below_transform(node: Node, uses: Uses) -> Node | None:
    """A crop along one axis moves below a transform over another."""
    if node.op != "remap" or node.args[0].op != "dft":
        return None
    (axis, mapping, _), inner = node.attr, node.args[0]
    if mapping.fills or inner.attr.axis == axis or uses(inner) > 1:
        return None
    if mapping.size >= mapping.extent:
        return None
    return replace(inner, args=(remap(inner.args[0], axis, mapping),), shape=node.shape)


def pad_above_transform(node: Node, uses: Uses) -> Node | None:
    """A zero pad over one axis moves above a transform over another."""
    if node.op != "dft" or node.args[0].op != "remap":
        return None
    axis, mapping, fill = node.args[0].attr
    if not mapping.fills or fill.value != 0 or axis == node.attr.axis or uses(node.args[0]) > 1:
        return None
    x = node.args[0].args[0]
    shape = node.shape[:axis] + (x.shape[axis],) + node.shape[axis + 1 :]
    zero = type(fill).of(node.dtype.type(0))
    return remap(replace(node, args=(x,), shape=shape), axis, mapping, zero)


def swap_below_transform(node: Node, uses: Uses) -> Node | None:
    """dft over an axis of (remap along it of (pad along another)): the pad moves outside."""
    if node.op != "dft" or node.args[0].op != "remap" or node.args[0].args[0].op != "remap":
        return None
    outer, inner = node.args[0], node.args[0].args[0]
    (axis, mapping, fill), (inner_axis, inner_mapping, inner_fill) = outer.attr, inner.attr
    if axis != node.attr.axis or inner_axis == axis or not inner_mapping.fills:
        return None
    if inner_fill.value != 0 or uses(outer) > 1 or uses(inner) > 1:
        return None
    if mapping.fills and fill.value != 0:
        return None
    below = remap(inner.args[0], axis, mapping, fill)
    shape = list(node.shape)
    shape[inner_axis] = below.shape[inner_axis]
    zero = type(inner_fill).of(node.dtype.type(0))
    return remap(replace(node, args=(below,), shape=tuple(shape)), inner_axis, inner_mapping, zero)


def shift_above_transform(node: Node, uses: Uses) -> Node | None:
    """A shift along one axis moves above a transform over another, towards elementwise work."""
    if node.op != "dft" or node.args[0].op != "remap" or uses(node.args[0]) > 1:
        return None
    axis, mapping, _ = node.args[0].attr
    if axis == node.attr.axis or mapping.fills or mapping.size != mapping.extent:
        return None
    x = node.args[0].args[0]
    return remap(replace(node, args=(x,)), axis, mapping)


def pad_above_cast(node: Node, uses: Uses) -> Node | None:
    """astype(pad(x)) -> pad(astype(x)), so that pads reach the transform they belong to."""
    if node.op not in ("astype", "conjugate") or node.args[0].op != "remap":
        return None
    axis, mapping, fill = node.args[0].attr
    if not mapping.fills or fill.value != 0 or uses(node.args[0]) > 1:
        return None
    x = node.args[0].args[0]
    zero = type(fill).of(node.dtype.type(0))
    return remap(replace(node, args=(x,), shape=x.shape), axis, mapping, zero)


def below_transpose(node: Node, uses: Uses) -> Node | None:
    """remap(transpose(x)) -> transpose(remap(x))."""
    if node.op != "remap" or node.args[0].op != "transpose":
        return None
    (axis, mapping, fill), inner = node.attr, node.args[0]
    below = remap(inner.args[0], inner.attr[axis], mapping, fill)
    return replace(inner, args=(below,), shape=node.shape)


def below_reshape(node: Node, uses: Uses) -> Node | None:
    """remap(reshape(x)) -> reshape(remap(x)) where the axis itself is not reshaped."""
    if node.op != "remap" or node.args[0].op != "reshape" or uses(node.args[0]) > 1:
        return None
    (axis, mapping, fill), inner = node.attr, node.args[0]
    source = dict(axis_pairs(inner.shape, inner.args[0].shape)).get(axis)
    if source is None:
        return None
    below = remap(inner.args[0], source, mapping, fill)
    return replace(inner, args=(below,), shape=node.shape)


def axis_pairs(after: tuple[int, ...], before: tuple[int, ...]) -> list[tuple[int, int]]:
    """Axes (longer than one) that a C-order reshape leaves alone, as (after, before) pairs."""
    pairs = []
    i = j = 0
    left = right = 1
    while i < len(after) and j < len(before):
        if left == right:
            if after[i] == before[j]:
                if after[i] != 1:
                    pairs.append((i, j))
                i, j = i + 1, j + 1
                continue
            if after[i] == 1 or before[j] == 1:
                i, j = (i + 1, j) if after[i] == 1 else (i, j + 1)
                continue
            left, right, i, j = after[i], before[j], i + 1, j + 1
        elif left < right:
            left, i = left * after[i], i + 1
        else:
            right, j = right * before[j], j + 1
        if left == right:
            left = right = 1
    return pairs


def half_of_real_spectrum(node: Node, uses: Uses) -> Node | None:
    """fft(real)[..., :k] with k <= n//2 + 1 -> rfft(real)[..., :k]."""
    if node.op != "remap" or node.args[0].op != "dft" or uses(node.args[0]) > 1:
        return None
    (axis, mapping, _), inner = node.attr, node.args[0]
    spec = inner.attr
    if spec.kind != "rfull" or spec.axis != axis or mapping.fills or spec.sign > 0:
        return None
    half = spec.n // 2 + 1
    if any(max(p.start or 0, p.last) >= half for p in mapping.pieces):
        return None
    shape = inner.shape[:axis] + (half,) + inner.shape[axis + 1 :]
    rfft = replace(inner, attr=replace(spec, kind="r2c"), shape=shape)
    return remap(rfft, axis, AxisMap(half, mapping.pieces))


def below_reduction(node: Node, uses: Uses) -> Node | None:
    """A crop of a reduced result is a crop before the reduction."""
    if node.op != "remap" or node.args[0].op not in ("sum", "max", "min", "prod", "any", "all"):
        return None
    (axis, mapping, _), inner = node.attr, node.args[0]
    if mapping.fills or uses(inner) > 1 or mapping.size >= mapping.extent:
        return None
    kept = [a for a in range(inner.args[0].ndim) if a not in inner.attr[0]]
    below = remap(inner.args[0], kept[axis], mapping)
    return replace(inner, args=(below,), shape=node.shape)


Motion = Callable[[Node, Uses], Node | None]

MOTION: tuple[Motion, ...] = (
    compose,
    half_of_real_spectrum,
    below_elementwise,
    below_transform,
    pad_above_transform,
    swap_below_transform,
    shift_above_transform,
    pad_above_cast,
    below_transpose,
    below_reshape,
    below_reduction,
)

_ACROSS_AXES = {
    below_transform,
    pad_above_transform,
    swap_below_transform,
    shift_above_transform,
    pad_above_cast,
}
WITHIN_AXES = tuple(rule for rule in MOTION if rule not in _ACROSS_AXES)
