"""The straight line: expression -> normal form -> steps -> selection -> plan, cached by key."""

from __future__ import annotations

from ..engines import Engine, Offer, registry
from ..expr.chain import Program
from ..expr.node import Expr, walk
from ..options import Options, current
from ..runtime.cache import Cache
from ..runtime.machine import Machine, here
from ..runtime.plan import Plan
from .device import for_library, without_cosines
from .lower import lower
from .normalize import normalize
from .partition import partition
from .select import Selection, select

PLANS: Cache[Plan] = Cache(512)


def plan_for(expr: Expr) -> Plan:
    """The plan of an expression under the options in force.

    Raises
    ------
    NotFusedError
        Under ``options(strict=True)``, see ``select``.
    """
    machine, options = here(expr.device), current()
    key = (expr.key, options.engine, options.strict, machine.workers)
    return PLANS.get(key, lambda: make_plan(expr, machine, options))


def make_plan(expr: Expr, machine: Machine, options: Options) -> Plan:
    """Steps 2 to 5 of the line."""
    engines = registry()
    if options.engine == "unfused" or any(n.size == 0 for n in walk(expr.outputs)):
        return _as_recorded(expr, engines, machine)
    on_device = machine.device != "cpu"
    normal = normalize(expr, prune=not on_device)
    program = partition(for_library(normal) if on_device else normal, loads=on_device)
    allowed = [e for e in engines if options.engine in (None, e.name) or e.name == "unfused"]
    if options.engine is not None:
        machine = machine.preferring(options.engine)
    selection = select(program, allowed, machine, options.strict)
    return lower(expr, program, selection, engines, machine.workers)


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
