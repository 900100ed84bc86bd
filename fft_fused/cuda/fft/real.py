"""Real transforms: half a spectrum from a complex FFT of half the length, and back.

An even length n is transformed as n / 2 complex values, each two neighbouring samples. Bin k of
the half spectrum and bin n / 2 - k then come from the same two values of the complex FFT. They
meet in one thread either because the last stage (the first, for c2r) does DFTs of mirrored
numbers side by side, which costs nothing, or by one more trip through shared memory. An odd
length is transformed as so many complex values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .bluestein import Bluestein, bluestein_shapes, bluestein_steps, bluestein_table
from .chain import Memory, Names, Step, phases_of
from .padding import Exchanges, Padding, padding_of
from .shape import BlockFFT, cost, shapes
from .spectrum import bins_of, hermitian, untangled
from .stage import Element, MirroredStage, Pairs, Stage, in_order
from .stockham import block_steps
from .twiddles import roots, twiddle_table


@dataclass(frozen=True, slots=True)
class RealFFT:
    """A real FFT (``inverse``: from half a spectrum to real values) by threads of one block.

    The real side: of an even length, register i of thread t holds samples 2j and 2j + 1 with
    j = t + i * threads; of an odd length, sample t + i * threads, and 0 as imaginary part:
    ``samples`` lists the j. The half spectrum is where ``bins`` says.

    Attributes
    ----------
    length : int
        Real samples.
    block : BlockFFT
        The complex FFT inside, of half an even length.
    inverse : bool
        c2r rather than r2c.
    mirrored : bool
        Bins and their mirrors meet by the order of DFTs, not by a trip through shared memory.

    Examples
    --------
    >>> fft = RealFFT(4096, BlockFFT(2048, 16, (16, 16, 8)), mirrored=True)
    >>> fft.threads, fft.registers, len(fft.exchanges)
    (128, 17, 2)
    >>> fft.bins[1].index, fft.bins[9].index
    ('t + 256', '(t ? 256 - t : 128) + 256')
    """

    length: int
    block: BlockFFT | Bluestein
    inverse: bool = False
    mirrored: bool = False

    @property
    def packed(self) -> bool:
        """Does a complex value hold two samples?"""
        return self.length % 2 == 0

    @property
    def threads(self) -> int:
        """Threads of one FFT."""
        return self.block.threads

    @property
    def spectrum(self) -> Stage:
        """How the half spectrum lies in registers."""
        if self.mirrored and isinstance(self.block, BlockFFT):
            stage = self.block.stages[0 if self.inverse else -1]
            return MirroredStage(stage.length, stage.threads, stage.radix, stage.stride)
        if self.packed or self.inverse:
            return Pairs(self.block.length, self.threads)
        return self.block.end

    @property
    def layouts(self) -> tuple[Stage, ...]:
        """Of a mirrored one, where elements are between trips through shared memory."""
        inner = self.block.layouts if isinstance(self.block, BlockFFT) else ()
        return (self.spectrum, *inner[1:]) if self.inverse else (*inner[:-1], self.spectrum)

    @property
    def exchanges(self) -> Exchanges:
        """Trips through shared memory: who writes it, and who reads it then."""
        if self.mirrored:
            return tuple(pairwise(self.layouts))
        inner = self.block.exchanges
        if self.inverse:
            return ((self.spectrum, self.block.start), *inner)
        return (*inner, (self.block.end, self.spectrum)) if self.packed else inner

    @property
    def registers(self) -> int:
        """Complex registers of a thread."""
        return max(self.block.registers, self.spectrum.registers + self.mirrored)

    @property
    def unit_bytes(self) -> int:
        """Bytes of what is exchanged at a time."""
        return self.block.unit_bytes

    @property
    def padding(self) -> Padding:
        """Where in shared memory an element goes."""
        return padding_of(self.exchanges, self.block.span, self.unit_bytes)

    @property
    def shared_reals(self) -> int:
        """Reals of shared memory for one FFT."""
        if not self.exchanges:
            return 0
        return self.padding.size(self.block.span) << (not self.block.split)

    @property
    def samples(self) -> tuple[Element, ...]:
        """Where pairs of samples are, or samples of an odd length: before r2c, or after c2r."""
        return in_order(self.block.length, self.threads)

    @property
    def bins(self) -> tuple[Element, ...]:
        """Where the ``length // 2 + 1`` bins are: after r2c, or before c2r."""
        return bins_of(self.spectrum, self.length)


