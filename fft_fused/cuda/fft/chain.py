"""Steps of a block's work with trips through shared memory between them, as phases of text."""

from __future__ import annotations

from dataclasses import dataclass

from .padding import Padding
from .stage import Place, Stage


@dataclass(frozen=True, slots=True)
class Names:
    """What a caller calls things: a thread's array, and pointers to shared memory and tables."""

    registers: str = "x"
    shared: str = "s"
    twiddle: str = "tw"

    def register(self, number: int) -> str:
        """One complex register."""
        return f"{self.registers}[{number}]"


@dataclass(frozen=True, slots=True)
class Step:
    """Statements on registers, which ``reads`` fills before and ``writes`` empties after."""

    reads: Stage
    lines: tuple[str, ...]
    writes: Stage

    def then(self, following: Step) -> Step:
        """Both steps in one, for two that agree on where elements sit between them."""
        return Step(self.reads, (*self.lines, *following.lines), following.writes)


@dataclass(frozen=True, slots=True)
class Memory:
    """Shared memory of one FFT: its element type, and how its elements lie."""

    name: str
    double: bool
    split: bool
    padding: Padding

    @property
    def parts(self) -> tuple[str, ...]:
        """What goes through in one trip: both parts of a value, or one after the other."""
        return (".re", ".im") if self.split else ("",)

    def at(self, place: Place) -> str:
        """An element."""
        kind = "double" if self.double else "float"
        array = self.name if self.split else f"((complex_t<{kind}>*)({self.name}))"
        return f"{array}[{self.padding.address(place)}]"


def phases_of(steps: list[Step], memory: Memory, names: Names) -> list[list[str]]:
    """The statements of steps and of the trips between them, cut where a barrier must be."""
    done: list[list[str]] = []
    lines: list[str] = list(steps[0].lines)
    has_read = False
    for step, following in zip(steps[:-1], steps[1:], strict=True):
        for part in memory.parts:
            if has_read:
                done.append(lines)
                lines = []
            done.append([*lines, *_moves(step.writes, part, memory, names, write=True)])
            lines = _moves(following.reads, part, memory, names, write=False)
            has_read = True
        lines += following.lines
    return [[_THREAD, *phase] for phase in (*done, lines)]


_THREAD = "const unsigned u_ = t;"


def _moves(stage: Stage, part: str, memory: Memory, names: Names, write: bool) -> list[str]:
    """Registers to shared memory, or back."""
    definitions: dict[str, None] = {}
    lines: list[str] = []
    for slot in range(stage.slots):
        guard = stage.guard(slot)
        lines += [f"if ({guard}) {{"] if guard else []
        for position in range(stage.radix):
            place = (stage.write_place if write else stage.read_place)(slot, position)
            definitions |= dict.fromkeys(memory.padding.definitions(place))
            sides = [memory.at(place), names.register(stage.register(slot, position)) + part]
            target, source = sides if write else sides[::-1]
            lines.append(f"{target} = {source};")
        lines += ["}"] if guard else []
    return ["{", *definitions, *lines, "}"]
