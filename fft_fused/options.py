"""Options: a thread-local stack of overrides over the environment's defaults."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import scipy.fft


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may set.

    Attributes
    ----------
    engine : str or None
        Only this engine is asked ("unfused", "numpy_blocked"); None lets the planner choose.
    strict : bool
        Raise NotFusedError where part of an expression would run unfused.
    workers : int or None
        Threads of the fused NumPy engine, negative as in scipy.fft. None: ``scipy.fft``'s setting
        if it is not 1, else every CPU this process may use.
    planning : {"estimate", "measure", "exhaustive"}
        What decides among the ways to run a program on a GPU: the model alone; a race of those it
        finds cheapest, on the arrays of a call; a race of many more, before the first call returns.
    background : bool
        Are candidates built while calls go on? Otherwise the first call waits for all of them.
    """

    engine: str | None = None
    strict: bool = False
    workers: int | None = None
    planning: str = "measure"
    background: bool = True


class _Stack(threading.local):
    def __init__(self) -> None:
        self.items: list[Options] = []


PLANNING = ("estimate", "measure", "exhaustive")
_stack = _Stack()


def _planning() -> str:
    """FFT_FUSED_PLANNING where it names a way of planning."""
    asked = os.environ.get("FFT_FUSED_PLANNING", "")
    return asked if asked in PLANNING else "measure"


_DEFAULT = Options(
    engine=os.environ.get("FFT_FUSED_ENGINE") or None,
    strict=os.environ.get("FFT_FUSED_STRICT", "") not in ("", "0"),
    planning=_planning(),
)


def current() -> Options:
    """The options in force in this thread."""
    return _stack.items[-1] if _stack.items else _DEFAULT


@contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Set options for a block, in this thread.

    Parameters
    ----------
    **changes
        Fields of ``Options``: ``engine``, ``strict``, ``workers``, ``planning``, ``background``.

    Raises
    ------
    TypeError
        For a name that is no option.
    ValueError
        For an engine or a way of planning that does not exist, or workers of 0 or below
        -cpu_count.

    Examples
    --------
    >>> import fft_fused
    >>> with fft_fused.options(engine="unfused") as o:
    ...     o.engine
    'unfused'
    """
    unknown = set(changes) - set(Options.__dataclass_fields__)
    if unknown:
        known = ", ".join(Options.__dataclass_fields__)
        raise TypeError(f"options: no option {sorted(unknown)[0]!r}; there are {known}")
    chosen = replace(current(), **changes)
    if chosen.workers is not None:
        resolve_workers(chosen.workers)
    if chosen.planning not in PLANNING:
        raise ValueError(
            f"options: planning {chosen.planning!r} does not exist; there are {', '.join(PLANNING)}"
        )
    if chosen.engine is not None:
        from .engines import names

        if chosen.engine not in names():
            raise ValueError(
                f"options: engine {chosen.engine!r} does not exist; there are {', '.join(names())}"
            )
    _stack.items.append(chosen)
    try:
        yield chosen
    finally:
        _stack.items.pop()


def planning(how: str, background: bool | None = None) -> AbstractContextManager[Options]:
    """Set how the fastest way is found, for a block in this thread.

    Parameters
    ----------
    how : {"estimate", "measure", "exhaustive"}
        See ``Options``.
    background : bool, optional
        False: the first call waits until all candidates are built and measured.

    Raises
    ------
    ValueError
        For another ``how``.

    Examples
    --------
    >>> import fft_fused
    >>> with fft_fused.planning("estimate") as o:
    ...     o.planning
    'estimate'
    """
    changes: dict[str, Any] = {"planning": how}
    if background is not None:
        changes["background"] = background
    return options(**changes)


def cache_folder() -> Path:
    """Where code and wisdom are kept: FFT_FUSED_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get("FFT_FUSED_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "fft_fused"


def scipy_array_api() -> bool:
    """Has SciPy's array API support been switched on? Any text counts, as for SciPy."""
    return bool(os.environ.get("SCIPY_ARRAY_API"))


def cpu_count() -> int:
    """CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resolve_workers(workers: int | None) -> int:
    """The number of threads, by scipy.fft's rules for negative and zero."""
    if workers is None:
        asked = scipy.fft.get_workers()
        return asked if asked != 1 else cpu_count()
    if workers < 0:
        if workers < -cpu_count():
            raise ValueError(
                f"workers value out of range; got {workers}, must not be less than {-cpu_count()}"
            )
        return cpu_count() + 1 + workers
    if workers == 0:
        raise ValueError("workers must not be zero")
    return workers
