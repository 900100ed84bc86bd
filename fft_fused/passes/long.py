"""Long transforms as two short ones that fit a kernel, with a twiddle factor between them.

The index along the axis is seen as two digits, ``slow * extent_of_fast + fast``. A transform over
the slow digit gives s', a factor ``exp(+-2j pi s' fast / n)`` follows, and a transform over the
fast digit gives f'; together they are the element ``s' + extent_of_slow * f'`` of the transform
over the whole axis: s' is the fast digit of the result, though it stands where the slow one stood
(Bailey, "FFTs in external or hierarchical memory", 1990).

A transform of such a result begins with its slow digit, where it stands. So the second half of the
one, what lies between them and the first half of the other are transforms over one short axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..expr import build
from ..expr.index import AxisMap, Piece
from ..expr.node import Expr, Node, consumers, walk
from ..expr.ops import OPS, is_elementwise
from ..expr.spectrum import DFT, largest_prime
from .long_real import by_half_length, has_half_length
from .surface import remap

Fits = Callable[[int, np.dtype], bool]

_LARGEST_PRIME = 31
_LONGEST = 1 << 30  # indices and their products in 32 bits
_COLUMNS, _ROWS = (8, 10), (10, 12)  # good lengths, as powers of two
_SIDE_BY_SIDE = 16


def split_long(expr: Expr, fits: Fits) -> Expr:
    """The same values, transforms that do not fit being made of some that do.

    Parameters
    ----------
    expr : Expr
        In the normal form of a device.
    fits : function of a length and a dtype
        Does a transform of that length fit a kernel?

    Returns
    -------
    Expr
        The same object when there is nothing to split.
    """
    if not any(_is_long(n, fits) for n in walk(expr.outputs)):
        return expr
    halved = _without_long_reals(expr, fits)
    split = _Split(halved, fits)
    return replace(expr, outputs=tuple(split(o) for o in halved.outputs))


def _is_long(node: Node, fits: Fits) -> bool:
    """Is it a transform that does not fit, but can be made of some that do?"""
    if node.op != "dft" or node.dtype.char not in "fdFD":
        return False
    spec, dtype = node.attr, np.dtype(node.dtype.char.upper())
    n = spec.n if spec.kind == "c2c" else spec.n // 2
    possible = spec.kind == "c2c" or has_half_length(node)
    return possible and not fits(n, dtype) and digits_of(n, dtype, fits) is not None


def _without_long_reals(expr: Expr, fits: Fits) -> Expr:
    """Long real transforms by complex ones."""
    done: dict[int, Node] = {}
    for node in walk(expr.outputs):
        args = tuple(done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        real = _is_long(node, fits) and node.attr.kind != "c2c"
        done[id(node)] = by_half_length(fresh) if real else fresh
    return replace(expr, outputs=tuple(done[id(o)] for o in expr.outputs))


def digits_of(
    n: int, dtype: np.dtype, fits: Fits, long_rows: bool = False
) -> tuple[int, int] | None:
    """Extents of the slow and the fast digit; None when the length has no such.

    Both fit where that is possible, otherwise the slow one does. Several rows are stored together,
    since they alternate in memory; where none are, ``long_rows`` leave shorter columns.

    Examples
    --------
    >>> short = lambda n, dtype: n <= 16384
    >>> digits_of(1 << 20, np.dtype("c8"), short), digits_of(1 << 20, np.dtype("c8"), short, True)
    ((1024, 1024), (256, 4096))
    """
    if largest_prime(n) > _LARGEST_PRIME or n > _LONGEST:
        return None
    pairs = [(slow, n // slow) for slow in _divisors(n) if fits(slow, dtype)]
    both = [pair for pair in pairs if fits(pair[1], dtype)]
    if both:
        return min(both, key=lambda pair: _awkwardness(pair[0], pair[1], long_rows))
    in_three = [pair for pair in pairs if digits_of(pair[1], dtype, fits) is not None]
    return min(in_three, key=lambda pair: abs(pair[0] - n ** (1 / 3)), default=None)


def _divisors(n: int) -> list[int]:
    """All but 1 and n."""
    found = {1}
    rest, prime = n, 2
    while rest > 1:
        while rest % prime == 0:
            rest //= prime
            found |= {d * prime for d in found}
        prime += 1
    return sorted(found - {1, n})


def _awkwardness(slow: int, fast: int, long_rows: bool) -> tuple[float, float]:
    """How far from good lengths; then how uneven, or how short the rows."""
    columns, rows = math.log2(slow), math.log2(fast)
    outside = sum(
        max(low - x, 0.0, x - high) for x, (low, high) in ((columns, _COLUMNS), (rows, _ROWS))
    )
    unaligned = sum(0.5 for extent in (slow, fast) if extent % _SIDE_BY_SIDE)
    return outside + unaligned, columns - rows if long_rows else abs(columns - rows)


@dataclass(frozen=True, slots=True)
class _Digits:
    """An axis as two: ``slow`` and ``fast`` are the extents of the digits of its index.

    The slow digit's axis comes first, unless ``swapped``.
    """

    axis: int
    slow: int
    fast: int
    swapped: bool = False

    @property
    def slow_axis(self) -> int:
        return self.axis + self.swapped

    @property
    def fast_axis(self) -> int:
        return self.axis + (not self.swapped)

    def apart(self, x: Node, ndim: int) -> Node:
        """A value that broadcasts with one of ``ndim`` axes, with its axis as two."""
        place = self.axis - (ndim - x.ndim)
        if place < 0:
            return x
        one = x.shape[place] == 1
        digits = (1, 1) if one else (self.slow, self.fast)
        seen = build.reshape(x, (*x.shape[:place], *digits, *x.shape[place + 1 :]))
        return seen if one or not self.swapped else _exchanged(seen, place)

    def joined(self, value: Node) -> Node:
        """The value with its two axes as one."""
        plain = _exchanged(value, self.axis) if self.swapped else value
        before, after = plain.shape[: self.axis], plain.shape[self.axis + 2 :]
        return build.reshape(plain, (*before, self.slow * self.fast, *after))

    def shape(self, whole: Sequence[int]) -> tuple[int, ...]:
        """A shape with the axis as two."""
        digits = (self.fast, self.slow) if self.swapped else (self.slow, self.fast)
        return (*whole[: self.axis], *digits, *whole[self.axis + 1 :])


@dataclass(frozen=True, slots=True)
class _Parts:
    """A value with an axis as two."""

    value: Node
    digits: _Digits


class _Split:
    """One walk over the graph, arguments first.

    ``parts`` are values along a split axis, by the node that has the axis whole.
    """

    def __init__(self, expr: Expr, fits: Fits) -> None:
        self._fits = fits
        self._users = consumers(expr.outputs)
        self._outputs = set(map(id, expr.outputs))
        self._done: dict[int, Node] = {}
        self._parts: dict[int, _Parts] = {}
        for node in walk(expr.outputs):
            self._done[id(node)] = self._rewritten(node)

    def __call__(self, node: Node) -> Node:
        return self._done[id(node)]

    def _rewritten(self, node: Node) -> Node:
        args = tuple(self._done[id(a)] for a in node.args)
        fresh = node if args == node.args else replace(node, args=args)
        parts = None
        if _is_long(node, self._fits):
            parts = self._transformed(node, args[0])
            fresh = parts.digits.joined(parts.value)
        elif is_elementwise(node.op):
            parts = self._elementwise(fresh)
        elif node.op == "remap" and id(args[0]) in self._parts:
            parts = _remapped(fresh, self._parts[id(args[0])])
        if parts is not None:
            self._parts[id(fresh)] = parts
        return fresh

    def _transformed(self, node: Node, x: Node) -> _Parts:
        spec, given = node.attr, self._parts.get(id(x))
        if given is None or given.digits.axis != spec.axis or not self._fit(given.digits, node):
            extents = digits_of(spec.n, node.dtype, self._fits, not self._is_stored(node))
            assert extents is not None
            digits = _Digits(spec.axis, *extents)
            given = _Parts(digits.apart(x, node.ndim), digits)
        return _two_transforms(given, spec, self._fits)

    def _fit(self, digits: _Digits, node: Node) -> bool:
        return all(self._fits(n, node.dtype) for n in (digits.slow, digits.fast))

    def _is_stored(self, node: Node) -> bool:
        """Does the spectrum go to memory, rather than into a sum or another long transform?"""
        waiting = [node]
        while waiting:
            value = waiting.pop()
            if id(value) in self._outputs:
                return True
            for user in self._users[id(value)]:
                if OPS[user.op].kind in ("elementwise", "structure"):
                    waiting.append(user)
                elif OPS[user.op].kind != "reduce" and not _is_long(user, self._fits):
                    return True
        return False

    def _elementwise(self, fresh: Node) -> _Parts | None:
        """An operation on values along a split axis, with the axis split."""
        found = [self._parts.get(id(a)) for a in fresh.args]
        given = [p for p in found if p is not None]
        if not given or any(p.digits != given[0].digits for p in given):
            return None
        digits = given[0].digits
        if any(p and a.ndim != fresh.ndim for p, a in zip(found, fresh.args, strict=True)):
            return None
        args = tuple(
            digits.apart(a, fresh.ndim) if p is None else p.value
            for p, a in zip(found, fresh.args, strict=True)
        )
        return _Parts(replace(fresh, args=args, shape=digits.shape(fresh.shape)), digits)


def _two_transforms(given: _Parts, spec: DFT, fits: Fits) -> _Parts:
    """The transform of a value over an axis that is two."""
    digits, ndim = given.digits, given.value.ndim
    over_slow = replace(spec, axis=digits.slow_axis, n=digits.slow, scale=1.0)
    first = _transform(given.value, over_slow, fits)
    slow, fast = (
        build.reshape(build.iota(0, 1, n, np.dtype("i4")), (n, *(1,) * (ndim - 1 - axis)))
        for axis, n in ((digits.slow_axis, digits.slow), (digits.fast_axis, digits.fast))
    )
    twiddle = build.root(slow, fast, spec.sign, digits.slow * digits.fast, first.dtype)
    turned = build.elementwise("multiply", first, twiddle)
    second = _transform(turned, replace(spec, axis=digits.fast_axis, n=digits.fast), fits)
    return _Parts(second, _Digits(digits.axis, digits.fast, digits.slow, not digits.swapped))


def _transform(x: Node, spec: DFT, fits: Fits) -> Node:
    """A transform that fits, or that is made of some."""
    extents = None if fits(spec.n, x.dtype) else digits_of(spec.n, x.dtype, fits)
    if extents is None:
        return Node("dft", (x,), spec, x.shape, x.dtype)
    digits = _Digits(spec.axis, *extents)
    parts = _two_transforms(_Parts(digits.apart(x, x.ndim), digits), spec, fits)
    return parts.digits.joined(parts.value)


def _exchanged(x: Node, axis: int) -> Node:
    order = list(range(x.ndim))
    order[axis], order[axis + 1] = axis + 1, axis
    return build.transpose(x, order)


def _remapped(fresh: Node, given: _Parts) -> _Parts | None:
    """An index map of a value along a split axis: of another axis, or of whole slow steps."""
    axis, mapping, fill = fresh.attr
    digits = given.digits
    if axis != digits.axis:
        return _Parts(remap(given.value, axis + (axis > digits.axis), mapping, fill), digits)
    steps = _in_steps(mapping, digits.fast)
    if steps is None:
        return None
    return _Parts(
        remap(given.value, digits.slow_axis, steps, fill), replace(digits, slow=steps.size)
    )


def _in_steps(mapping: AxisMap, step: int) -> AxisMap | None:
    """The map of ``index // step`` for one that leaves ``index % step`` alone."""
    pieces = []
    for piece in mapping.pieces:
        if piece.step != 1 or piece.count % step or (piece.start or 0) % step:
            return None
        start = None if piece.start is None else piece.start // step
        pieces.append(Piece(piece.count // step, start))
    return AxisMap(mapping.extent // step, tuple(pieces))
