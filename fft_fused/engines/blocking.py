"""Which axes of a problem can be cut into blocks: union-find over (value, axis).

Axes that run in step with one another through elementwise work, transforms over other axes and so
on form one *class*. A class is *whole* when some operation needs all of it at once (the transformed
axis, a shift); the others are *loops*: the problem can be computed block by block along them. A
class read at shifted positions (``x[t : n + t]``) is *derived*: its blocks have a halo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..expr.chain import Problem
from ..expr.index import AxisMap
from ..expr.key import Index, NewAxis, Span
from ..expr.node import Node
from ..expr.ops import COMMUTATIVE_REDUCTIONS, OPS
from ..expr.spectrum import DFT
from ..passes.motion import axis_pairs

Axis = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extent:
    """One axis of a value: ``size`` if whole (loop is None), else a block of loop ``loop``.

    A block of a derived axis reaches from ``low + before`` to ``high + after``.
    """

    size: int
    loop: int | None = None
    before: int = 0
    after: int = 0


@dataclass(frozen=True)
class Blocking:
    """Loops (their extents, outermost first) and, for every value, its axes in terms of them.

    ``views`` are values NumPy makes of the inputs without computing; ``depends`` says on which
    loops a value depends (reduced ones included).
    """

    loops: tuple[int, ...]
    reduced: tuple[bool, ...]
    axes: dict[int, tuple[Extent, ...]]
    views: frozenset[int]
    depends: dict[int, frozenset[int]] = field(repr=False)


class _Classes:
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


def is_view(node: Node, views: set[int]) -> bool:
    """Can NumPy make the value from views without touching its elements?"""
    if not node.args or any(id(a) not in views for a in node.args):
        return False
    match node.op:
        case "remap":
            return bool(node.attr[1].is_slice)
        case "transpose" | "broadcast_to" | "frames" | "pairs" | "unpair" | "real" | "imag":
            return node.args[0].dtype.kind == "c" or node.op not in ("real", "imag")
        case "reshape":
            arg = node.args[0]
            loose = len(axis_pairs(node.shape, arg.shape)) == sum(n != 1 for n in node.shape)
            return loose or arg.op == "operand"
    return False


def analyse(problem: Problem, tables: frozenset[int] = frozenset()) -> Blocking:
    """Loops of a problem; none when everything hangs together.

    ``tables`` are values that count as inputs: they exist before the run.
    """
    views = {id(n) for n in problem.inputs} | tables
    classes = _Classes()
    for node in problem.nodes:
        if is_view(node, views):
            views.add(id(node))
        elif id(node) not in views:
            _link(node, classes)
    _pin_reductions(problem, classes)
    _pin_outer_products(problem, classes, {})
    derived = _derive(problem, classes)
    while _pin_outer_products(problem, classes, derived):
        derived = _derive(problem, classes)
    return _loops(problem, classes, derived, views)


def _link(node: Node, classes: _Classes) -> None:
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


def _join_broadcast(node: Node, arg: Node, classes: _Classes) -> None:
    shift = node.ndim - arg.ndim
    for axis, extent in enumerate(arg.shape):
        if extent == node.shape[axis + shift]:
            classes.join((id(node), axis + shift), (id(arg), axis))


def _join_but(node: Node, arg: Node, classes: _Classes, special: int) -> None:
    for axis in range(node.ndim):
        if axis != special:
            classes.join((id(node), axis), (id(arg), axis))


def _pin_both(node: Node, arg: Node, classes: _Classes, axis: int) -> None:
    classes.pin((id(node), axis))
    classes.pin((id(arg), axis))


def _dft(node: Node, classes: _Classes) -> None:
    spec: DFT = node.attr
    _join_but(node, node.args[0], classes, spec.axis)
    _pin_both(node, node.args[0], classes, spec.axis)


def _along_axes(node: Node, classes: _Classes) -> None:
    for axis in range(node.ndim):
        if axis in node.attr.axes:
            _pin_both(node, node.args[0], classes, axis)
        else:
            classes.join((id(node), axis), (id(node.args[0]), axis))


def _remap(node: Node, classes: _Classes) -> None:
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


def _last_axis(node: Node, classes: _Classes) -> None:
    _join_but(node, node.args[0], classes, node.ndim - 1)
    _pin_both(node, node.args[0], classes, node.ndim - 1)


def _transpose(node: Node, classes: _Classes) -> None:
    for out, axis in enumerate(node.attr):
        classes.join((id(node), out), (id(node.args[0]), axis))


def _reshape(node: Node, classes: _Classes) -> None:
    arg = node.args[0]
    pairs = axis_pairs(node.shape, arg.shape)
    for out, axis in pairs:
        classes.join((id(node), out), (id(arg), axis))
    for out in set(range(node.ndim)) - {o for o, _ in pairs}:
        classes.pin((id(node), out))
    for axis in set(range(arg.ndim)) - {a for _, a in pairs}:
        classes.pin((id(arg), axis))


def _concat(node: Node, classes: _Classes) -> None:
    for arg in node.args:
        _join_but(node, arg, classes, node.attr)
        _pin_both(node, arg, classes, node.attr)


def _update(node: Node, classes: _Classes) -> None:
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


def _broadcast(node: Node, classes: _Classes) -> None:
    _join_broadcast(node, node.args[0], classes)


def _pin_all(node: Node, classes: _Classes) -> None:
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


def _pin_reductions(problem: Problem, classes: _Classes) -> None:
    """A reduction that is used again here needs its axes whole, unlike one that ends the run."""
    outputs = {id(o) for o in problem.outputs}
    for node in problem.nodes:
        if OPS[node.op].kind == "reduce" and (problem.users[id(node)] or id(node) not in outputs):
            for axis in node.attr[0]:
                classes.pin((id(node.args[0]), axis))


def _derive(problem: Problem, classes: _Classes) -> dict[Axis, tuple[Axis, int, int]]:
    """Classes read at shifted positions of another: root -> (loop root, least, greatest)."""
    found: dict[Axis, tuple[Axis, int, int]] = {}
    for axis in _counted_axes(problem):
        if any(classes.find(arg) == classes.find(axis) for _, arg, _ in classes.shifted):
            classes.pin(axis)
    for out, arg, start in classes.shifted:
        target, source = classes.find(out), classes.find(arg)
        if target in classes.whole or source in classes.whole:
            continue
        known = found.get(source, (target, start, start))
        if target == source or known[0] != target:
            classes.pin(source)
            classes.pin(target)
            continue
        found[source] = (target, min(known[1], start), max(known[2], start))
    for source, (target, _, _) in list(found.items()):
        if target in found or source in classes.whole or target in classes.whole:
            for root in (source, target):
                classes.pin(root)
            del found[source]
    for out, arg, _ in classes.shifted:
        if classes.is_whole(out) != classes.is_whole(arg) or classes.find(arg) not in found:
            classes.pin(out)
            classes.pin(arg)
    return {s: t for s, t in found.items() if s not in classes.whole and t[0] not in classes.whole}


def _pin_outer_products(
    problem: Problem, classes: _Classes, derived: dict[Axis, tuple[Axis, int, int]]
) -> bool:
    """Axes in step with each other within one value, as in ``x[:, None] * x``, stay whole."""
    pinned = False
    for node in (*problem.inputs, *problem.nodes):
        roots = [classes.find((id(node), a)) for a, n in enumerate(node.shape) if n > 1]
        loops = [derived[r][0] if r in derived else r for r in roots]
        for root, loop in zip(roots, loops, strict=True):
            if loops.count(loop) > 1 and not (root in classes.whole and loop in classes.whole):
                classes.pin(root)
                classes.pin(loop)
                pinned = True
    return pinned


def _counted_axes(problem: Problem) -> list[Axis]:
    """Axes of results and of what results are sums of: each index counts once, so no halo."""
    axes: list[Axis] = []
    for output in problem.outputs:
        axes += [(id(output), a) for a in range(output.ndim)]
        if OPS[output.op].kind == "reduce":
            axes += [(id(output.args[0]), a) for a in output.attr[0]]
    return axes


def _loops(
    problem: Problem,
    classes: _Classes,
    derived: dict[Axis, tuple[Axis, int, int]],
    views: set[int],
) -> Blocking:
    depends = _depends(problem, classes, derived, views)
    candidates = _shared_by_outputs(problem, depends)
    order = _order(problem, classes, candidates)
    number = {root: k for k, root in enumerate(order)}
    axes: dict[int, tuple[Extent, ...]] = {}
    sizes = [0] * len(order)
    reduced = [False] * len(order)
    for node in (*problem.inputs, *problem.nodes):
        axes[id(node)] = tuple(
            _extent(node, axis, classes, derived, number) for axis in range(node.ndim)
        )
        for extent in axes[id(node)]:
            if extent.loop is not None and extent.before == extent.after == 0:
                sizes[extent.loop] = extent.size
    for output in problem.outputs:
        present = {e.loop for e in axes[id(output)]}
        for k, root in enumerate(order):
            if root in depends[id(output)] and k not in present:
                reduced[k] = True
    numbered = {
        i: frozenset(number[r] for r in roots if r in number) for i, roots in depends.items()
    }
    return Blocking(tuple(sizes), tuple(reduced), axes, frozenset(views), numbered)


def _extent(
    node: Node,
    axis: int,
    classes: _Classes,
    derived: dict[Axis, tuple[Axis, int, int]],
    number: dict[Axis, int],
) -> Extent:
    root = classes.find((id(node), axis))
    size = node.shape[axis]
    if root in number:
        return Extent(size, number[root])
    if root in derived and derived[root][0] in number:
        loop, before, after = derived[root]
        return Extent(size, number[loop], before, after)
    return Extent(size)


def _depends(
    problem: Problem,
    classes: _Classes,
    derived: dict[Axis, tuple[Axis, int, int]],
    views: set[int],
) -> dict[int, frozenset[Axis]]:
    """Loop candidates each value depends on."""
    depends: dict[int, frozenset[Axis]] = {}
    for node in (*problem.inputs, *problem.nodes):
        own = set()
        for axis, extent in enumerate(node.shape):
            root = classes.find((id(node), axis))
            root = derived[root][0] if root in derived else root
            if root not in classes.whole and extent > 1:
                own.add(root)
        if id(node) not in views:
            for arg in node.args:
                own |= depends[id(arg)]
        depends[id(node)] = frozenset(own)
    return depends


def _shared_by_outputs(problem: Problem, depends: dict[int, frozenset[Axis]]) -> set[Axis]:
    sets = [depends[id(o)] for o in problem.outputs]
    return set.intersection(*map(set, sets)) if sets else set()


def _order(problem: Problem, classes: _Classes, candidates: set[Axis]) -> list[Axis]:
    """Loops as they lie in the outputs, outermost first; the ones only reduced over come last."""
    order: list[Axis] = []
    reductions = [n.args[0] for n in problem.outputs if OPS[n.op].kind == "reduce"]
    for node in (*problem.outputs, *reductions, *problem.nodes):
        for axis in range(node.ndim):
            root = classes.find((id(node), axis))
            if root in candidates and root not in order:
                order.append(root)
    return order
