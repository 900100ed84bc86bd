"""Selection: the cheapest cover by offers, with fake engines."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused import fft, ifft, lazy
from fft_fused.engines import Cost, Offer, Refusal
from fft_fused.errors import NotFusedError
from fft_fused.passes.normalize import normalize
from fft_fused.passes.partition import partition
from fft_fused.passes.select import select
from fft_fused.passes.trace import collect
from fft_fused.runtime.machine import Machine

MACHINE = Machine(workers=1)
X = np.ones((4, 8), np.complex64)


class Fake:
    """Takes runs of at most ``most`` steps for ``seconds`` a run."""

    signature = "fake"

    def __init__(self, name, seconds, most=99, fused=True):
        self.name, self._seconds, self._most, self._fused = name, seconds, most, fused

    def offer(self, problem, machine):
        if problem.span[1] - problem.span[0] > self._most:
            return Refusal(self.name, problem, "too long", "make it shorter")
        return Offer(self.name, problem, Cost(0, 0, 1, self._seconds), self._fused)


def program():
    value = abs(ifft(fft(lazy(X) * 2) * 3)) + 1
    return partition(normalize(collect([value.node])[0]))


def taken(*engines, **options):
    (selection,) = select(program(), engines, MACHINE, **options)
    return [(o.engine, o.problem.span) for o in selection.offers]


def test_steps_alternate_between_maps_and_transforms():
    assert [s.kind for s in program().steps] == ["transform", "map", "transform", "map"]


def test_one_long_run_when_every_run_costs_the_same():
    assert taken(Fake("a", 1.0)) == [("a", (0, 4))]


def test_the_cheaper_engine_is_taken():
    assert taken(Fake("a", 1.0), Fake("b", 0.5)) == [("b", (0, 4))]


def test_engines_mix_where_one_cannot_do_all():
    cheap, dear = Fake("cheap", 0.1, most=1), Fake("dear", 1.0)
    assert taken(cheap, dear) == [("cheap", (k, k + 1)) for k in range(4)]
    cheap = Fake("cheap", 0.3, most=1)
    assert taken(cheap, dear) == [("dear", (0, 4))]


def test_what_was_not_taken_is_kept_with_its_reason():
    (selection,) = select(program(), (Fake("a", 1.0), Fake("b", 0.1, most=1)), MACHINE)
    refusals = [o for o in selection.others if isinstance(o, Refusal)]
    assert refusals
    assert all(r.reason == "too long" for r in refusals)
    assert selection.seconds == pytest.approx(0.4)


def test_strict_takes_a_fusing_engine_however_dear():
    assert taken(Fake("plain", 0.1, fused=False), Fake("a", 9.0), strict=True) == [("a", (0, 4))]


def test_strict_raises_with_reason_and_cure():
    engines = (Fake("plain", 0.1, fused=False), Fake("a", 9.0, most=0))
    with pytest.raises(NotFusedError, match="a: too long. make it shorter; or use options"):
        taken(*engines, strict=True)


def test_preferred_engine_is_taken_where_it_offers():
    (selection,) = select(
        program(), (Fake("a", 0.1), Fake("b", 5.0, most=2)), MACHINE.preferring("b")
    )
    assert {o.engine for o in selection.offers} == {"b"}


def test_the_cheapest_covers_come_in_order():
    engines = (Fake("a", 1.0), Fake("b", 0.3, most=1), Fake("c", 1.1))
    found = select(program(), engines, MACHINE, count=3)
    assert [s.seconds for s in found] == sorted(s.seconds for s in found)
    assert [[o.engine for o in s.offers] for s in found][:2] == [["a"], ["c"]]
    assert len(found) == 3


def test_a_last_resort_is_no_rival():
    found = select(program(), (Fake("a", 0.1), Fake("b", 5.0)), MACHINE.preferring("b"), count=4)
    assert {o.engine for s in found for o in s.offers} == {"b"}
