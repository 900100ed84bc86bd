"""Engines: each offers to run runs of steps, with a cost. A new one is a file and an entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..expr.chain import Problem
from ..runtime.machine import Machine


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes moved through memory, calls or kernels, and seconds by the model."""

    bytes_read: int
    bytes_written: int
    launches: int
    seconds: float
    workspace: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """An engine can run the problem at this cost; ``detail`` is its own business."""

    engine: str
    problem: Problem
    cost: Cost
    fused: bool
    detail: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An engine cannot, why, and what the user could do."""

    engine: str
    problem: Problem
    reason: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """Something to run: ``run(inputs, outputs, resources)`` returns the results in order.

    Inputs are arrays, and numbers for scalar leaves. An entry of ``outputs`` is a C-contiguous
    array to fill or None for a new one. Results share no memory with inputs.
    """

    engine: str
    problem: Problem
    run: Callable[..., list[Any]] = field(repr=False)
    source: str = field(repr=False)
    workspace: int = 0


class Engine(Protocol):
    """What every engine module-level object has."""

    name: str
    signature: str

    @property
    def fits(self) -> Callable[[int, np.dtype], bool] | None:
        """Does a complex transform of a length and a dtype fit its kernels? None: no limit."""

    def offer(self, problem: Problem, machine: Machine) -> Offer | Refusal | None:
        """Can this engine run the problem, and at what cost? Pure and fast; None: not my kind."""

    def build(self, offer: Offer) -> Launch:
        """Make it runnable. May not refuse."""

    def available(self) -> str:
        """Empty when usable here, else the reason."""


def registry() -> tuple[Engine, ...]:
    """The engines, in the order they are asked."""
    from .cufft_callbacks import CUFFT_CALLBACKS
    from .elementwise import ELEMENTWISE
    from .library import LIBRARY
    from .numpy_blocked import NUMPY_BLOCKED
    from .one_kernel import ONE_KERNEL
    from .unfused import UNFUSED

    return (NUMPY_BLOCKED, ELEMENTWISE, LIBRARY, CUFFT_CALLBACKS, ONE_KERNEL, UNFUSED)


def names() -> tuple[str, ...]:
    """Names of the engines."""
    return tuple(e.name for e in registry())
