"""Which elements the threads of a stage read and write, as text and as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_POWERS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Place:
    """The index of an element: an unsigned name ending in an underscore, plus a constant.

    ``definition`` is what the name stands for, always a multiple of ``multiple``.
    """

    name: str
    definition: str
    offset: int
    multiple: int = 1

    def moved(self, offset: int) -> Place:
        """The place so many elements further."""
        return Place(self.name, self.definition, self.offset + offset, self.multiple)


@dataclass(frozen=True, slots=True)
class Element:
    """What a thread holds before or after a transform.

    Attributes
    ----------
    register : int
        In which complex register.
    index : str
        Which element, as text of the thread's number ``t``.
    guard : str
        The condition on ``t`` that the thread has it; empty if every thread has.
    """

    register: int
    index: str
    guard: str = ""


def in_order(count: int, threads: int) -> tuple[Element, ...]:
    """``count`` elements, thread t with ``t + i * threads`` in register i.

    Examples
    --------
    >>> in_order(5, 4)[1]
    Element(register=1, index='t + 4', guard='t < 1')
    """
    return tuple(
        Element(register, f"t + {first}", below(count - first, threads))
        for register, first in enumerate(range(0, count, threads))
    )


def below(limit: int, threads: int) -> str:
    """The guard of the threads below a limit."""
    return f"t < {limit}" if limit < threads else ""


@dataclass(frozen=True, slots=True)
class Stage:
    """The DFTs of one radix, dealt out to threads.

    DFT j reads elements ``j + q * count``, and writes ``first + q * stride`` where ``first`` is
    ``j // stride * stride * radix + j % stride``. Thread t does j = t + slot * threads, and
    keeps its value q in register ``slot + q * slots``. ``u_`` is the thread's number in texts.
    """

    length: int
    threads: int
    radix: int = 1
    stride: int = 1

    @property
    def count(self) -> int:
        """DFTs of the stage."""
        return self.length // self.radix

    @property
    def slots(self) -> int:
        """DFTs of the busiest thread."""
        return -(-self.count // self.threads)

    @property
    def registers(self) -> int:
        """Complex values of the busiest thread."""
        return self.slots * self.radix

    @property
    def powers(self) -> tuple[int, ...]:
        """The powers of a twiddle that come from the table; products make the others."""
        return tuple(p for p in _POWERS if p < self.radix) if self.stride > 1 else ()

    def register(self, slot: int, position: int) -> int:
        """The register of a value of a DFT."""
        return slot + position * self.slots

    def guard(self, slot: int) -> str:
        """The condition that a thread has a DFT in the slot; empty if all have."""
        left = self.count - slot * self.threads
        return f"u_ < {left}u" if left < self.threads else ""

    def numbers(self, thread: np.ndarray, slot: int) -> np.ndarray:
        """The DFTs that threads do in a slot; -1 for idle threads."""
        numbers = thread + slot * self.threads
        return np.where(numbers < self.count, numbers, -1)

    def reads(self, thread: np.ndarray, slot: int, position: int) -> np.ndarray:
        """The elements that threads read; -1 for idle threads."""
        numbers = self.numbers(thread, slot)
        return np.where(numbers < 0, -1, numbers + position * self.count)

    def writes(self, thread: np.ndarray, slot: int, position: int) -> np.ndarray:
        """The elements that threads write; -1 for idle threads."""
        numbers = self.numbers(thread, slot)
        block, within = np.divmod(numbers, self.stride)
        first = block * (self.stride * self.radix) + within
        return np.where(numbers < 0, -1, first + position * self.stride)

    def read_place(self, slot: int, position: int) -> Place:
        """The element that a thread reads."""
        return Place("e_", "u_", slot * self.threads + position * self.count)

    def write_place(self, slot: int, position: int) -> Place:
        """The element that a thread writes."""
        threads, stride, radix = self.threads, self.stride, self.radix
        first, offset = slot * threads, position * stride
        if stride == self.count or stride % threads == 0:
            block, within = divmod(first, stride)
            return Place("e_", "u_", block * stride * radix + within + offset)
        if stride == 1:
            return Place("d_", f"u_ * {radix}u", first * radix + offset, radix)
        j = "u_" if threads % stride == 0 else f"(u_ + {first}u)"
        text = f"{j} / {stride}u * {stride * radix}u + {j} % {stride}u"
        if threads % stride == 0:
            return Place("d_", text, first * radix + offset)
        return Place(f"d{slot}_", text, offset)

    def twiddle_place(self, slot: int) -> Place:
        """The number of a thread's DFT within its stride."""
        threads, stride, first = self.threads, self.stride, slot * self.threads
        if stride == self.count:
            return Place("e_", "u_", first)
        if threads % stride == 0:
            return Place("k_", f"u_ % {stride}u", 0)
        if stride % threads == 0:
            return Place("e_", "u_", first % stride)
        return Place(f"k{slot}_", f"(u_ + {first}u) % {stride}u", 0)


