"""A plan: launches in order, and which numbered value each reads, writes and is the last to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..engines import Launch
from ..expr.chain import Program
from ..expr.node import Constant, Expr, Node
from ..passes.select import Selection


@dataclass(frozen=True, slots=True)
class PlanStep:
    """``launch`` reads values ``inputs``, makes ``outputs``; ``dead`` may be freed after it."""

    launch: Launch
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lap:
    """A plan's engines and the seconds a call of it took; ``fault`` where it could not run.

    ``estimate`` are its seconds by the model.
    """

    engines: str
    seconds: float
    fault: str = ""
    estimate: float = 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How an expression is computed.

    Values are numbered: operands first, then scalars, then what the launches make. ``results``
    says which value each output is, ``constants`` which values are numbers in the code. ``rivals``
    are other plans for the same values that might be faster, ``measured`` what a race of them took.
    ``is_open`` holds while it is not known which plan and which shapes of kernels are fastest;
    ``variant`` tells plans of the same engines apart; ``told`` is called with the seconds of a run.
    ``owns_results`` holds when every result is an array of its own that a launch makes.
    """

    expr: Expr
    normal: Expr
    program: Program
    selection: Selection
    steps: tuple[PlanStep, ...]
    results: tuple[int, ...]
    constants: tuple[tuple[int, Constant], ...]
    count: int
    workers: int
    seconds: float = field(compare=False, default=0.0)
    rivals: tuple[Plan, ...] = field(compare=False, repr=False, default=())
    measured: tuple[Lap, ...] = field(compare=False, default=())
    owns_results: bool = field(compare=False, default=False)
    is_open: bool = field(compare=False, default=False)
    variant: str = ""
    told: Callable[[float], None] | None = field(compare=False, repr=False, default=None)

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(s.launch for s in self.steps)

    @property
    def engines(self) -> str:
        """The engines of the launches in order, and what is special."""
        names = " > ".join(launch.engine for launch in self.launches) or "nothing to do"
        return f"{names}, {self.variant}" if self.variant else names

    @property
    def outputs(self) -> tuple[Node, ...]:
        return self.expr.outputs

    @property
    def intermediate_bytes(self) -> int:
        """Bytes of the values that pass between launches."""
        results = set(self.results)
        sizes = {
            number: node.nbytes
            for s in self.steps
            for number, node in zip(s.outputs, s.launch.problem.outputs, strict=True)
        }
        return sum(n for number, n in sizes.items() if number not in results)

    @property
    def source(self) -> str:
        """The generated text of every launch."""
        return "\n".join(
            f"# {i}: {s.launch.engine}\n{s.launch.source}" for i, s in enumerate(self.steps, 1)
        )


def output_specs(plan: Plan) -> tuple[tuple[tuple[int, ...], np.dtype], ...]:
    """Shape and dtype of every result."""
    return tuple((o.shape, o.dtype) for o in plan.outputs)
