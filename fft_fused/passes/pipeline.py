"""The straight line: expression -> normal form -> steps -> selection -> plan, cached by key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from ..engines import Engine, Launch, Offer, registry
from ..expr.chain import Program
from ..expr.node import Expr, walk
from ..options import Options, current
from ..runtime.cache import Cache
from ..runtime.device import resources_now
from ..runtime.machine import Machine, here
from ..runtime.plan import Plan
from .commute import FOR_LIBRARY
from .device import for_library, with_addresses, without_cosines
from .lower import lower
from .normalize import normalize
from .partition import partition
from .select import Selection, select
from .tables import tables

PLANS: Cache[Plan] = Cache(512)
_RIVALS = 5
_WORTH_A_TRY = 2.5  # a plan that the model finds slower than this many times the best is not raced


def plan_for(expr: Expr) -> Plan:
    """The plan of an expression under the options in force.

    Raises
    ------
    NotFusedError
        Under ``options(strict=True)``, see ``select``.
    """
    return PLANS.get(_key(expr), lambda: make_plan(expr, here(expr.device), current()))


def settled(plan: Plan, arrays: Sequence[Any], scalars: Sequence[Any]) -> Plan:
    """The fastest of a plan and its rivals on these arrays, remembered for the next call."""
    if not plan.rivals or resources_now(1).capturing:
        return plan
    from ..runtime.race import race

    winner = race(plan, arrays, scalars)
    PLANS.put(_key(plan.expr), winner)
    return winner


def _key(expr: Expr) -> Hashable:
    options = current()
    return (expr.key, options.engine, options.strict, here(expr.device).workers)


def make_plan(expr: Expr, machine: Machine, options: Options) -> Plan:
    """Steps 2 to 5 of the line."""
    engines = registry()
    if options.engine == "unfused" or any(n.size == 0 for n in walk(expr.outputs)):
        return _as_recorded(expr, engines, machine)
    on_device = machine.device != "cpu"
    if on_device:
        normal = with_addresses(for_library(normalize(expr, FOR_LIBRARY)))
        program = partition(normal, loads=True, tables=tables(normal))
    else:
        program = partition(normalize(expr))
    allowed = [e for e in engines if _is_allowed(e.name, options.engine, on_device)]
    if options.engine is not None:
        machine = machine.preferring(options.engine)
    count = _RIVALS if on_device and options.engine is None else 1
    selections = select(program, allowed, machine, options.strict, count)
    built: dict[int, Launch] = {}
    best, *others = (
        lower(expr, program, s, engines, machine.workers, built)
        for s in selections
        if s.seconds <= _WORTH_A_TRY * selections[0].seconds
    )
    if on_device and options.engine is None and not options.strict:
        recorded = _as_recorded(expr, engines, machine)
        if recorded.seconds < _WORTH_A_TRY * best.seconds and len(recorded.steps):
            others.append(recorded)
    return replace(best, rivals=tuple(others))


def _is_allowed(name: str, wanted: str | None, on_device: bool) -> bool:
    """An engine that is asked for by name comes with those that do what it leaves to others."""
    companions = ("elementwise", "library") if on_device else ()
    return wanted in (None, name) or name == "unfused" or name in companions


def _as_recorded(expr: Expr, engines: tuple[Engine, ...], machine: Machine) -> Plan:
    """The expression as the user wrote it, in one unfused run."""
    program: Program = partition(expr if machine.device == "cpu" else without_cosines(expr))
    unfused = next(e for e in engines if e.name == "unfused")
    offers: tuple[Offer, ...] = ()
    if program.steps:
        offer = unfused.offer(program.problem(0, len(program.steps)), machine)
        assert isinstance(offer, Offer)
        offers = (offer,)
    selection = Selection(offers, (), sum(o.cost.seconds for o in offers))
    return lower(expr, program, selection, engines, machine.workers)
