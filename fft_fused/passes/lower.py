"""Lower: a program and the offers that cover it become a plan."""

from __future__ import annotations

from collections.abc import Sequence

from ..engines import Engine, Launch
from ..expr.chain import Program
from ..expr.node import Constant, Expr, Node
from ..runtime.plan import Plan, PlanStep
from .select import Selection


def lower(
    expr: Expr,
    program: Program,
    selection: Selection,
    engines: Sequence[Engine],
    workers: int,
    built: dict[int, Launch] | None = None,
) -> Plan:
    """Build every chosen offer and number the values that pass between them.

    ``built`` are launches of offers that another plan has already, by identity of the offer.
    """
    by_name = {e.name: e for e in engines}
    built = {} if built is None else built
    for offer in selection.offers:
        if id(offer) not in built:
            built[id(offer)] = by_name[offer.engine].build(offer)
    launches = [built[id(o)] for o in selection.offers]
    numbers = _Numbers(program.expr)
    rows = [
        (
            launch,
            tuple(numbers[n] for n in launch.problem.inputs),
            tuple(numbers[n] for n in launch.problem.outputs),
        )
        for launch in launches
    ]
    results = tuple(numbers[o] for o in program.expr.outputs)
    leaves = len(expr.operands) + len(expr.scalars)
    given = {n for n, _ in numbers.constants} | set(range(leaves))
    return Plan(
        expr,
        program.expr,
        program,
        selection,
        _with_deaths(rows, set(results), leaves),
        results,
        tuple(numbers.constants),
        numbers.count,
        workers,
        selection.seconds,
        owns_results=len(set(results)) == len(results) and given.isdisjoint(results),
    )


class _Numbers:
    """Value numbers: operands, scalars, then whatever is asked for."""

    def __init__(self, expr: Expr) -> None:
        self._operands = len(expr.operands)
        self.count = self._operands + len(expr.scalars)
        self.constants: list[tuple[int, Constant]] = []
        self._known: dict[int, int] = {}

    def __getitem__(self, node: Node) -> int:
        if node.op == "operand":
            return int(node.attr)
        if node.op == "scalar":
            return self._operands + int(node.attr)
        if id(node) not in self._known:
            self._known[id(node)] = self.count
            if node.op == "const":
                self.constants.append((self.count, node.attr))
            self.count += 1
        return self._known[id(node)]


def _with_deaths(
    rows: list[tuple[Launch, tuple[int, ...], tuple[int, ...]]], kept: set[int], leaves: int
) -> tuple[PlanStep, ...]:
    steps: list[PlanStep] = []
    used = set(kept)
    for launch, inputs, outputs in reversed(rows):
        dead = tuple(i for i in dict.fromkeys(inputs) if i not in used and i >= leaves)
        used |= set(inputs)
        steps.append(PlanStep(launch, inputs, outputs, dead))
    return tuple(reversed(steps))
