"""The straight line: expression -> normal form -> steps -> selection -> plan, cached by key."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from ..engines import Engine, Launch, Offer, registry
from ..errors import NotFusedError
from ..expr.chain import Program
from ..expr.node import Expr, summary, walk
from ..expr.ops import OPS
from ..options import Options, current
from ..runtime.cache import Cache, shared_cache
from ..runtime.cost import unfused_bytes
from ..runtime.device import resources_now
from ..runtime.machine import Machine, here
from ..runtime.plan import Plan
from ..runtime.trials import Trials
from .commute import FOR_LIBRARY
from .device import for_library, for_own_kernels, with_addresses, without_cosines
from .long import split_long
from .lower import lower
from .normalize import normalize
from .partition import partition
from .select import Selection, select
from .tables import tables

PLANS: Cache[Plan] = shared_cache(512)
CONTESTS: Cache[Any] = shared_cache(128)
_RIVALS = {"estimate": 1, "measure": 5, "exhaustive": 12}
_LEAST_TIMED = 2e-4  # seconds of a call on a CPU; shorter ones are not told apart
_MOST_TRIED = 64 << 20  # bytes of results and of what lies between when nothing is fused
_FEWER_THREADS = 1e-3  # seconds; longer calls want all threads
_CLOSE = 1.5  # times the seconds of the best: what the model may err by on a CPU
_BLOCK_SCALES = (0.25, 0.5, 2.0, 4.0)
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
    """The plan for a call: the fastest as soon as it is known, else one that can run now."""
    if not plan.is_open:
        return plan
    key = _key(plan.expr)
    if plan.expr.device == "cpu":
        found = CONTESTS.get(key, lambda: Trials(plan, _program(plan.expr))).answer()
    else:
        found = _on_device_settled(plan, key, arrays, scalars)
    if not found.is_open:
        PLANS.put(key, found)
        CONTESTS.remove(key)
    return found


def _on_device_settled(
    plan: Plan, key: Hashable, arrays: Sequence[Any], scalars: Sequence[Any]
) -> Plan:
    resources, options = resources_now(1), current()
    if resources.capturing:
        return plan
    from ..runtime.contest import Contest

    made = CONTESTS.get(key, lambda: Contest(plan, resources.device, _program(plan.expr)))
    waits = not options.background or options.planning == "exhaustive"
    found: Plan = made.answer(arrays, scalars, background=not waits)
    return found


def _key(expr: Expr) -> Hashable:
    options = current()
    asked = options.engine, options.strict, options.planning
    return (expr.key, *asked, here(expr.device).workers)


def _program(expr: Expr) -> tuple[str, ...]:
    """What a choice depends on besides the machine, as text."""
    options = current()
    asked = options.engine, options.strict, options.planning, here(expr.device).workers
    return (summary(expr), repr(expr.key), repr(asked))


def make_plan(expr: Expr, machine: Machine, options: Options) -> Plan:
    """Steps 2 to 5 of the line."""
    engines = registry()
    if options.engine == "unfused" or any(n.size == 0 for n in walk(expr.outputs)):
        return _as_recorded(expr, engines, machine)
    on_device = machine.device != "cpu"
    allowed = [e for e in engines if _is_allowed(e.name, options.engine, on_device)]
    if options.engine is not None:
        machine = machine.preferring(options.engine)
    programs = _on_device(expr, allowed) if on_device else (partition(normalize(expr)),)
    measured, free = options.planning != "estimate", options.engine is None
    count = _RIVALS[options.planning] if on_device and free else 1
    found = _cheapest(programs, allowed, machine, options.strict, count)
    built: dict[int, Launch] = {}
    best, *others = (
        lower(expr, program, s, engines, machine.workers, built)
        for program, s in found
        if s.seconds <= _WORTH_A_TRY * found[0][1].seconds
    )
    if measured and free and not options.strict:
        more = _recorded_too if on_device else _variants
        others += more(best, expr, programs[0], allowed, machine)
    has_shapes = any(getattr(launch.run, "has_shapes", False) for launch in best.launches)
    return replace(best, rivals=tuple(others), is_open=measured and bool(others or has_shapes))


def _recorded_too(
    best: Plan, expr: Expr, program: Program, engines: Sequence[Engine], machine: Machine
) -> list[Plan]:
    """On a GPU: the expression as recorded, where it may win."""
    recorded = _as_recorded(expr, registry(), machine)
    return [recorded] if recorded.steps and recorded.seconds < _WORTH_A_TRY * best.seconds else []


def _variants(
    best: Plan, expr: Expr, program: Program, engines: Sequence[Engine], machine: Machine
) -> list[Plan]:
    """On a CPU: fewer threads, the expression as recorded, and other blocks if many ways are to be
    tried, where calls take long enough to tell and need little memory."""
    names = {launch.engine for launch in best.launches}
    memory = unfused_bytes(expr)["temporaries"] + sum(o.nbytes for o in expr.outputs)
    if names == {"unfused"} or best.seconds < _LEAST_TIMED or memory > _MOST_TRIED:
        return []
    recorded = _as_recorded(expr, registry(), machine)
    found = [recorded] if recorded.seconds < _CLOSE * best.seconds else []
    for scale in _BLOCK_SCALES if machine.thorough else ():
        selection, *_ = select(program, engines, replace(machine, block_scale=scale))
        other = lower(expr, program, selection, registry(), machine.workers)
        if {launch.engine for launch in other.launches} == names:
            found.append(replace(other, variant=f"blocks {scale:g} times as large"))
    if machine.workers > 1 and best.seconds < _FEWER_THREADS:
        seconds = best.seconds * machine.workers
        found.append(replace(best, workers=1, variant="1 thread", seconds=seconds))
    return found


def _on_device(expr: Expr, engines: Sequence[Engine]) -> tuple[Program, ...]:
    """The expression for engines of a GPU. Where one has kernels of its own, once more as these
    need it, and where there is something to fuse with a transform that is too long for them, once
    more with that split."""
    fits = [e.fits for e in engines if e.fits is not None]
    recorded = normalize(expr, FOR_LIBRARY)
    normal = for_library(recorded)
    differs = any(n.op == "dft" and n.attr.kind == "c2r" for n in walk(recorded.outputs))
    own = for_own_kernels(recorded) if fits and differs else normal
    forms = [normal] if own is normal else [own, normal]  # the first where they cost as much
    if any(OPS[n.op].kind not in ("transform", "leaf") for n in walk(normal.outputs)):
        split = (split_long(own, f) for f in fits)
        forms += [normalize(s, FOR_LIBRARY) for s in split if s is not own]
    forms = [with_addresses(f) for f in forms]
    return tuple(partition(f, loads=True, tables=tables(f)) for f in forms)


def _cheapest(
    programs: Sequence[Program],
    engines: Sequence[Engine],
    machine: Machine,
    strict: bool,
    count: int,
) -> list[tuple[Program, Selection]]:
    """The cheapest ways to run the programs, with the best of each while there is room; one for
    each sequence of engines.

    Raises
    ------
    NotFusedError
        When none of them can be run under ``strict``.
    """
    firsts: list[tuple[Program, Selection]] = []
    others: list[tuple[Program, Selection]] = []
    faults: list[NotFusedError] = []
    for program in programs:
        try:
            first, *rest = select(program, engines, machine, strict, count)
        except NotFusedError as error:
            faults.append(error)
            continue
        firsts.append((program, first))
        others += [(program, s) for s in rest]
    if not firsts:
        raise faults[0]
    room = max(0, count - len(firsts))
    found = [*firsts, *sorted(others, key=_price)[:room]]
    alike: dict[tuple[str, ...], tuple[Program, Selection]] = {}
    for way in sorted(found, key=_price):
        alike.setdefault(tuple(o.engine for o in way[1].offers), way)
    return list(alike.values())[:count]


def _price(way: tuple[Program, Selection]) -> float:
    return way[1].price


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
    seconds = sum(o.cost.seconds for o in offers)
    selection = Selection(offers, (), seconds, seconds)
    return lower(expr, program, selection, engines, machine.workers)
