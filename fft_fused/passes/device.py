"""What a library FFT needs: no scale, no real-to-full transforms, Hermitian half spectra."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..expr import build
from ..expr.index import AxisMap, Piece
from ..expr.node import Expr, Node, consumers, walk
from ..expr.ops import UNALIGNED
from ..expr.spectrum import REAL_TO_REAL
from .commute import FOR_LIBRARY
from .cosine import as_fourier
from .normalize import normalize
from .surface import remap, to_normal_form

MOST_CALLS = 8  # of a library transform, over columns side by side


def for_library(expr: Expr) -> Expr:
    """The same values with transforms a GPU library does as they are.

    Scales become multiplications in the maps around the transforms, which cost no pass of their
    own; ``rfull`` becomes a complex transform; what counts for nothing in NumPy but not in every
    library, the part of the DC and Nyquist bins that is not Hermitian, is dropped before ``c2r``.
    """
    return _rewritten(expr, mends=True)


def for_own_kernels(expr: Expr) -> Expr:
    """As ``for_library``, but nothing is dropped before ``c2r``: kernels of our own do not read
    it."""
    return _rewritten(expr, mends=False)


def _rewritten(expr: Expr, mends: bool) -> Expr:
    expr = normalize(without_cosines(expr), FOR_LIBRARY)
    rewrite = _ForLibrary(expr, mends)
    outputs = tuple(rewrite(o) for o in expr.outputs)
    return normalize(replace(expr, outputs=outputs), FOR_LIBRARY)


class _ForLibrary:
    """One walk over the graph, arguments first."""

    def __init__(self, expr: Expr, mends: bool) -> None:
        self._mends = mends
        self._users = consumers(expr.outputs)
        self._outputs = {id(o) for o in expr.outputs}
        self._calls = self._together(expr)
        self._early = self._scaled_before(expr)
        self._done: dict[int, Node] = {}
        self._scaled: dict[int, tuple[Node, float]] = {}  # values: a plain one times a number
        for node in walk(expr.outputs):
            self._done[id(node)] = self._rewritten(node)

    def __call__(self, node: Node) -> Node:
        return self._done[id(node)]

    def _rewritten(self, node: Node) -> Node:
        args = tuple(self._done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        factor = 1.0
        if _is_linear(fresh) and id(fresh.args[0]) in self._scaled:
            plain, factor = self._scaled[id(fresh.args[0])]
            fresh = replace(fresh, args=(plain,))
        if node.op == "dft":
            if id(node) not in self._early:
                factor *= node.attr.scale
            elif self._early[id(node)] != 1.0:
                x = fresh.args[0]
                number = build.const(x.dtype.type(self._early[id(node)]))
                fresh = replace(fresh, args=(build.elementwise("multiply", x, number),))
            fresh = self._plain(node, fresh)
        if factor == 1.0:
            return fresh
        whole = build.elementwise("multiply", fresh, build.const(fresh.dtype.type(factor)))
        self._scaled[id(whole)] = (fresh, factor)
        return whole

    def _plain(self, node: Node, fresh: Node) -> Node:
        spec, (x,) = fresh.attr, fresh.args
        if spec.kind == "rfull":
            x, spec = build.astype(x, fresh.dtype), replace(spec, kind="c2c")
        call = self._calls.get(id(node), (node,))
        if self._mends and node is call[0] and call[-1].attr.kind == "c2r":
            x = hermitian(x, call)
        is_mended = self._mends and spec.kind == "c2r"
        fresh = replace(fresh, args=(x,), attr=replace(spec, scale=1.0, is_mended=is_mended))
        return fresh if id(node) in self._calls else _along_rows(fresh)

    def _together(self, expr: Expr) -> dict[int, tuple[Node, ...]]:
        """Transforms that a library does in one call, by each of them."""
        found: dict[int, tuple[Node, ...]] = {}
        for node in walk(expr.outputs):
            if node.op != "dft":
                continue
            chain = [node]
            while (below := chain[0].args[0]).op == "dft" and self._is_inner(below):
                chain.insert(0, below)
            if is_one_call(chain):
                found |= {id(n): tuple(chain) for n in chain}
        return found

    def _is_inner(self, node: Node) -> bool:
        """Is a value used by one transform and by nothing else?"""
        return len(self._users[id(node)]) == 1 and id(node) not in self._outputs

    def _scaled_before(self, expr: Expr) -> dict[int, float]:
        """Transforms whose scale goes to the map before them, by the factor put there: those
        after which nothing comes, where a multiplication would be a pass of its own."""
        found: dict[int, float] = {}
        for output in expr.outputs:
            chain = []
            node = output
            while node.op == "dft" and (node is output or self._is_inner(node)):
                chain.append(node)
                node = node.args[0]
            kinds = {n.attr.kind for n in chain}
            if chain and not kinds & {"rfull"} and self._is_map(node, kinds):
                found |= dict.fromkeys(map(id, chain), 1.0)
                found[id(chain[-1])] = math.prod(n.attr.scale for n in chain)
        return found

    def _is_map(self, node: Node, kinds: set[str]) -> bool:
        """Is there a map before the transform, or will there be one?"""
        if "c2r" in kinds:
            return True
        return node.op not in ("operand", "dft") and len(self._users[id(node)]) == 1


def without_cosines(expr: Expr) -> Expr:
    """Cosine and sine transforms by Fourier transforms."""
    done: dict[int, Node] = {}
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        cosine = node.op == "transform" and node.attr.name in REAL_TO_REAL
        done[id(node)] = as_fourier(to_normal_form(fresh)) if cosine else fresh
    return replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs))


def with_addresses(expr: Expr) -> Expr:
    """Pairs of numbers marked that do not lie at a multiple of their size, so that they cannot be
    loaded at once."""
    done: dict[int, Node] = {}
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        if node.op == "pairs" and not _is_aligned(fresh, expr):
            fresh = replace(fresh, attr=UNALIGNED)
        done[id(node)] = fresh
    return replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs))


def _is_aligned(pairs: Node, expr: Expr) -> bool:
    leaf = pairs
    while leaf.args:
        leaf = leaf.args[0]
    if leaf.op != "operand":
        return True
    return expr.operands[leaf.attr].alignment % (2 * leaf.dtype.itemsize) == 0


def is_one_call(nodes: Sequence[Node]) -> bool:
    """Transforms over the trailing axes, each once, in the order they are computed: complex ones in
    one direction; a real transform over the last axis may come first, its inverse may come last."""
    ndim = nodes[0].ndim
    rest = list(nodes)
    if rest[0].attr.kind == "r2c" and rest[0].attr.axis == ndim - 1:
        rest.pop(0)
    elif rest[-1].attr.kind == "c2r" and rest[-1].attr.axis == ndim - 1:
        rest.pop()
    alike = all(n.attr.kind == "c2c" and n.attr.sign == nodes[0].attr.sign for n in rest)
    axes = sorted(n.attr.axis for n in nodes)
    return alike and len(nodes) in (2, 3) and axes == list(range(ndim - len(nodes), ndim))


def _along_rows(node: Node) -> Node:
    """A transform over a middle axis as one over the last: the transposes belong to the maps around
    it. Few calls side by side need none."""
    spec, last = node.attr, node.ndim - 1
    few = spec.kind == "c2c" and math.prod(node.shape[: spec.axis]) <= MOST_CALLS
    if spec.axis == last or few:
        return node
    order = list(range(node.ndim))
    order[spec.axis], order[last] = last, spec.axis
    rows = build.transpose(node.args[0], order)
    shape = tuple(node.shape[a] for a in order)
    moved = replace(node, args=(rows,), attr=replace(spec, axis=last), shape=shape)
    return build.transpose(moved, order)


def _is_linear(node: Node) -> bool:
    """Does a factor of the argument come out unchanged?"""
    if node.op == "remap":
        fill = node.attr[2]
        return fill is None or fill.value == 0
    return node.op == "dft"


def hermitian(x: Node, call: Sequence[Node]) -> Node:
    """The spectrum of a real array that NumPy takes ``x`` for.

    NumPy drops the imaginary parts of the DC and Nyquist bins of the halved axis after it has
    transformed the others; before, that is to take the Hermitian part there:
    ``(x[k] + conj(x[-k])) / 2``, ``-k`` over all the other axes.
    """
    axis, n = call[-1].attr.axis, call[-1].attr.n
    count = x.shape[axis]
    k = build.iota(0, 1, count, np.dtype("i4"))
    edge = build.elementwise("equal", k, build.const(np.int32(0)))
    if n % 2 == 0 and n > 1:
        nyquist = build.elementwise("equal", k, build.const(np.int32(n // 2)))
        edge = build.elementwise("logical_or", edge, nyquist)
    shape = tuple(count if a == axis else 1 for a in range(x.ndim))
    if len(call) == 1:
        part = build.astype(build.elementwise("real", x), x.dtype)
    else:
        mirrored = build.elementwise("conjugate", x)
        for other in call[:-1]:
            mirrored = _mirrored(mirrored, other.attr.axis)
        half = build.const(x.dtype.type(0.5))
        part = build.elementwise("multiply", build.elementwise("add", x, mirrored), half)
    return build.elementwise("where", build.reshape(edge, shape), part, x)


def _mirrored(x: Node, axis: int) -> Node:
    """``x[-k]`` along an axis, modulo its length."""
    n = x.shape[axis]
    return remap(x, axis, AxisMap(n, (Piece(1, 0), Piece(n - 1, n - 1, -1)))) if n > 1 else x
