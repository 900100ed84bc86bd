"""Blocks and tasks cover the loops once, in an order that no thread count changes."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fft_fused.engines.schedule import block_lengths, schedule

loops = st.lists(st.integers(1, 20), min_size=1, max_size=3)


@given(loops, st.data())
def test_every_index_is_in_exactly_one_block(extents, data):
    reduced = [data.draw(st.booleans()) for _ in extents]
    lengths = tuple(data.draw(st.integers(1, n)) for n in extents)
    plan = schedule(extents, reduced, lengths, 8)
    counts = dict.fromkeys(itertools.product(*map(range, extents)), 0)
    for task in plan.tasks:
        for bounds in task.blocks:
            ranges = [range(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=True)]
            for index in itertools.product(*ranges):
                counts[index] += 1
    assert set(counts.values()) == {1}


@given(loops, st.data())
def test_tasks_that_share_an_accumulator_write_to_different_places(extents, data):
    reduced = [data.draw(st.booleans()) for _ in extents]
    lengths = tuple(data.draw(st.integers(1, n)) for n in extents)
    plan = schedule(extents, reduced, lengths, 8)
    kept = [k for k, r in enumerate(reduced) if not r]
    written = [(task.group, tuple(task.blocks[0][2 * k] for k in kept)) for task in plan.tasks]
    assert len(set(written)) == len(written)
    assert {t.group for t in plan.tasks} == set(range(plan.groups))


@pytest.mark.parametrize(
    ("extents", "unit", "target", "lengths"),
    [
        ((100,), 1024, 10 * 1024, (10,)),
        ((4, 8), 1024, 16 * 1024, (2, 8)),
        ((7,), 1 << 20, 1 << 18, (1,)),
        ((9,), 100, 800, (5,)),
    ],
)
def test_block_lengths_fill_the_innermost_loop_first(extents, unit, target, lengths):
    assert block_lengths(extents, lambda lengths: unit * math.prod(lengths), target) == lengths


@given(loops, st.integers(1, 64), st.integers(1, 4))
def test_lanes_are_reached_where_the_extents_allow_it(extents, target, lanes):
    lengths = block_lengths(extents, math.prod, target, lanes=lanes)
    assert all(1 <= length <= n for length, n in zip(lengths, extents, strict=True))
    assert math.prod(lengths) >= min(lanes, math.prod(extents))


def test_halo_is_counted_in_the_bytes_of_a_block():
    def with_halo(lengths):
        return (lengths[0] + 7) * 100

    assert block_lengths((1000,), with_halo, 3000) == (23,)


def test_accumulators_are_bounded_in_bytes():
    plan = schedule((1000,), (True,), (1,), 64 << 20)
    assert plan.groups == 1
