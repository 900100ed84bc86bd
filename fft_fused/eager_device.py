"""Transforms of CuPy arrays at once: planned once for each kind of call, then run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .expr import build
from .expr.node import Source
from .expr.spectrum import transform_spec
from .options import current
from .passes.pipeline import plan_for, settled
from .passes.trace import collect
from .runtime.arrays import as_operand, device_of, spec_of
from .runtime.cache import Cache, shared_cache
from .runtime.exchange import working_on
from .runtime.execute import check_out, execute
from .runtime.plan import Plan, output_specs

_PLANS: Cache[Plan | None] = shared_cache(512)


def transform(
    name: str, x: Any, s: Any, axes: Any, norm: Any, many: bool, out: Any = None, **extra: Any
) -> Any:
    """A Fourier, cosine or sine transform; ``x`` itself where there is no axis to transform.

    Parameters
    ----------
    name : str
        As ``fft``, ``irfft2``, ``hfftn``, ``dct``.
    x : cupy.ndarray
    s, axes, norm
        As in ``scipy.fft``; one length and one axis unless ``many``.
    many : bool
        Is it a transform over several axes?
    out : cupy.ndarray, optional
        Where the result goes.
    **extra
        ``type`` and ``orthogonalize`` of a cosine or sine transform.

    Raises
    ------
    TypeError, ValueError
        As ``scipy.fft``.
    """
    x = as_operand(x, name)
    key = (
        name,
        spec_of(x),
        _fixed(s),
        _fixed(axes),
        norm,
        many,
        *extra.values(),
        current(),
    )
    plan = _PLANS.get(key, lambda: _planned(name, x, s, axes, norm, many, **extra))
    if plan is None:
        return x if out is None else _copied(x, out)
    with working_on(plan.expr.device):
        if plan.is_open:
            plan = settled(plan, [x], ())
            if not plan.is_open:
                _PLANS.put(key, plan)
        checked = None if out is None else check_out(out, output_specs(plan), plan.expr.device)
        (result,) = execute(plan, [x], (), checked)
    return result


def _copied(x: Any, out: Any) -> Any:
    check_out(out, [(x.shape, x.dtype)], device_of(x))
    out[...] = x
    return out


def _fixed(values: Any) -> Any:
    """An argument as part of a key: 8, 8.0 and True are three."""
    if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str):
        return tuple((type(v), v) for v in values)
    return type(values), values


def _planned(
    name: str, x: Any, s: Any, axes: Any, norm: Any, many: bool, **extra: Any
) -> Plan | None:
    node = build.leaf(Source(name, spec_of(x)))
    base = name.rstrip("2n") if many else name
    spec = transform_spec(node, base, s, axes, norm, many, **extra)
    if not spec.axes:
        return None
    expr, _ = collect([build.transform(node, spec)])
    return plan_for(expr)
