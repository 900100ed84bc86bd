"""How one block of threads shares out an FFT: elements a thread, radices, shared memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ...runtime.cache import remembered
from .padding import Exchanges, Padding, padding_of
from .stage import Element, Stage, in_order

LARGEST_PRIME = 31
_LARGEST_RADIX = 32
_MOST_THREADS = 1024
SHARED_BYTES = 227 * 1024  # the most of a block
_OTHER_REGISTERS = 26
_WORDS = 64
_CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class BlockFFT:
    """A complex FFT by ``threads`` threads, registers and shared memory.

    Thread t holds element ``t + i * threads`` in register i, before and after.

    Attributes
    ----------
    length, elements : int
        Points of the FFT, and how many of them each thread holds.
    radices : tuple of int
        Their product is the length; the first divides ``elements``.
    double : bool
        Of complex128 rather than complex64 values.
    split : bool
        Real and imaginary parts are exchanged one after the other, through half the memory.

    Examples
    --------
    >>> fft = BlockFFT(4096, 16, (16, 16, 16))
    >>> fft.threads, fft.shared_reals, fft.twiddles
    (256, 8702, 1088)
    """

    length: int
    elements: int
    radices: tuple[int, ...]
    double: bool = False
    split: bool = False

    def __post_init__(self) -> None:
        if math.prod(self.radices) != self.length:
            raise ValueError(f"radices {self.radices} do not make {self.length}")
        if self.length % self.elements:
            raise ValueError(f"{self.elements} elements a thread do not divide {self.length}")
        if self.radices and self.elements % self.radices[0]:
            raise ValueError(
                f"the first radix, {self.radices[0]}, must divide the {self.elements} elements "
                "a thread"
            )

    @property
    def threads(self) -> int:
        """Threads of one FFT."""
        return self.length // self.elements

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One DFT of each radix, in order."""
        strides = [math.prod(self.radices[:i]) for i in range(len(self.radices))]
        return tuple(
            Stage(self.length, self.threads, radix, stride)
            for radix, stride in zip(self.radices, strides, strict=True)
        )

    @property
    def order(self) -> Stage:
        """Elements where they are before and after."""
        return Stage(self.length, self.threads)

    @property
    def places(self) -> tuple[Element, ...]:
        """What each register holds, before and after."""
        return in_order(self.length, self.threads)

    @property
    def reorders(self) -> bool:
        """Must the result go through shared memory once more to come out in order?"""
        return bool(self.radices) and self.elements % self.radices[-1] != 0

    @property
    def registers(self) -> int:
        """Complex registers a thread needs: more than ``elements`` if a radix does not divide."""
        return max([self.elements, *(stage.registers for stage in self.stages)])

    @property
    def layouts(self) -> tuple[Stage, ...]:
        """Where elements are, between trips through shared memory."""
        in_order = bool(self.radices) and not self.reorders
        return self.stages if in_order else (*self.stages, self.order)

    @property
    def start(self) -> Stage:
        """Elements as the first step has them."""
        return self.layouts[0]

    @property
    def end(self) -> Stage:
        """Elements as the last step leaves them."""
        return self.layouts[-1]

    @property
    def span(self) -> int:
        """Elements in shared memory."""
        return self.length

    @property
    def exchanges(self) -> Exchanges:
        """Trips through shared memory: who writes it, and who reads it then."""
        return tuple(pairwise(self.layouts))

    @property
    def real_bytes(self) -> int:
        """Bytes of a real."""
        return 8 if self.double else 4

    @property
    def unit_bytes(self) -> int:
        """Bytes of what is exchanged at a time."""
        return self.real_bytes << (not self.split)

    @property
    def padding(self) -> Padding:
        """Where in shared memory an element goes."""
        return padding_of(self.exchanges, self.length, self.unit_bytes)

    @property
    def shared_reals(self) -> int:
        """Reals of shared memory for one FFT."""
        if not self.exchanges:
            return 0
        return self.padding.size(self.length) << (not self.split)

    @property
    def twiddles(self) -> int:
        """Complex numbers in the table of twiddles."""
        return sum(stage.stride * len(stage.powers) for stage in self.stages)


