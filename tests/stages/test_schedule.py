"""Blocks and tasks cover the loops once, in an order that no thread count changes."""

from __future__ import annotations

import itertools

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
    written = [
        (task.group, tuple(task.blocks[0][2 * k] for k in kept)) for task in plan.tasks
    ]
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
    assert block_lengths(extents, unit, target) == lengths


def test_accumulators_are_bounded_in_bytes():
    plan = schedule((1000,), (True,), (1,), 64 << 20)
    assert plan.groups == 1
