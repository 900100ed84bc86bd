"""Select: the cheapest cover of a program's steps by engine offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..engines import Engine, Offer, Refusal
from ..errors import NotFusedError
from ..expr.chain import Program
from ..runtime.machine import Machine

MAX_RUN = 32


@dataclass(frozen=True, slots=True)
class Selection:
    """The offers taken, in order; every offer and refusal that was not; seconds by the model."""

    offers: tuple[Offer, ...]
    others: tuple[Offer | Refusal, ...]
    seconds: float


def select(
    program: Program, engines: Sequence[Engine], machine: Machine, strict: bool = False
) -> Selection:
    """Shortest path over the cut points of the program.

    Raises
    ------
    NotFusedError
        Under ``strict`` when part of the program can only run on an engine that fuses nothing.
    """
    count = len(program.steps)
    best: list[tuple[float, tuple[Offer, ...]] | None] = [(0.0, ())] + [None] * count
    asked: list[Offer | Refusal] = []
    for stop in range(1, count + 1):
        for first in range(max(0, stop - MAX_RUN), stop):
            so_far = best[first]
            if so_far is None:
                continue
            for offer in _offers(program, first, stop, engines, machine, asked):
                total = so_far[0] + _price(offer, machine, strict)
                known = best[stop]
                if known is None or total < known[0]:
                    best[stop] = (total, (*so_far[1], offer))
    found = best[count]
    assert found is not None, "the unfused engine covers everything"
    taken = {id(o) for o in found[1]}
    others = tuple(a for a in asked if id(a) not in taken)
    if strict:
        _check_fused(found[1], others)
    return Selection(found[1], others, sum(o.cost.seconds for o in found[1]))


def _price(offer: Offer, machine: Machine, strict: bool) -> float:
    """Seconds; a last resort costs more than anything else."""
    wanted = machine.preferred in (None, offer.engine) and (offer.fused or not strict)
    return offer.cost.seconds + (0 if wanted else 1e6 * len(offer.problem.nodes))


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
