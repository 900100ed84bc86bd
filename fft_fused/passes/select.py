"""Select: the cheapest cover of a program's steps by engine offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engines import Engine, Offer, Refusal
from ..errors import NotFusedError
from ..expr.chain import Program
from ..runtime.machine import Machine

MAX_RUN = 32
_SECOND_BEST, _LAST_RESORT = 1e3, 1e7  # seconds


@dataclass(frozen=True, slots=True)
class Selection:
    """The offers taken, in order; every offer and refusal that was not; seconds by the model, and
    these with what is charged for engines that are not wanted."""

    offers: tuple[Offer, ...]
    others: tuple[Offer | Refusal, ...]
    seconds: float
    price: float


def select(
    program: Program,
    engines: Sequence[Engine],
    machine: Machine,
    strict: bool = False,
    count: int = 1,
) -> tuple[Selection, ...]:
    """The cheapest cover by the model, and the next ones up to ``count`` that other engines make.

    Shortest paths over the cut points of the program, one for each set of engines; a set that
    only adds engines to one that is cheaper is left out.

    Raises
    ------
    NotFusedError
        Under ``strict`` when part of the program can only run on an engine that fuses nothing.
    """
    steps = len(program.steps)
    best: list[list[_Cover]] = [[_Cover(0.0, ())]] + [[] for _ in range(steps)]
    asked: list[Offer | Refusal] = []
    for stop in range(1, steps + 1):
        found = [
            _Cover(so_far.price + _price(offer, machine, strict), (*so_far.offers, offer))
            for first in range(max(0, stop - MAX_RUN), stop)
            if stop - first == 1 or all(s.kind != "table" for s in program.steps[first:stop])
            for offer in _rivals(_offers(program, first, stop, engines, machine, asked), count)
            for so_far in best[first]
        ]
        best[stop] = _distinct(found)[: 1 if count == 1 else None]
    assert best[steps], "the unfused engine covers everything"
    limit = best[steps][0].price + _SECOND_BEST
    covers = [c for c in _undominated(best[steps]) if c.price < limit]
    return tuple(_selection(c, asked, strict) for c in covers[:count])


@dataclass(frozen=True, slots=True)
class _Cover:
    price: float
    offers: tuple[Offer, ...]

    @property
    def engines(self) -> frozenset[str]:
        return frozenset(o.engine for o in self.offers)


def _distinct(covers: Sequence[_Cover]) -> list[_Cover]:
    """The cheapest of each set of engines, the cheapest of all first."""
    firsts: dict[frozenset[str], _Cover] = {}
    for cover in sorted(covers, key=lambda c: c.price):
        firsts.setdefault(cover.engines, cover)
    return list(firsts.values())


def _undominated(covers: Sequence[_Cover]) -> list[_Cover]:
    """Those that do not merely add engines to a cheaper one."""
    found: list[_Cover] = []
    for cover in covers:
        if not any(other.engines < cover.engines for other in found):
            found.append(cover)
    return found


def _selection(cover: _Cover, asked: Sequence[Offer | Refusal], strict: bool) -> Selection:
    taken = {id(o) for o in cover.offers}
    others = tuple(a for a in asked if id(a) not in taken)
    if strict:
        _check_fused(cover.offers, others)
    seconds = sum(o.cost.seconds for o in cover.offers)
    return Selection(cover.offers, others, seconds, cover.price)


def _price(offer: Offer, machine: Machine, strict: bool) -> float:
    """Seconds; what is not wanted costs more than anything else, what fuses nothing still more."""
    if machine.preferred in (None, offer.engine) and (offer.fused or not strict):
        return offer.cost.seconds
    penalty = _SECOND_BEST if offer.fused else _LAST_RESORT
    return offer.cost.seconds + penalty * len(offer.problem.nodes)


def _offers(
    program: Program,
    first: int,
    stop: int,
    engines: Sequence[Engine],
    machine: Machine,
    asked: list[Offer | Refusal],
) -> list[Offer]:
    problem = program.problem(first, stop)
    answers = [a for e in engines if (a := e.offer(problem, machine)) is not None]
    asked += answers
    return [a for a in answers if isinstance(a, Offer)]


def _rivals(offers: list[Offer], count: int) -> list[Offer]:
    """Those worth a race: an engine that fuses nothing is no rival of one that does."""
    fused = [o for o in offers if o.fused]
    return fused if fused and count > 1 else offers


def _check_fused(offers: Sequence[Offer], others: Sequence[Offer | Refusal]) -> None:
    for offer in offers:
        if offer.fused:
            continue
        steps = " > ".join(n.op for n in offer.problem.nodes)
        why = next(
            (
                f"{r.engine}: {r.reason}. {r.cure}".rstrip(". ")
                for r in others
                if isinstance(r, Refusal) and r.problem.span == offer.problem.span
            ),
            "no engine offered to fuse it",
        )
        raise NotFusedError(f'"{steps}" was not fused. {why}; or use options(strict=False)')