def best(length: int, double: bool = False) -> BlockFFT | None:
    """The first of ``shapes``; None where there is none.

    Examples
    --------
    >>> best(4096).radices, best(37)
    ((16, 16, 16), None)
    """
    return next(iter(shapes(length, double)), None)


@remembered(512)
def shapes(length: int, double: bool = False) -> tuple[BlockFFT, ...]:
    """Ways to do an FFT in one block, the best guess first; none for a prime factor above 31.

    Examples
    --------
    >>> [(fft.elements, fft.radices) for fft in shapes(8192)[:2]]
    [(32, (32, 32, 8)), (16, (16, 32, 16))]
    """
    if length == 1:
        return (BlockFFT(1, 1, (), double),)
    found = []
    for radices in _factorizations(length):
        for elements in range(radices[-1], _most_elements(double) + 1):
            threads = length // elements
            if length % elements or threads > _MOST_THREADS:
                continue
            ordered = _ordered(radices, elements)
            if ordered is not None:
                fft = BlockFFT(length, elements, ordered, double)
                if _words(fft.registers, double) + _OTHER_REGISTERS <= _most_registers(threads):
                    found.append(fft)
    found.sort(key=cost)
    fitting = [_fitting(fft) for fft in _distinct(found)]
    return tuple(fft for fft in fitting if fft is not None)


def _most_elements(double: bool) -> int:
    return 2 * _WORDS // _words(1, double)


def _most_registers(threads: int) -> int:
    """What a thread can have of a multiprocessor, whose four parts share out whole warps."""
    warps_a_part = -(-threads // 128)
    return min(255, 512 // warps_a_part // 8 * 8)


def _distinct(found: list[BlockFFT]) -> list[BlockFFT]:
    """The best of each number of elements, a few of them."""
    firsts: dict[int, BlockFFT] = {}
    for fft in found:
        firsts.setdefault(fft.elements, fft)
    return list(firsts.values())[:_CANDIDATES]


def _fitting(fft: BlockFFT) -> BlockFFT | None:
    """The shape, split if it must be, that fits in shared memory."""
    for split in (False, True):
        trial = replace(fft, split=split)
        most = trial.length * trial.unit_bytes * 5 // 4
        if most <= SHARED_BYTES or trial.shared_reals * trial.real_bytes <= SHARED_BYTES:
            return trial
    return None


@remembered(512)
def _factorizations(length: int, largest: int = _LARGEST_RADIX) -> list[tuple[int, ...]]:
    """Products of radices, largest first, with at most one radix more than need be."""
    found = list(_products(length, largest))
    fewest = min((len(radices) for radices in found), default=0)
    return [radices for radices in found if len(radices) <= fewest + 1]


def _products(length: int, largest: int) -> Iterator[tuple[int, ...]]:
    if length == 1:
        yield ()
    for radix in range(min(largest, length), 1, -1):
        if length % radix == 0:
            for rest in _products(length // radix, radix):
                yield (radix, *rest)


def _ordered(radices: tuple[int, ...], elements: int) -> tuple[int, ...] | None:
    """The first and, if possible, the last divide the elements a thread; large ones first."""
    whole = [radix for radix in radices if elements % radix == 0]
    if not whole:
        return None
    rest = list(radices)
    rest.remove(whole[0])
    last = whole[1:][-1:]
    for radix in last:
        rest.remove(radix)
    return (whole[0], *rest, *last)


def cost(fft: BlockFFT) -> float:
    """Time an element, in trips through shared memory: a guess that sorts candidates."""
    work = 0.0
    for stage in fft.stages:
        share = stage.slots * fft.threads / stage.count
        work += share * (0.2 + 0.03 * _prime_sum(stage.radix))
    uncoalesced = 0.4 * max(0.0, math.log2(16 / fft.threads)) + 1.5 * (fft.threads < 4)
    size, room = math.log2(fft.elements / 16), math.log2(_WORDS / _words(fft.elements, fft.double))
    return len(fft.exchanges) + work + uncoalesced + 0.3 * abs(size) - min(0.0, room)


def _words(elements: int, double: bool) -> int:
    """Registers of 32 bits for complex values."""
    return elements * (4 if double else 2)


def _prime_sum(number: int) -> int:
    total, prime = 0, 2
    while number > 1:
        while number % prime == 0:
            total, number = total + prime, number // prime
        prime += 1
    return total
