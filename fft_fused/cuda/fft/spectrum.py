"""Half spectra in registers: where bins are, and how they come from a complex FFT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .body import Body, Complex
from .chain import Names
from .stage import Element, MirroredStage, Pairs, Stage, below, in_order

Turned = Callable[[Complex], Complex]


def bins_of(layout: Stage, length: int) -> tuple[Element, ...]:
    """The bins of ``length`` real samples in a layout, each bin once."""
    match layout:
        case MirroredStage():
            return (*_mirrored_bins(layout), Element(layout.registers, str(length // 2), "t == 0"))
        case Pairs():
            return _paired_bins(layout, mirrors=length % 2 == 0)
    return in_order(length // 2 + 1, layout.threads)


def _mirrored_bins(layout: MirroredStage) -> tuple[Element, ...]:
    count, found = layout.count, []
    for slot in range(layout.slots):
        for position in range(layout.radix):
            first = position * count
            if slot < layout.half or count == 1:
                text = f"t + {slot * layout.threads + first}"
            elif slot == layout.half:
                text = f"(t ? {count} - t : {count // 2}) + {first}"
            else:
                text = f"{first + count - (slot - layout.half) * layout.threads} - t"
            found.append(Element(layout.register(slot, position), text))
    return tuple(found)


def _paired_bins(layout: Pairs, mirrors: bool) -> tuple[Element, ...]:
    """k, and its mirror if both are bins; the middle of an even length is its own mirror."""
    length, found = layout.length, []
    for slot in range(layout.slots):
        first = slot * layout.threads
        guard = below(layout.count - first, layout.threads)
        found.append(Element(layout.register(slot, 0), f"t + {first}", guard))
        below_middle = (length + 1) // 2 - first
        if mirrors and below_middle > 0:
            guard = below(below_middle, layout.threads)
            found.append(Element(layout.register(slot, 1), f"{length - first} - t", guard))
    return tuple(found)


def hermitian(layout: Stage, names: Names) -> list[str]:
    """The other half of an odd length's spectrum, from the half that ``Pairs`` has."""
    first = names.register(layout.register(0, 0))
    lines = [f"if (u_ == 0) {first}.im = 0;"]
    for slot in range(layout.slots):
        value, mirror = (names.register(layout.register(slot, q)) for q in (0, 1))
        lines.append(f"{mirror}.re = {value}.re; {mirror}.im = -{value}.im;")
    return lines


def untangled(layout: Stage, double: bool, inverse: bool, pointer: str, names: Names) -> list[str]:
    """Bins of an even real length from the complex FFT of half the length, or back.

    With Z that FFT, bin k is ``(Z[k] + conj(Z[m-k])) / 2 - i w (Z[k] - conj(Z[m-k])) / 2`` for
    ``w = exp(-2 pi i k / (2 m))``. ``pointer`` is the text of where the thread's own w is;
    constants turn it further.
    """
    work = _Untangling(Body(double), inverse, names, layout.length, layout.threads)
    if not isinstance(layout, MirroredStage):
        work.pairs(layout, pointer)
    elif layout.count == 1:
        work.own_mirror(layout, 0)
    else:
        work.mirrored(layout, pointer)
    return ["{", *work.body.lines, "}"]


@dataclass(frozen=True, slots=True)
class _Untangling:
    body: Body
    inverse: bool
    names: Names
    length: int
    threads: int

    def pairs(self, layout: Stage, pointer: str) -> None:
        root = self.body.complex_of(f"READ_ONLY({pointer})")
        registers = [
            [self.names.register(layout.register(slot, q)) for q in (0, 1)]
            for slot in range(layout.slots)
        ]
        if self.inverse:
            slot, thread = divmod(layout.length // 2, layout.threads)
            low, high = registers[0]
            self.body.lines.append(f"if (u_ == 0) {{ {low}.im = 0; {high}.im = 0; }}")
            if layout.length % 2 == 0:
                low, high = registers[slot]
                self.body.lines.append(f"if (u_ == {thread}) {high} = {low};")
        for slot, (low, high) in enumerate(registers):
            self._pair(low, high, self._by_root(root, slot))

    def mirrored(self, layout: MirroredStage, pointer: str) -> None:
        root = self.body.complex_of(f"READ_ONLY({pointer})")
        self.body.lines.append("if (u_ == 0) {")
        self.own_mirror(layout, 0)
        self.own_mirror(layout, layout.half)
        self.body.lines.append("} else {")
        self._mirrored_slot(layout, 0, root)
        self.body.lines.append("}")
        for slot in range(1, layout.half):
            self._mirrored_slot(layout, slot, root)

    def _mirrored_slot(self, layout: MirroredStage, slot: int, root: Complex) -> None:
        for position in range(layout.radix):
            low = layout.register(slot, position)
            high = layout.register(slot + layout.half, layout.radix - 1 - position)
            names = self.names.register(low), self.names.register(high)
            self._pair(*names, self._by_root(root, low))

    def own_mirror(self, layout: MirroredStage, slot: int) -> None:
        """DFT 0, or the middle one, whose values are each other's mirrors."""
        radix, start = layout.radix, 1 if slot == 0 else 0
        values = [self.names.register(layout.register(slot, q)) for q in range(radix)]
        if slot == 0:
            self._ends(values[0], self.names.register(layout.registers))
        mirrors = {q: radix - 1 - q + start for q in range(start, radix)}
        for position, mirror in mirrors.items():
            step = position * layout.slots + slot
            if position < mirror:
                self._pair(values[position], values[mirror], self._by_constant(step))
            elif position == mirror:
                value = Complex.named(values[position]).conjugate()
                self.body.assign(
                    values[position], self.body.scale(value, 2.0) if self.inverse else value
                )

    def _ends(self, first: str, last: str) -> None:
        """Bin 0 and the last bin, both real, and element 0 of the complex FFT."""
        body, a = self.body, Complex.named(first)
        other = Complex.named(last).re if self.inverse else a.im
        total, difference = body.add_reals(a.re, other), body.add_reals(a.re, -other)
        if self.inverse:
            body.assign(first, Complex(total, difference))
        else:
            zero = body.let("0")
            body.assign(first, Complex(total, zero))
            body.assign(last, Complex(difference, zero))

    def _pair(self, low: str, high: str, turned: Turned) -> None:
        body = self.body
        a, b = Complex.named(low), Complex.named(high).conjugate()
        even, odd = body.add(a, b), turned(body.subtract(a, b))
        if self.inverse:
            odd = odd.times_i()
        else:
            even, odd = body.scale(even, 0.5), -body.scale(odd, 0.5).times_i()
        sums, differences = body.add(even, odd), body.subtract(even, odd).conjugate()
        body.assign(low, sums)
        body.assign(high, differences)

    def _by_constant(self, step: int) -> Turned:
        part = step * self.threads
        turns = part if self.inverse else -part
        return lambda value: self.body.rotate(value, turns, 2 * self.length)

    def _by_root(self, root: Complex, step: int) -> Turned:
        turned = self.body.rotate(root, -step * self.threads, 2 * self.length)
        factor = turned.conjugate() if self.inverse else turned
        return lambda value: self.body.multiply(value, factor)
