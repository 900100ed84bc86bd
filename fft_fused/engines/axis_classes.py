"""Which axes of the values of a graph run in step: one rule for each kind of operation."""

from __future__ import annotations

from ..expr.index import AxisMap
from ..expr.key import Index, NewAxis, Span
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from ..expr.spectrum import DFT
from ..passes.motion import axis_pairs

Axis = tuple[int, int]


class AxisClasses:
    """Union-find over (value, axis); a class is *whole* when some operation needs all of it."""

    def __init__(self) -> None:
        self.parent: dict[Axis, Axis] = {}
        self.whole: set[Axis] = set()
        self.shifted: list[tuple[Axis, Axis, int]] = []

    def find(self, axis: Axis) -> Axis:
        root = axis
        while (up := self.parent.setdefault(root, root)) != root:
            root = up
        while self.parent[axis] != root:
            self.parent[axis], axis = root, self.parent[axis]
        return root

    def join(self, a: Axis, b: Axis) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[a] = b
            if a in self.whole:
                self.whole.add(b)

    def pin(self, axis: Axis) -> None:
        self.whole.add(self.find(axis))

    def is_whole(self, axis: Axis) -> bool:
        return self.find(axis) in self.whole


def link(node: Node, classes: AxisClasses) -> None:
    """Join and pin the axes of one computed value and its arguments."""
    kind = OPS[node.op].kind
    if kind == "elementwise":
        for arg in node.args:
            _join_broadcast(node, arg, classes)
    elif kind == "reduce":
        kept = [a for a in range(node.args[0].ndim) if a not in node.attr[0]]
        for out, axis in enumerate(kept):
            classes.join((id(node), out), (id(node.args[0]), axis))
        if node.op not in COMMUTATIVE_REDUCTIONS:
            for axis in node.attr[0]:
                classes.pin((id(node.args[0]), axis))
    else:
        _STRUCTURE.get(node.op, _pin_all)(node, classes)


def _join_broadcast(node: Node, arg: Node, classes: AxisClasses) -> None:
    shift = node.ndim - arg.ndim
    for axis, extent in enumerate(arg.shape):
        if extent == node.shape[axis + shift]:
            classes.join((id(node), axis + shift), (id(arg), axis))


def _join_but(node: Node, arg: Node, classes: AxisClasses, special: int) -> None:
    for axis in range(node.ndim):
        if axis != special:
            classes.join((id(node), axis), (id(arg), axis))


def _pin_both(node: Node, arg: Node, classes: AxisClasses, axis: int) -> None:
    classes.pin((id(node), axis))
    classes.pin((id(arg), axis))


def _dft(node: Node, classes: AxisClasses) -> None:
    spec: DFT = node.attr
    _join_but(node, node.args[0], classes, spec.axis)
    _pin_both(node, node.args[0], classes, spec.axis)


def _along_axes(node: Node, classes: AxisClasses) -> None:
    for axis in range(node.ndim):
        if axis in node.attr.axes:
            _pin_both(node, node.args[0], classes, axis)
        else:
            classes.join((id(node), axis), (id(node.args[0]), axis))


def _remap(node: Node, classes: AxisClasses) -> None:
    axis, mapping, _ = node.attr
    arg = node.args[0]
    _join_but(node, arg, classes, axis)
    start = _shift_of(mapping)
    if start is None:
        _pin_both(node, arg, classes, axis)
    else:
        classes.shifted.append(((id(node), axis), (id(arg), axis), start))


def _shift_of(mapping: AxisMap) -> int | None:
    """The offset of a plain crop (step one, no fill), else None."""
    if mapping.fills or len(mapping.pieces) != 1 or mapping.pieces[0].step != 1:
        return None
    return mapping.pieces[0].start


def _last_axis(node: Node, classes: AxisClasses) -> None:
    _join_but(node, node.args[0], classes, node.ndim - 1)
    _pin_both(node, node.args[0], classes, node.ndim - 1)


def _transpose(node: Node, classes: AxisClasses) -> None:
    for out, axis in enumerate(node.attr):
        classes.join((id(node), out), (id(node.args[0]), axis))


def _reshape(node: Node, classes: AxisClasses) -> None:
    arg = node.args[0]
    pairs = axis_pairs(node.shape, arg.shape)
    for out, axis in pairs:
        classes.join((id(node), out), (id(arg), axis))
    for out in set(range(node.ndim)) - {o for o, _ in pairs}:
        classes.pin((id(node), out))
    for axis in set(range(arg.ndim)) - {a for _, a in pairs}:
        classes.pin((id(arg), axis))


def _concat(node: Node, classes: AxisClasses) -> None:
    for arg in node.args:
        _join_but(node, arg, classes, node.attr)
        _pin_both(node, arg, classes, node.attr)


def _update(node: Node, classes: AxisClasses) -> None:
    base, value = node.args
    region: list[int | None] = []
    axis = 0
    for entry in node.attr:
        if isinstance(entry, NewAxis):
            region.append(None)
            continue
        whole = isinstance(entry, Span) and entry.whole(base.shape[axis])
        classes.join((id(node), axis), (id(base), axis))
        if not whole:
            classes.pin((id(node), axis))
        if not isinstance(entry, Index):
            region.append(axis if whole else None)
        axis += 1
    shift = len(region) - value.ndim
    for place, extent in enumerate(value.shape):
        target = region[place + shift]
        if target is None or extent != base.shape[target]:
            classes.pin((id(value), place))
        else:
            classes.join((id(node), target), (id(value), place))


def _broadcast(node: Node, classes: AxisClasses) -> None:
    _join_broadcast(node, node.args[0], classes)


def _pin_all(node: Node, classes: AxisClasses) -> None:
    for value in (node, *node.args):
        for axis in range(value.ndim):
            classes.pin((id(value), axis))


_STRUCTURE = {
    "dft": _dft,
    "transform": _along_axes,
    "remap": _remap,
    "pairs": _last_axis,
    "unpair": _last_axis,
    "transpose": _transpose,
    "reshape": _reshape,
    "concat": _concat,
    "update": _update,
    "broadcast_to": _broadcast,
    "iota": lambda node, classes: None,
    "const": lambda node, classes: None,
}
