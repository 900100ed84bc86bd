"""Ahead of time: code of plans for named targets, into the disk cache, without a GPU."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..errors import CompileError
from .builds import submit
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Compiled:
    """What was compiled for one plan and its rivals: kernels, targets, seconds."""

    name: str
    kernels: int
    archs: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        what = f"{self.kernels} kernels for {', '.join(self.archs)}"
        return f"{self.name}: {what}, {self.seconds:.1f} s"


@dataclass(slots=True)
class Collected:
    """Targets asked for in a block, and what has been compiled in it."""

    archs: tuple[str, ...]
    done: list[Compiled] = field(default_factory=list)


class _Asked(threading.local):
    def __init__(self) -> None:
        self.blocks: list[Collected] = []


_asked = _Asked()


@contextmanager
def compiling_for(archs: Sequence[str]) -> Iterator[Collected]:
    """Every ``compile`` of a fused function in the block compiles for these targets as well."""
    block = Collected(checked(archs))
    _asked.blocks.append(block)
    try:
        yield block
    finally:
        _asked.blocks.pop()


def checked(archs: Sequence[str]) -> tuple[str, ...]:
    """The targets.

    Raises
    ------
    ValueError
        For one that is not written as ``sm_90``.
    """
    for arch in archs:
        if not re.fullmatch(r"sm_\d{2,3}[a-z]?", str(arch)):
            raise ValueError(f"archs: {arch!r} given, need targets such as 'sm_90'")
    return tuple(dict.fromkeys(archs))


def compile_ahead(plan: Plan, name: str, archs: Sequence[str] = ()) -> None:
    """Compile all kernels of a plan and its rivals for the targets given and those asked for.

    Raises
    ------
    CompileError
        A target that NVRTC does not know, or a source that it refuses.
    """
    blocks = _asked.blocks[-1:]
    wanted = tuple(dict.fromkeys((*checked(archs), *(a for b in blocks for a in b.archs))))
    if not wanted or plan.expr.device == "cpu":
        return
    start = time.perf_counter()
    runs = {id(x.run): x.run for p in (plan, *plan.rivals) for x in p.launches}.values()
    able = [run for run in runs if hasattr(run, "compile_for")]
    builds = [submit(run.compile_for(arch)) for arch in wanted for run in able]
    for build in builds:
        build.wait()
        if isinstance(build.fault, CompileError):
            raise build.fault
        if build.fault is not None:
            raise CompileError(f"{name}: {build.fault}") from build.fault
    count = sum(len(b.tasks) for b in builds) // len(wanted)
    made = Compiled(name, count, wanted, time.perf_counter() - start)
    for block in blocks:
        block.done.append(made)
