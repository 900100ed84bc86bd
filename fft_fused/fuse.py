"""``@fuse``, ``compute`` and what can be asked about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from .engines.unfused import evaluate
from .explain import Explanation, explain_plan
from .expr.recording import ScalarValueNeeded
from .lazy import LazyArray
from .passes.pipeline import plan_for, settled
from .passes.trace import collect, library_of
from .runtime.ahead import compile_ahead
from .runtime.cache import Cache
from .runtime.exchange import exported, imported, is_torch, placed, working_on
from .runtime.execute import check_out, execute
from .runtime.locks import new_rlock
from .runtime.plan import Plan, output_specs
from .signature import Leaves, Signature, read_arguments
from .tracing import Traced, trace

if TYPE_CHECKING:
    from .compare import Comparison

_SIGNATURES = 128


def compute(*values: Any, out: Any = None) -> Any:
    """Evaluate lazy arrays together, computing what they share once.

    Parameters
    ----------
    *values : LazyArray
        Anything else is returned as it is.
    out : ndarray or sequence of ndarray, optional
        Arrays for the results, of their shapes.

    Returns
    -------
    ndarray or tuple of ndarray
        One array for one value, else a tuple.

    Raises
    ------
    TypeError, ValueError
        When ``out`` does not fit; IndexError from ``take``.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> x = fft_fused.lazy(np.ones((2, 4), np.complex64))
    >>> X = fft_fused.fft(x)
    >>> total, first = fft_fused.compute((abs(X) ** 2).sum(), X[:, 0])
    >>> float(total), first.shape
    (32.0, (2,))
    """
    lazies = [v for v in values if isinstance(v, LazyArray)]
    for value in lazies:
        value.require_values()
    expr, sources = collect([v.node for v in lazies])
    library = library_of(sources)
    with working_on(expr.device, library):
        arrays = [placed(s.array, o) for s, o in zip(sources, expr.operands, strict=True)]
        plan = settled(plan_for(expr), arrays, ())
        results = iter(_executed(plan, arrays, (), out, library))
    found = tuple(next(results) if isinstance(v, LazyArray) else v for v in values)
    return found[0] if len(found) == 1 else found


def _executed(
    plan: Plan, arrays: Sequence[Any], scalars: Sequence[Any], out: Any, library: str
) -> list[Any]:
    """Results in the library of the arguments: new ones, or what the caller gave."""
    if out is None:
        results = execute(plan, arrays, scalars)
        return [exported(r, library) for r in results] if library else results
    given = list(out) if isinstance(out, tuple | list) else [out]
    targets = [imported(o, "out") if library and is_torch(o) else o for o in given]
    checked = check_out(targets, output_specs(plan), plan.expr.device)
    results = execute(plan, arrays, scalars, checked)
    return [exported(r, library) if o is None else o for r, o in zip(results, given, strict=True)]


def explain_lazies(values: Sequence[LazyArray], stage: str | None = None) -> Explanation:
    """How ``compute(*values)`` would run; computes nothing."""
    expr, _ = collect([v.node for v in values])
    return explain_plan(plan_for(expr), "compute", stage)


class Fused:
    """A function whose calls run as planned programs; made by ``fuse``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = Signature(function)
        self._traced: Cache[Traced] = Cache(_SIGNATURES)
        self._static: set[Any] = set()
        self._lock = new_rlock()
        self._trace_count = 0

    def __repr__(self) -> str:
        return f"<fused {self.__name__}, {self._trace_count} traces>"  # type: ignore[attr-defined]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def trace_count(self) -> int:
        """How many times the function has been recorded."""
        return self._trace_count

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        leaves = read_arguments(args, kwargs, self._static)
        if leaves.lazy:
            if out is not None:
                raise TypeError("out: an argument is lazy, so the result is; use .compute(out=...)")
            return self._function(*args, **kwargs)
        traced = self._current(leaves, args, kwargs)
        with working_on(traced.expr.device, traced.library):
            arrays, scalars = traced.arrays(leaves), traced.scalars(leaves)
            plan = traced.plan_for(arrays, scalars)
            return traced.rebuild(_executed(plan, arrays, scalars, out, traced.library))

    def _current(self, leaves: Leaves, args: Any, kwargs: Any) -> Traced:
        """The trace for arguments like these, recorded again where a captured value changed."""
        traced = self._traced.peek(leaves.key) if leaves.hashable else None
        if traced is not None and traced.holds():
            return traced
        while True:
            try:
                with self._lock:
                    traced = trace(self._function, self._signature, leaves, args, kwargs)
                    self._trace_count += 1
                break
            except ScalarValueNeeded as needed:
                self._static |= {leaves.scalar_paths[s] for s in needed.slots}
                leaves = read_arguments(args, kwargs, self._static)
        if leaves.hashable and traced.reusable:
            self._traced.put(leaves.key, traced)
        return traced

    def _prepared(self, args: Any, kwargs: Any) -> tuple[Traced, Leaves]:
        leaves = read_arguments(args, kwargs, self._static)
        traced = self._current(leaves, args, kwargs)
        return traced, read_arguments(args, kwargs, self._static)

    def explain(self, *args: Any, stage: str | None = None, **kwargs: Any) -> Explanation:
        """How a call with such arguments runs: steps, what went where and why. Computes nothing.

        Parameters
        ----------
        *args, **kwargs
            As for a call; an ArraySpec may stand for an array.
        stage : {"expr", "normal", "chain", "selection", "source"}, optional
            Print one stage of the pipeline instead of the summary.

        Returns
        -------
        Explanation
            Text by ``str()``, HTML in a notebook, data by ``to_dict()``.
        """
        traced, _ = self._prepared(args, kwargs)
        return explain_plan(traced.plan_now(), self.__name__, stage)  # type: ignore[attr-defined]

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated code of every launch."""
        traced, _ = self._prepared(args, kwargs)
        return traced.plan_now().source

    def compile(self, *args: Any, archs: Sequence[str] = (), **kwargs: Any) -> Plan:
        """Trace, plan and compile now, without running.

        Parameters
        ----------
        *args, **kwargs
            As for a call; an ``ArraySpec`` may stand for an array.
        archs : sequence of str, optional
            Targets such as "sm_90" to compile all candidates for, into the cache on disk; needs
            no GPU. ``fft-fused compile FILE.py --arch sm_90`` does so for every ``compile`` of a
            file.

        Returns
        -------
        Plan

        Raises
        ------
        ValueError
            For a target that is none.
        CompileError
            When NVRTC refuses a target.

        Examples
        --------
        >>> import fft_fused
        >>> power = fft_fused.fuse(lambda x: abs(fft_fused.fft(x)) ** 2)
        >>> power.compile(fft_fused.ArraySpec.of((64, 256), "c8", "cuda:0")).launches[0].engine
        'one_kernel'
        """
        traced, _ = self._prepared(args, kwargs)
        plan = traced.plan_now()
        compile_ahead(plan, self.__name__, archs)  # type: ignore[attr-defined]
        return plan

    def unfused(self, *args: Any, **kwargs: Any) -> Any:
        """The same values by one NumPy call after another, as typed: baseline and oracle."""
        traced, leaves = self._prepared(args, kwargs)
        with working_on(traced.expr.device, traced.library):
            results = evaluate(traced.expr, traced.arrays(leaves), traced.scalars(leaves))
            return traced.rebuild([exported(r, traced.library) for r in results])

    def compare(self, *args: Any, repeat: int = 5, **kwargs: Any) -> Comparison:
        """Run fused and unfused in turn: times, ratio, peak memory, error against float64.

        The fastest plan is found first.

        Parameters
        ----------
        *args, **kwargs
            As for a call.
        repeat : int
            Timed runs of each; the medians count.

        Returns
        -------
        Comparison
            A table by ``str()``, data by ``to_dict()``.
        """
        traced, leaves = self._prepared(args, kwargs)
        name = self.__name__  # type: ignore[attr-defined]
        from .compare import compare

        with working_on(traced.expr.device, traced.library):
            arrays, scalars = traced.arrays(leaves), traced.scalars(leaves)
            plan = traced.settled_plan(arrays, scalars)
            return compare(name, plan, arrays, scalars, repeat)


@overload
def fuse(function: Callable[..., Any]) -> Fused: ...
@overload
def fuse(function: None = None) -> Callable[[Callable[..., Any]], Fused]: ...
def fuse(function: Callable[..., Any] | None = None) -> Any:
    """Make a function of arrays run fused.

    The function is recorded once per shapes, dtypes and strides of its array arguments and values
    of its static ones (ints, bools, strings), then only run. Python floats and complexes are
    run-time values. What it captures from outside is watched: when that changes it is recorded
    again.

    Parameters
    ----------
    function : callable
        Takes arrays, numbers, and tuples, lists and dicts of them; returns lazy arrays, or
        tuples, lists and dicts of them.

    Returns
    -------
    Fused
        A callable with ``explain``, ``compare``, ``unfused``, ``source`` and ``compile``; it takes
        ``out=`` besides the function's own arguments.

    Raises
    ------
    TypeError
        When ``function`` cannot be called.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> @fft_fused.fuse
    ... def power(x, window, scale=1.0):
    ...     return scale * abs(fft_fused.fft(x * window)) ** 2
    >>> p = power(np.ones((3, 8), np.complex64), np.ones(8, np.float32), scale=0.5)
    >>> p.shape, p.dtype, float(p[0, 0])
    ((3, 8), dtype('float32'), 32.0)
    """
    if function is None:
        return fuse
    if not callable(function):
        raise TypeError(f"fuse: need a function, got {type(function).__name__}")
    return function if isinstance(function, Fused) else Fused(function)
