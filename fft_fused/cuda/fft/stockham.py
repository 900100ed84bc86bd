"""The statements of a Stockham FFT, in phases that a barrier separates."""

from __future__ import annotations

from .body import Body, Complex
from .chain import Memory, Names, Step, phases_of
from .codelets import dft
from .shape import BlockFFT
from .stage import Stage
from .twiddles import table_starts, twiddle_table

__all__ = ["block_steps", "phases", "twiddle_table"]


def phases(
    fft: BlockFFT, sign: int, registers: str = "x", shared: str = "s", twiddle: str = "tw"
) -> list[list[str]]:
    """Statements of an unscaled FFT, for one thread.

    Parameters
    ----------
    fft : BlockFFT
        How threads share the work.
    sign : int
        -1 forward, 1 inverse.
    registers : str
        Text of an array of ``fft.registers`` complex values of the thread, the first
        ``fft.elements`` of them the elements.
    shared : str
        Text of a pointer to ``fft.shared_reals`` reals, aligned to a complex value.
    twiddle : str
        Text of a pointer to ``twiddle_table(fft)`` in global memory.

    Returns
    -------
    list of list of str
        The phases. All threads of the FFT must have done one before any begins the next; and
        the last before shared memory is written again. Each goes in a scope of its own, where
        ``t`` is the thread's number. Names that phases define end in an underscore.

    Examples
    --------
    >>> [len(lines) for lines in phases(BlockFFT(4, 2, (2, 2)), -1)]
    [14, 17]
    """
    names = Names(registers, shared, twiddle)
    memory = Memory(shared, fft.double, fft.split, fft.padding)
    return phases_of(block_steps(fft, sign, names, fft.layouts), memory, names)


def block_steps(fft: BlockFFT, sign: int, names: Names, layouts: tuple[Stage, ...]) -> list[Step]:
    """The steps of an FFT in its own layouts, or in others that do DFTs in another order."""
    steps = []
    for number, layout in enumerate(layouts):
        is_stage = number < len(fft.radices)
        lines = _transform(fft, number, layout, sign, names) if is_stage else []
        steps.append(Step(layout, tuple(lines), layout))
    return steps


def _transform(fft: BlockFFT, number: int, stage: Stage, sign: int, names: Names) -> list[str]:
    """Twiddles and DFTs of a stage, from registers to registers."""
    body = Body(fft.double)
    shared: dict[str, list[Complex]] = {}
    for slot in range(stage.slots):
        guard = stage.guard(slot)
        body.lines += [f"if ({guard}) {{"] if guard else []
        registers = [names.register(stage.register(slot, q)) for q in range(stage.radix)]
        values = [Complex.named(name) for name in registers]
        if stage.stride > 1:
            place = stage.twiddle_place(slot)
            index = f"{place.definition} + {place.offset}u + {table_starts(fft)[number]}u"
            powers = shared.get(index) or _powers(body, stage, f"{names.twiddle} + ({index}", sign)
            shared |= {} if guard else {index: powers}
            pairs = zip(values[1:], powers, strict=True)
            values = [values[0], *(body.multiply(value, w) for value, w in pairs)]
        for name, value in zip(registers, dft(body, values, sign), strict=True):
            body.assign(name, value)
        body.lines += ["}"] if guard else []
    return ["{", *body.lines, "}"]


def _powers(body: Body, stage: Stage, pointer: str, sign: int) -> list[Complex]:
    """Powers 1 to radix - 1 of a twiddle, of which the table has a few."""
    powers: dict[int, Complex] = {}
    for place, power in enumerate(stage.powers):
        value = body.complex_of(f"READ_ONLY({pointer} + {place * stage.stride}u))")
        powers[power] = value.conjugate() if sign > 0 else value
    for power in range(1, stage.radix):
        if power not in powers:
            high = 1 << (power.bit_length() - 1)
            powers[power] = body.multiply(powers[high], powers[power - high])
    return [powers[power] for power in range(1, stage.radix)]
