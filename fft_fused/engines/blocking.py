"""Which axes of a problem can be cut into blocks: union-find over (value, axis).

Axes that run in step with one another through elementwise work, transforms over other axes and so
on form one *class*. A class is *whole* when some operation needs all of it at once (the transformed
axis, a shift); the others are *loops*: the problem can be computed block by block along them. A
class read at shifted positions (``x[t : n + t]``) is *derived*: its blocks have a halo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..expr.chain import Problem
from ..expr.node import Node
from ..expr.ops import OPS
from ..passes.motion import axis_pairs
from .axis_classes import Axis, AxisClasses, link


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


def is_view(node: Node, views: set[int]) -> bool:
    """Can the value be made once for all blocks at no cost: a view of views, an index?"""
    if node.op == "iota":
        return True
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
    classes = AxisClasses()
    for node in problem.nodes:
        if is_view(node, views):
            views.add(id(node))
        elif id(node) not in views:
            link(node, classes)
    _pin_reductions(problem, classes)
    _pin_outer_products(problem, classes, {})
    derived = _derive(problem, classes)
    while _pin_outer_products(problem, classes, derived):
        derived = _derive(problem, classes)
    return _loops(problem, classes, derived, views)


def _pin_reductions(problem: Problem, classes: AxisClasses) -> None:
    """A reduction that is used again here needs its axes whole, unlike one that ends the run."""
    outputs = {id(o) for o in problem.outputs}
    for node in problem.nodes:
        if OPS[node.op].kind == "reduce" and (problem.users[id(node)] or id(node) not in outputs):
            for axis in node.attr[0]:
                classes.pin((id(node.args[0]), axis))


def _derive(problem: Problem, classes: AxisClasses) -> dict[Axis, tuple[Axis, int, int]]:
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
    problem: Problem, classes: AxisClasses, derived: dict[Axis, tuple[Axis, int, int]]
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
    classes: AxisClasses,
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
    classes: AxisClasses,
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
    classes: AxisClasses,
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


def _order(problem: Problem, classes: AxisClasses, candidates: set[Axis]) -> list[Axis]:
    """Loops as they lie in the outputs, outermost first; the ones only reduced over come last."""
    order: list[Axis] = []
    reductions = [n.args[0] for n in problem.outputs if OPS[n.op].kind == "reduce"]
    for node in (*problem.outputs, *reductions, *problem.nodes):
        for axis in range(node.ndim):
            root = classes.find((id(node), axis))
            if root in candidates and root not in order:
                order.append(root)
    return order
