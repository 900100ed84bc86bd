"""The statements of a Stockham FFT, in phases that a barrier separates."""

from __future__ import annotations

from dataclasses import dataclass

from .body import Body, Complex
from .codelets import dft
from .shape import BlockFFT
from .stage import Stage
from .twiddles import table_starts, twiddle_table

__all__ = ["phases", "twiddle_table"]


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
    >>> [len(lines) for lines in phases(BlockFFT(2, 2, (2,)), -1)]
    [9]
    """
    text = _Text(fft, sign, registers, shared, twiddle)
    done: list[list[str]] = []
    current = ["const unsigned u_ = t;"]
    for number, stage in enumerate(fft.stages):
        current += text.compute(number)
        last = number == len(fft.stages) - 1
        if not last or fft.reorders:
            reader = Stage(fft.length, fft.threads, 1, 1) if last else fft.stages[number + 1]
            parts = (".re", ".im") if fft.split else ("",)
            for part in parts:
                if number or part == ".im":
                    done.append(current)
                    current = ["const unsigned u_ = t;"]
                current += text.write(stage, part)
                done.append(current)
                current = ["const unsigned u_ = t;", *text.read(reader, part)]
    return [*done, current]


@dataclass(frozen=True, slots=True)
class _Base:
    """The index of an element: a name, what it is a multiple of, and a constant."""

    name: str
    multiple: int
    constant: int
    definition: str | None


@dataclass(frozen=True, slots=True)
class _Text:
    fft: BlockFFT
    sign: int
    registers: str
    shared: str
    twiddle: str

    @property
    def type(self) -> str:
        return "double" if self.fft.double else "float"

    def register(self, stage: Stage, slot: int, position: int) -> str:
        return f"{self.registers}[{slot + position * stage.slots}]"

    def compute(self, number: int) -> list[str]:
        """DFTs from registers to registers."""
        stage = self.fft.stages[number]
        body = Body(self.fft.double)
        twiddles: dict[str, list[Complex]] = {}
        for slot in range(stage.slots):
            names = [self.register(stage, slot, q) for q in range(stage.radix)]
            values = [Complex.named(name) for name in names]
            partial = stage.is_partial(slot)
            body.lines += self._guard(stage, slot) if partial else []
            if stage.stride > 1:
                index = _twiddle_index(stage, slot)
                if index not in twiddles:
                    found = self._twiddles(body, number, index)
                    if not partial:
                        twiddles[index] = found
                else:
                    found = twiddles[index]
                pairs = zip(values[1:], found, strict=True)
                values = [values[0], *(body.multiply(value, w) for value, w in pairs)]
            for name, value in zip(names, dft(body, values, self.sign), strict=True):
                body.lines.append(f"{name}.re = {value.re}; {name}.im = {value.im};")
            body.lines += ["}"] if partial else []
        return body.lines

    def _twiddles(self, body: Body, number: int, index: str) -> list[Complex]:
        """Powers 1 to radix - 1 of a twiddle."""
        stage = self.fft.stages[number]
        start = table_starts(self.fft)[number]
        powers: dict[int, Complex] = {}
        for place, power in enumerate(stage.powers):
            at = start + place * stage.stride
            value = body.complex_of(f"READ_ONLY({self.twiddle} + ({index} + {at}u))")
            powers[power] = value.conjugate() if self.sign > 0 else value
        for power in range(1, stage.radix):
            if power not in powers:
                high = 1 << (power.bit_length() - 1)
                powers[power] = body.multiply(powers[high], powers[power - high])
        return [powers[power] for power in range(1, stage.radix)]

    def write(self, stage: Stage, part: str) -> list[str]:
        """Registers of a stage to shared memory."""
        return self._move(stage, part, write=True)

    def read(self, stage: Stage, part: str) -> list[str]:
        """Shared memory to registers of a stage."""
        return self._move(stage, part, write=False)

    def _move(self, stage: Stage, part: str, write: bool) -> list[str]:
        lines: list[str] = []
        step = stage.stride if write else stage.count
        memory = self.shared if part else f"((complex_t<{self.type}>*)({self.shared}))"
        for slot in range(stage.slots):
            base = _write_base(stage, slot) if write else _read_base(stage, slot)
            if base.definition is not None and base.definition not in lines:
                lines.append(base.definition)
                if self.fft.padding.shift:
                    name = base.name[:-1]
                    lines.append(
                        f"const unsigned {name}p_ = {name}_ + ({name}_ >> {self.fft.padding.shift});"
                    )
            partial = stage.is_partial(slot)
            lines += self._guard(stage, slot) if partial else []
            for position in range(stage.radix):
                place = self.fft.padding.address(
                    base.name, base.constant + position * step, base.multiple
                )
                register = self.register(stage, slot, position) + part
                target = f"{memory}[{place}]"
                lines.append(f"{target} = {register};" if write else f"{register} = {target};")
            lines += ["}"] if partial else []
        return lines

    @staticmethod
    def _guard(stage: Stage, slot: int) -> list[str]:
        return [f"if (u_ < {stage.count - slot * stage.threads}u) {{"]


def _read_base(stage: Stage, slot: int) -> _Base:
    return _Base("e_", 1, slot * stage.threads, "const unsigned e_ = u_;")


def _write_base(stage: Stage, slot: int) -> _Base:
    threads, stride, radix = stage.threads, stage.stride, stage.radix
    first = slot * threads
    if stride >= stage.count or (stride % threads == 0):
        block, within = divmod(first, stride)
        return _Base("d_", 1, block * stride * radix + within, "const unsigned d_ = u_;")
    if threads % stride == 0:
        text = f"u_ / {stride}u * {stride * radix}u + u_ % {stride}u" if stride > 1 else ""
        text = text or f"u_ * {radix}u"
        multiple = radix if stride == 1 else 1
        return _Base("d_", multiple, first * radix, f"const unsigned d_ = {text};")
    j = f"(u_ + {first}u)"
    text = f"{j} / {stride}u * {stride * radix}u + {j} % {stride}u"
    return _Base(f"d{slot}_", 1, 0, f"const unsigned d{slot}_ = {text};")


def _twiddle_index(stage: Stage, slot: int) -> str:
    """The number of a DFT within its stride, as text."""
    threads, stride, first = stage.threads, stage.stride, slot * stage.threads
    if stride >= stage.count:
        return f"u_ + {first}u"
    if threads % stride == 0:
        return f"u_ % {stride}u"
    if stride % threads == 0:
        return f"u_ + {first % stride}u"
    return f"(u_ + {first}u) % {stride}u"
