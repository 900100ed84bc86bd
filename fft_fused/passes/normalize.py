"""Normalise: surface operations to normal form, then rewrites until nothing changes.

Normal form has explicit casts, one-axis ``dft`` nodes with their scale, ``remap`` nodes for every
shift, crop, pad, flip and stride, sums instead of means, and each value once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from ..expr.node import Expr, Node, consumers, walk
from .algebra import ALGEBRA
from .motion import MOTION, Motion
from .surface import to_normal_form

_SWEEPS = 60


def normalize(expr: Expr, motions: Sequence[Motion] = MOTION) -> Expr:
    """The same values, in normal form.

    Parameters
    ----------
    expr : Expr
        As recorded.
    motions : sequence of rules
        Which way index maps move. By default crops and pads of one axis go past transforms over
        others, so that rows of zeros and rows that are cropped are not transformed; that takes a
        transform over several axes apart, and a library that does them in one call is better
        without it (``commute.FOR_LIBRARY``).

    Returns
    -------
    Expr
        Same operands, scalars and outputs.
    """
    outputs = _Rebuild(to_normal_form, {})(expr.outputs)
    for _ in range(_SWEEPS):
        rewritten = _sweep(outputs, motions)
        if all(a is b for a, b in zip(rewritten, outputs, strict=True)):
            break
        outputs = rewritten
    return replace(expr, outputs=outputs)


def _sweep(outputs: tuple[Node, ...], motions: Sequence[Motion]) -> tuple[Node, ...]:
    shared = {k: len({id(u) for u in users}) for k, users in consumers(outputs).items()}
    for output in outputs:
        shared[id(output)] += 1

    def uses(node: Node) -> int:
        return shared.get(id(node), 1)

    def rewrite(node: Node) -> Node:
        for rule in ALGEBRA:
            if (found := rule(node)) is not None:
                return found
        for motion in motions:
            if (found := motion(node, uses)) is not None:
                return found
        return node

    return _Rebuild(rewrite, shared)(outputs)


class _Rebuild:
    """One bottom-up application of a rule, structurally equal nodes becoming one node.

    ``shared`` (uses per node id) is carried over to the nodes that replace the old ones.
    """

    def __init__(self, rule: Callable[[Node], Node], shared: dict[int, int]) -> None:
        self._rule = rule
        self._shared = shared
        self._by_key: dict[Hashable, Node] = {}
        self._canonical: dict[int, Node] = {}
        self._alive: list[Node] = []  # ids stay valid while the nodes live

    def __call__(self, outputs: tuple[Node, ...]) -> tuple[Node, ...]:
        done: dict[int, Node] = {}
        for node in walk(outputs):
            rebuilt = self._settle(_with_args(node, tuple(done[id(a)] for a in node.args)))
            done[id(node)] = final = self._settle(self._rule(rebuilt))
            if id(node) in self._shared:
                known = self._shared.get(id(final), 0) if final is not node else 0
                self._shared[id(final)] = max(known, self._shared[id(node)])
        return tuple(done[id(o)] for o in outputs)

    def _settle(self, node: Node) -> Node:
        stack = [node]
        while stack:
            top = stack[-1]
            waiting = [a for a in top.args if id(a) not in self._canonical]
            if id(top) in self._canonical:
                stack.pop()
            elif waiting:
                stack += waiting
            else:
                self._intern(stack.pop())
        return self._canonical[id(node)]

    def _intern(self, node: Node) -> None:
        self._alive.append(node)
        fresh = _with_args(node, tuple(self._canonical[id(a)] for a in node.args))
        ids = tuple(id(a) for a in fresh.args)
        key = (fresh.op, ids, fresh.attr, fresh.shape, fresh.dtype, fresh.weak)
        unique = self._by_key.setdefault(key, fresh)
        self._canonical[id(node)] = self._canonical[id(unique)] = unique


def _with_args(node: Node, args: tuple[Node, ...]) -> Node:
    if all(a is b for a, b in zip(args, node.args, strict=True)):
        return node
    return replace(node, args=args)
