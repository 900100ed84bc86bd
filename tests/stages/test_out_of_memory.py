"""A call that runs out of device memory: what it says, what it leaves, what is tried again."""

from __future__ import annotations

import weakref
from dataclasses import replace

import numpy as np
import pytest

from fft_fused import fft, lazy
from fft_fused.cuda.cufft import CufftError
from fft_fused.options import options
from fft_fused.passes.pipeline import make_plan
from fft_fused.passes.trace import collect
from fft_fused.runtime import execute
from fft_fused.runtime.device import Resources
from fft_fused.runtime.machine import here


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class Array(np.ndarray):
    """One that can be watched."""


@pytest.fixture
def released(monkeypatch):
    calls = []
    monkeypatch.setattr(execute, "release_memory", lambda: calls.append("released"))
    monkeypatch.setattr(execute, "resources_now", lambda workers: Resources(workers))
    monkeypatch.setattr(execute, "module_of", lambda device: np)
    return calls


def two_steps(*runs):
    """A plan for a GPU whose launches are replaced."""
    z = np.ones((4, 8), np.complex64)
    expr, _ = collect([(abs(fft(lazy(z) * 2)) ** 2).node])
    expr = replace(expr, operands=tuple(replace(o, device="cuda:0") for o in expr.operands))
    with options(engine="library") as chosen:
        plan = make_plan(expr, here("cuda:0"), chosen)
    steps = plan.steps[-len(runs) :]
    changed = [
        replace(s, launch=replace(s.launch, run=run)) for s, run in zip(steps, runs, strict=True)
    ]
    first = replace(changed[0], inputs=())
    return replace(plan, steps=(first, *changed[1:])), [z]


def test_the_error_says_what_was_asked_and_what_the_call_needs(released):
    def fails(inputs, outputs, resources):
        raise OutOfMemoryError("Out of memory allocating 4,096 bytes (allocated so far: 7 bytes).")

    plan, arrays = two_steps(fails)
    with pytest.raises(OutOfMemoryError) as caught:
        execute.execute(plan, arrays)
    assert str(caught.value) == (
        "Out of memory allocating 4,096 bytes (allocated so far: 7 bytes), in a call with results "
        "of 128 bytes and 0 bytes between its launches on cuda:0; work on fewer rows at a time, "
        "give out=, or free arrays"
    )
    assert released == ["released"]


def test_the_error_does_not_keep_the_arrays_of_the_call(released):
    made = []

    def makes(inputs, outputs, resources):
        array = np.zeros((4, 8), np.complex64).view(Array)
        made.append(weakref.ref(array))
        return [array]

    def fails(inputs, outputs, resources):
        kept = inputs
        raise OutOfMemoryError(f"Out of memory allocating {len(kept)} bytes")

    plan, arrays = two_steps(makes, fails)
    with pytest.raises(OutOfMemoryError, match="and 256 bytes between its launches") as caught:
        execute.execute(plan, arrays)
    assert caught.value is not None
    assert [r() for r in made] == [None]


def test_what_a_library_could_not_allocate_is_tried_again_with_the_pool_released(released):
    tries = []

    def second_time(inputs, outputs, resources):
        tries.append(list(released))
        if len(tries) == 1:
            raise CufftError("cufftMakePlanMany64", 2, "c2c 8, batch 4, f4")
        return [np.zeros((4, 8), np.float32)]

    plan, arrays = two_steps(second_time)
    (result,) = execute.execute(plan, arrays)
    assert result.shape == (4, 8)
    assert tries == [[], ["released"]]


@pytest.mark.parametrize(
    "error", [CufftError("cufftXtExec", 6), ValueError("2"), ImportError("cuFFT was not found")]
)
def test_other_errors_go_through(released, error):
    def fails(inputs, outputs, resources):
        raise error

    plan, arrays = two_steps(fails)
    with pytest.raises(type(error)) as caught:
        execute.execute(plan, arrays)
    assert caught.value is error
    assert not released


def test_memory_of_the_host_is_not_the_gpus(released, monkeypatch):
    def fails(inputs, outputs, resources):
        raise MemoryError("Unable to allocate 8. TiB")

    z = np.ones((4, 8), np.complex64)
    expr, _ = collect([(lazy(z) * 2).node])
    with options(engine=None) as chosen:
        plan = make_plan(expr, here("cpu"), chosen)
    (step,) = plan.steps
    plan = replace(plan, steps=(replace(step, launch=replace(step.launch, run=fails)),))
    with pytest.raises(MemoryError, match="^Unable to allocate 8. TiB$"):
        execute.execute(plan, [z])
    assert not released