def real_phases(
    fft: RealFFT, registers: str = "x", shared: str = "s", twiddle: str = "tw"
) -> list[list[str]]:
    """Statements of an unscaled real FFT, for one thread: phases as those of ``stockham.phases``.

    r2c has sign -1, c2r has sign +1. c2r ignores the imaginary parts of bin 0 and, of an even
    length, the last bin. ``twiddle`` points to ``real_table(fft)``.

    Examples
    --------
    >>> len(real_phases(RealFFT(4096, BlockFFT(2048, 16, (16, 16, 8)))))
    6
    >>> len(real_phases(RealFFT(4096, BlockFFT(2048, 16, (16, 16, 8)), mirrored=True)))
    4
    """
    names, block = Names(registers, shared, twiddle), fft.block
    memory = Memory(shared, block.double, block.split, fft.padding)
    return phases_of(_steps(fft, names), memory, names)


def real_table(fft: RealFFT) -> np.ndarray:
    """The table of the complex FFT, then ``exp(-2 pi i t / length)`` for each thread t."""
    inner = fft.block
    table = bluestein_table(inner) if isinstance(inner, Bluestein) else twiddle_table(inner)
    own = roots(np.arange(fft.threads if fft.packed else 0), fft.length)
    return np.concatenate([table, own.astype(table.dtype)])


def real_shapes(length: int, inverse: bool, double: bool = False) -> tuple[RealFFT, ...]:
    """Ways to do a real FFT in one block, the best guess first.

    Examples
    --------
    >>> fft = real_shapes(4096, False)[0]
    >>> fft.block.radices, fft.mirrored
    ((16, 16, 8), True)
    """
    inner = length if length % 2 else length // 2
    blocks = shapes(inner, double) or bluestein_shapes(inner, double)
    found = [RealFFT(length, block, inverse) for block in blocks]
    if length % 2 == 0:
        found += [other for fft in found for other in _with_mirrors(fft)]
    return tuple(sorted(found, key=_cost))


def _cost(fft: RealFFT) -> float:
    if isinstance(fft.block, BlockFFT):
        return cost(fft.block) + (fft.packed and not fft.mirrored)
    return cost(fft.block.block) * fft.block.span


def _with_mirrors(fft: RealFFT) -> list[RealFFT]:
    """The shape with mirrored DFTs, if each thread does an even number of them (or all)."""
    block = fft.block
    if not isinstance(block, BlockFFT) or not block.radices:
        return []
    alone = block.radices == (block.elements,) and block.threads == 1
    if not alone and block.elements % (2 * block.radices[-1]):
        return []
    if fft.inverse:
        block = replace(block, radices=block.radices[::-1])
    return [replace(fft, block=block, mirrored=True)]


def _steps(fft: RealFFT, names: Names) -> list[Step]:
    """What threads do between trips through shared memory."""
    sign, block, spectrum = (1 if fft.inverse else -1), fft.block, fft.spectrum
    if isinstance(block, Bluestein):
        inner = bluestein_steps(block, sign, names)
    else:
        inner = block_steps(block, sign, names, fft.layouts if fft.mirrored else block.layouts)
    if not fft.packed and not fft.inverse:
        return inner
    pointer = f"{names.twiddle} + (u_ + {block.twiddles}u)"
    if fft.packed:
        lines = untangled(spectrum, block.double, fft.inverse, pointer, names)
    else:
        lines = hermitian(spectrum, names)
    step = Step(spectrum, tuple(lines), spectrum)
    if fft.inverse:
        return [step.then(inner[0]), *inner[1:]] if fft.mirrored else [step, *inner]
    return [*inner[:-1], inner[-1].then(step)] if fft.mirrored else [*inner, step]
