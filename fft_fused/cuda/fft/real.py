"""Real transforms: half a spectrum from a complex FFT of half the length, and back.

An even length n is transformed as n / 2 complex values, each two neighbouring samples. Bin k of
the half spectrum and bin n / 2 - k then come from the same two values of the complex FFT. They
meet in one thread either because the last stage (the first, for c2r) does DFTs of mirrored
numbers side by side, which costs nothing, or by one more trip through shared memory. An odd
length is transformed as so many complex values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .chain import Memory, Names, Step, phases_of
from .padding import Exchanges, Padding, padding_of
from .shape import BlockFFT, cost, shapes
from .spectrum import Bin, bins_of, hermitian, untangled
from .stage import MirroredStage, Pairs, Stage
from .stockham import block_steps
from .twiddles import roots, twiddle_table


@dataclass(frozen=True, slots=True)
class RealFFT:
    """A real FFT (``inverse``: from half a spectrum to real values) by threads of one block.

    The real side: of an even length, register i of thread t holds samples 2j and 2j + 1 with
    j = t + i * threads; of an odd length, sample t + i * threads, and 0 as imaginary part. Both
    are for i < ``block.elements``. The half spectrum is where ``bins`` says.

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
    >>> fft.bins[2], fft.bins[16]
    (Bin(register=2, index='t + 256', guard=''), Bin(register=16, index='2048', guard='t == 0'))
    """

    length: int
    block: BlockFFT
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
        if self.mirrored:
            stage = self.block.stages[0 if self.inverse else -1]
            return MirroredStage(stage.length, stage.threads, stage.radix, stage.stride)
        if self.packed or self.inverse:
            return Pairs(self.block.length, self.threads)
        return self.block.order

    @property
    def layouts(self) -> tuple[Stage, ...]:
        """Where elements are, between trips through shared memory."""
        inner = self.block.layouts
        if self.mirrored:
            inner = inner[1:] if self.inverse else inner[:-1]
        elif not self.packed and not self.inverse:
            return inner
        return (self.spectrum, *inner) if self.inverse else (*inner, self.spectrum)

    @property
    def exchanges(self) -> Exchanges:
        """Trips through shared memory: who writes it, and who reads it then."""
        return tuple(pairwise(self.layouts))

    @property
    def registers(self) -> int:
        """Complex registers of a thread."""
        return max(self.block.registers, self.spectrum.registers + self.mirrored)

    @property
    def padding(self) -> Padding:
        """Where in shared memory an element goes."""
        return padding_of(self.exchanges, self.block.length, self.block.unit_bytes)

    @property
    def shared_reals(self) -> int:
        """Reals of shared memory for one FFT."""
        if not self.exchanges:
            return 0
        return self.padding.size(self.block.length) << (not self.block.split)

    @property
    def bins(self) -> tuple[Bin, ...]:
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
    """Twiddles of the complex FFT, then ``exp(-2 pi i t / length)`` for each thread t."""
    table = twiddle_table(fft.block)
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
    if length % 2:
        return tuple(RealFFT(length, block, inverse) for block in shapes(length, double))
    found = []
    for block in shapes(length // 2, double):
        found += [RealFFT(length, block, inverse), *_mirrored(length, block, inverse)]
    return tuple(sorted(found, key=lambda fft: cost(fft.block) + (not fft.mirrored)))


def _mirrored(length: int, block: BlockFFT, inverse: bool) -> list[RealFFT]:
    """The shape with mirrored DFTs, if there are as many as threads times an even number."""
    alone = block.radices == (block.length,) and block.threads == 1
    if not block.radices or (not alone and block.elements % (2 * block.radices[-1])):
        return []
    radices = block.radices[::-1] if inverse else block.radices
    turned = BlockFFT(block.length, block.elements, radices, block.double, block.split)
    return [RealFFT(length, turned, inverse, mirrored=True)]


def _steps(fft: RealFFT, names: Names) -> list[Step]:
    """What threads do between trips through shared memory."""
    sign, spectrum = (1 if fft.inverse else -1), fft.spectrum
    if fft.packed:
        lines = untangled(spectrum, fft.block, fft.inverse, names)
    else:
        lines = hermitian(spectrum, fft.block.double, names) if fft.inverse else []
    step = Step(spectrum, tuple(lines), spectrum)
    if fft.mirrored:
        inner = block_steps(fft.block, sign, names, fft.layouts)
        if fft.inverse:
            return [step.then(inner[0]), *inner[1:]]
        return [*inner[:-1], inner[-1].then(step)]
    inner = block_steps(fft.block, sign, names, fft.block.layouts)
    return [step, *inner] if fft.inverse else [*inner, step] if fft.packed else inner
