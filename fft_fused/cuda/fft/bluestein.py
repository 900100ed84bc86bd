"""FFTs of any length in one block: Bluestein's convolution with a chirp, by a longer FFT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...runtime.cache import remembered
from .body import Body, Complex
from .chain import Memory, Names, Step, phases_of
from .padding import Exchanges, Padding
from .shape import BlockFFT, best, cost
from .stage import Element, Stage, in_order
from .stockham import block_steps
from .twiddles import roots, twiddle_table

_SMALL_FACTORS = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class Bluestein:
    """A complex FFT of any length by two of ``block``, at least twice as long less one.

    Thread t holds element ``t + i * threads`` in register i, before and after, as ``places``
    lists them; the other registers need not be set.

    Examples
    --------
    >>> fft = Bluestein(37, BlockFFT(128, 16, (16, 8)))
    >>> fft.threads, fft.elements, fft.registers, fft.places[-1]
    (8, 5, 16, Element(register=4, index='t + 32', guard='t < 5'))
    """

    length: int
    block: BlockFFT

    def __post_init__(self) -> None:
        if self.block.length < 2 * self.length - 1:
            raise ValueError(f"{self.block.length} points are too few for length {self.length}")

    @property
    def double(self) -> bool:
        return self.block.double

    @property
    def split(self) -> bool:
        return self.block.split

    @property
    def threads(self) -> int:
        """Threads of one FFT."""
        return self.block.threads

    @property
    def elements(self) -> int:
        """Elements of the busiest thread."""
        return self.start.slots

    @property
    def registers(self) -> int:
        """Complex registers of a thread."""
        return self.block.registers

    @property
    def places(self) -> tuple[Element, ...]:
        """What each register holds, before and after."""
        return in_order(self.length, self.threads)

    @property
    def start(self) -> Stage:
        """Elements as they are before."""
        return Stage(self.length, self.threads)

    @property
    def end(self) -> Stage:
        """Elements as they are after."""
        return self.start

    @property
    def exchanges(self) -> Exchanges:
        """Trips through shared memory: who writes it, and who reads it then."""
        return self.block.exchanges * 2

    @property
    def span(self) -> int:
        """Elements in shared memory."""
        return self.block.span

    @property
    def unit_bytes(self) -> int:
        """Bytes of what is exchanged at a time."""
        return self.block.unit_bytes

    @property
    def padding(self) -> Padding:
        """Where in shared memory an element goes."""
        return self.block.padding

    @property
    def shared_reals(self) -> int:
        """Reals of shared memory for one FFT."""
        return self.block.shared_reals

    @property
    def twiddles(self) -> int:
        """Complex numbers in the table."""
        return self.block.twiddles + self.length + self.block.length


def bluestein_phases(
    fft: Bluestein, sign: int, registers: str = "x", shared: str = "s", twiddle: str = "tw"
) -> list[list[str]]:
    """Statements of an unscaled FFT, for one thread: phases as those of ``stockham.phases``.

    ``twiddle`` points to ``bluestein_table(fft)``.

    Examples
    --------
    >>> len(bluestein_phases(Bluestein(37, BlockFFT(128, 16, (16, 8))), -1))
    4
    """
    names = Names(registers, shared, twiddle)
    memory = Memory(shared, fft.double, fft.split, fft.padding)
    return phases_of(bluestein_steps(fft, sign, names), memory, names)


def bluestein_steps(fft: Bluestein, sign: int, names: Names) -> list[Step]:
    """Times the chirp, FFT, times the other chirp's transform, inverse FFT, times the chirp."""
    block = fft.block
    forward, backward = (block_steps(block, s, names, block.layouts) for s in (-1, 1))
    chirp = f"{names.twiddle} + ({block.twiddles}u"
    spectrum = f"{names.twiddle} + ({block.twiddles + fft.length}u"
    apply = Step(fft.start, _times(fft.places, chirp, fft.double, sign, names), fft.start)
    clear = Step(fft.start, _cleared(fft, names), fft.start)
    filtered = _times(block.places, spectrum, fft.double, sign, names)
    middle = forward[-1].then(Step(block.order, filtered, block.order)).then(backward[0])
    return [
        clear.then(apply).then(forward[0]),
        *forward[1:-1],
        middle,
        *backward[1:-1],
        backward[-1].then(apply),
    ]


def bluestein_table(fft: Bluestein) -> np.ndarray:
    """Twiddles of the block's FFT, the chirp, and the transform of its conjugate, scaled.

    Examples
    --------
    >>> bluestein_table(Bluestein(37, BlockFFT(128, 16, (16, 8)))).size
    213
    """
    length, span = fft.length, fft.block.length
    chirp = roots(np.arange(length) ** 2, 2 * length)
    kernel = np.zeros(span, np.clongdouble)
    kernel[:length] = chirp.conj()
    kernel[span - length + 1 :] = chirp[1:].conj()[::-1]
    table = twiddle_table(fft.block)
    parts = [table, chirp, np.fft.fft(kernel) / span]
    return np.concatenate([part.astype(table.dtype) for part in parts])


@remembered(256)
def bluestein_shapes(length: int, double: bool = False) -> tuple[Bluestein, ...]:
    """Ways to do an FFT of any length in one block, the best guess first.

    Examples
    --------
    >>> [fft.block.length for fft in bluestein_shapes(1009)]
    [2048, 2560, 3072]
    """
    found = []
    for factor in _SMALL_FACTORS:
        doublings = (-(-(2 * length - 1) // factor) - 1).bit_length()
        block = best(factor << doublings, double)
        if block is not None and len(block.radices) > 1:
            found.append(Bluestein(length, block))
    return tuple(sorted(found, key=lambda fft: cost(fft.block) * fft.block.length))


def _times(
    places: tuple[Element, ...], pointer: str, double: bool, sign: int, names: Names
) -> tuple[str, ...]:
    """Registers times entries of a table; its conjugate for the inverse."""
    body = Body(double)
    for place in places:
        body.lines += [f"if ({place.guard}) {{"] if place.guard else []
        value = body.complex_of(f"READ_ONLY({pointer} + {place.index}))")
        factor = value if sign < 0 else value.conjugate()
        name = names.register(place.register)
        body.assign(name, body.multiply(Complex.named(name), factor))
        body.lines += ["}"] if place.guard else []
    return ("{", *body.lines, "}")


def _cleared(fft: Bluestein, names: Names) -> tuple[str, ...]:
    """Zeros behind the elements."""
    lines = []
    for place in fft.block.places:
        left = fft.length - place.register * fft.threads
        if left < fft.threads:
            name = names.register(place.register)
            guard = f"if (t >= {left}) " if left > 0 else ""
            lines.append(f"{guard}{{ {name}.re = 0; {name}.im = 0; }}")
    return tuple(lines)
