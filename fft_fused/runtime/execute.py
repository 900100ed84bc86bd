"""Execute: arrays in, arrays out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .arrays import alignment_of, device_of, is_cupy, module_of
from .device import Resources, is_out_of_memory, release_memory, resources_now
from .plan import Plan


def execute(
    plan: Plan,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[Any] = (),
    out: Sequence[np.ndarray | None] | None = None,
    measuring: bool = False,
) -> list[np.ndarray]:
    """Run a plan.

    Parameters
    ----------
    plan : Plan
        For the shapes, dtypes and strides of ``arrays``.
    arrays : sequence of ndarray
        Native byte order, aligned; never written to.
    scalars : sequence of float or complex
        One for each scalar slot.
    out : sequence of ndarray or None, optional
        Where the results go, see ``check_out``; None for a new C-contiguous array.
    measuring : bool, optional
        Launches find out which of their kernels is fastest, and keep it.

    Returns
    -------
    list of ndarray
        New arrays, or those of ``out``.

    Raises
    ------
    MemoryError
        A GPU has too little memory. What the call had allocated is free again.
    """
    try:
        return _executed(plan, arrays, scalars, out, measuring)
    except Exception as error:
        if plan.expr.device == "cpu" or not is_out_of_memory(error):
            raise
        fault = error.with_traceback(None)  # lets go of the arrays of the call
    release_memory()
    if isinstance(fault, MemoryError):
        raise _explained(fault, plan)
    # a library asked for what CuPy kept free
    return _executed(plan, arrays, scalars, out, measuring)


def _executed(
    plan: Plan,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[Any],
    out: Sequence[np.ndarray | None] | None,
    measuring: bool,
) -> list[np.ndarray]:
    start = 0.0 if plan.told is None else time.perf_counter()
    leaves = len(arrays) + len(scalars)
    values: list[Any] = [*arrays, *scalars, *[None] * (plan.count - leaves)]
    for number, constant in plan.constants:
        values[number] = constant.value
    targets = {} if out is None else _targets(plan, arrays, out)
    on_host = plan.expr.device == "cpu"
    resources = Resources(plan.workers) if on_host else resources_now(plan.workers)
    if measuring:
        resources = replace(resources, measuring=True)
    resources.keep(plan)
    for step in plan.steps:
        results = step.launch.run(
            [values[i] for i in step.inputs],
            [targets.get(i) for i in step.outputs],
            resources,
        )
        for number, result in zip(step.outputs, results, strict=True):
            values[number] = result
        for number in step.dead:
            values[number] = None
    if plan.told is not None:
        plan.told(time.perf_counter() - start)
    if out is None and plan.owns_results:
        return [values[number] for number in plan.results]
    return _finish(plan, values, leaves, out)


def _explained(fault: MemoryError, plan: Plan) -> MemoryError:
    """With what the whole call needs, after the size of the allocation that failed."""
    between, results = plan.intermediate_bytes, sum(o.nbytes for o in plan.outputs)
    fault.args = (
        f"{str(fault).rstrip('.')}, in a call with results of {results:,} bytes and {between:,} "
        f"bytes between its launches on {plan.expr.device}; work on fewer rows at a time, give "
        "out=, or free arrays",
    )
    return fault


def _finish(
    plan: Plan, values: list[Any], leaves: int, out: Sequence[np.ndarray | None] | None
) -> list[np.ndarray]:
    """Results; those that are operands or constants, or appear twice, are copied."""
    xp = module_of(plan.expr.device)
    results: list[np.ndarray] = []
    given = set(range(leaves)) | {n for n, _ in plan.constants}
    for k, number in enumerate(plan.results):
        wanted = None if out is None else out[k]
        node = plan.outputs[k]
        result = values[number]
        if wanted is not None:
            if result is not wanted:
                xp.copyto(wanted, result, casting="unsafe")
            result = wanted
        elif number in given or number in plan.results[:k]:
            result = xp.asarray(result, node.dtype)
            result = xp.array(xp.broadcast_to(result, node.shape), order="C")
        results.append(result)
    return results


def _targets(
    plan: Plan, arrays: Sequence[np.ndarray], out: Sequence[np.ndarray | None]
) -> dict[int, np.ndarray]:
    """Results that launches may write straight into the caller's arrays."""
    found: dict[int, np.ndarray] = {}
    xp = module_of(plan.expr.device)
    for number, node, array in zip(plan.results, plan.outputs, out, strict=True):
        if array is None or number in found:
            continue
        direct = array.dtype == node.dtype and array.flags.c_contiguous and _is_aligned(array)
        if direct and not any(xp.may_share_memory(array, a) for a in arrays):
            found[number] = array
    return found


def _is_aligned(array: Any) -> bool:
    """Kernels on a GPU store up to two elements at once, such as the two parts of a number."""
    if is_cupy(array):
        return alignment_of(array) % min(16, 2 * array.itemsize) == 0
    return bool(array.flags.aligned)


def check_out(
    out: Any, specs: Sequence[tuple[tuple[int, ...], np.dtype]], device: str = "cpu"
) -> list[np.ndarray | None]:
    """``out`` as a list with an entry per result, which will be on ``device``.

    Raises
    ------
    TypeError
        No array of the device, or a dtype the result cannot be cast to by the rule "same_kind".
    ValueError
        Another shape, another number of arrays, read-only or overlapping arrays.
    """
    given = list(out) if isinstance(out, tuple | list) else [out]
    if len(given) != len(specs):
        raise ValueError(f"out: {len(given)} arrays given for {len(specs)} results")
    for array, (shape, dtype) in zip(given, specs, strict=True):
        if array is None:
            continue
        _check_place(array, device)
        if array.shape != shape:
            raise ValueError(f"out: shape {array.shape} given, the result has {shape}")
        if not np.can_cast(dtype, array.dtype, "same_kind"):
            raise TypeError(f"out: dtype {array.dtype} given, the result is {dtype}")
        if not is_cupy(array) and not array.flags.writeable:
            raise ValueError("out: the array given is read-only")
    filled = [a for a in given if a is not None]
    if any(_overlap(a, b) for i, a in enumerate(filled) for b in filled[:i]):
        raise ValueError("out: two of the arrays given overlap; results need memory of their own")
    return given


def _check_place(array: Any, device: str) -> None:
    wanted = "NumPy array" if device == "cpu" else f"CuPy array on {device}"
    if not isinstance(array, np.ndarray) and not is_cupy(array):
        raise TypeError(f"out: need a {wanted}, got {type(array).__name__}")
    if device_of(array) != device:
        raise TypeError(
            f"out: an array on {device_of(array)} given, the result is on {device}; give a {wanted}"
        )


def _overlap(a: Any, b: Any) -> bool:
    return bool(module_of(device_of(a)).may_share_memory(a, b))