@dataclass(frozen=True, slots=True)
class MirroredStage(Stage):
    """A stage whose threads do DFT j and its mirror ``count - j``: a bin and its conjugate's.

    The first half of the slots is as usual, the second half does their mirrors; DFT 0 is its
    own mirror, and its thread does DFT ``count / 2``, the other such, beside it. A stage of one
    DFT is mirrored as it is.
    """

    def __post_init__(self) -> None:
        alone = self.count == 1
        if not alone and (self.slots % 2 or self.slots * self.threads != self.count):
            raise ValueError(f"{self.count} DFTs are not pairs on {self.threads} threads")

    @property
    def half(self) -> int:
        """The slots before the mirrors."""
        return self.slots // 2

    def numbers(self, thread: np.ndarray, slot: int) -> np.ndarray:
        if slot < self.half:
            return thread + slot * self.threads
        mirrored = self.count - thread - (slot - self.half) * self.threads
        return np.where(mirrored == self.count, self.count // 2, mirrored)

    def number_place(self, slot: int) -> Place:
        """The number of a thread's DFT."""
        if slot < self.half:
            return Place("e_", "u_", slot * self.threads)
        if slot == self.half:
            return Place("h_", f"(u_ ? {self.count}u - u_ : {self.count // 2}u)", 0)
        first = self.count - (slot - self.half + 1) * self.threads
        return Place("m_", f"({self.threads}u - u_)", first)

    def read_place(self, slot: int, position: int) -> Place:
        return self.number_place(slot).moved(position * self.count)

    def write_place(self, slot: int, position: int) -> Place:
        """For a first stage: its stride is 1."""
        j = self.number_place(slot)
        text, offset = f"{j.definition} * {self.radix}u", j.offset * self.radix + position
        return Place(f"{j.name[0]}r_", text, offset, self.radix)

    def twiddle_place(self, slot: int) -> Place:
        """For a last stage: all its DFTs are within one stride."""
        return self.number_place(slot)


@dataclass(frozen=True, slots=True)
class Pairs(Stage):
    """Elements k and ``length - k`` beside each other, for k up to half the length.

    Slot by slot, k is t + slot * threads, at position 0; its mirror is at position 1. Element 0
    is its own mirror, and so is the middle of an even length.
    """

    radix: int = 2

    @property
    def count(self) -> int:
        return self.length // 2 + 1

    def reads(self, thread: np.ndarray, slot: int, position: int) -> np.ndarray:
        k = self.numbers(thread, slot)
        return np.where(k < 0, -1, (self.length - k) % self.length if position else k)

    def writes(self, thread: np.ndarray, slot: int, position: int) -> np.ndarray:
        return self.reads(thread, slot, position)

    def read_place(self, slot: int, position: int) -> Place:
        if position == 0:
            return Place("e_", "u_", slot * self.threads)
        if slot == 0:
            return Place("w_", f"(u_ ? {self.length}u - u_ : 0u)", 0)
        first = self.length - (slot + 1) * self.threads
        return Place("m_", f"({self.threads}u - u_)", first)

    def write_place(self, slot: int, position: int) -> Place:
        return self.read_place(slot, position)
