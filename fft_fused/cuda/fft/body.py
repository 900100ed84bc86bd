"""Straight-line C++: real and complex values by name, signs carried along instead of printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, slots=True)
class Real:
    """A named real value, or its negative: a sign costs no statement."""

    name: str
    negative: bool = False

    def __neg__(self) -> Real:
        return Real(self.name, not self.negative)

    def __str__(self) -> str:
        return f"-{self.name}" if self.negative else self.name


@dataclass(frozen=True, slots=True)
class Complex:
    """Two named real values."""

    re: Real
    im: Real

    @staticmethod
    def named(name: str) -> Complex:
        """The parts of a C++ variable of type ``complex_t``."""
        return Complex(Real(f"{name}.re"), Real(f"{name}.im"))

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    def times_i(self) -> Complex:
        return Complex(-self.im, self.re)


@dataclass(slots=True)
class Body:
    """Statements so far, each defining one new name (ending in an underscore)."""

    double: bool
    lines: list[str] = field(default_factory=list)
    count: int = 0

    @property
    def type(self) -> str:
        """The C++ type of a real."""
        return "double" if self.double else "float"

    def number(self, value: float) -> str:
        """A constant of that type."""
        return repr(float(value)) if self.double else f"{np.float32(value)!s}f"

    def let(self, text: str) -> Real:
        self.count += 1
        self.lines.append(f"const {self.type} v{self.count}_ = {text};")
        return Real(f"v{self.count}_")

    def complex_of(self, text: str) -> Complex:
        """A new complex value from an expression of type ``complex_t``."""
        self.count += 1
        self.lines.append(f"const complex_t<{self.type}> z{self.count}_ = {text};")
        return Complex.named(f"z{self.count}_")

    def assign(self, name: str, value: Complex) -> None:
        """Set a C++ variable of type ``complex_t``."""
        self.lines.append(f"{name}.re = {value.re}; {name}.im = {value.im};")

    def add_reals(self, a: Real, b: Real) -> Real:
        if a.negative and b.negative:
            return -self.let(f"{a.name} + {b.name}")
        if a.negative:
            return self.let(f"{b.name} - {a.name}")
        return self.let(f"{a.name} {'-' if b.negative else '+'} {b.name}")

    def add(self, a: Complex, b: Complex) -> Complex:
        return Complex(self.add_reals(a.re, b.re), self.add_reals(a.im, b.im))

    def subtract(self, a: Complex, b: Complex) -> Complex:
        return self.add(a, -b)

    def scale(self, a: Complex, factor: float) -> Complex:
        return Complex(*(self.let(self._term(factor, part)) for part in (a.re, a.im)))

    def weighted(self, start: Complex | None, terms: list[tuple[float, Complex]]) -> Complex:
        """start + sum of real factors times values, as a chain of multiply-adds."""
        parts = []
        for part in ("re", "im"):
            texts = [] if start is None else [str(getattr(start, part))]
            texts += [self._term(factor, getattr(value, part)) for factor, value in terms]
            parts.append(self.let(" + ".join(texts).replace("+ -", "- ")))
        return Complex(*parts)

    def multiply(self, a: Complex, b: Complex) -> Complex:
        ar, ai, br, bi = a.re, a.im, b.re, b.im
        re = self._two_products((ar, br), (-ai, bi))
        im = self._two_products((ar, bi), (ai, br))
        return Complex(re, im)

    def rotate(self, a: Complex, turns: int, of: int) -> Complex:
        """``a * exp(2 pi i turns / of)``; multiples of an eighth turn are cheap."""
        turns %= of
        if turns == 0:
            return a
        if turns * 4 >= of:
            return self.rotate(a.times_i(), turns * 4 - of, of * 4)
        cosine, sine = turn(turns, of)
        if turns * 8 == of:
            return self.scale(
                Complex(self.add_reals(a.re, -a.im), self.add_reals(a.re, a.im)), cosine
            )
        re = self.let(
            f"{self._term(cosine, a.re)} + {self._term(-sine, a.im)}".replace("+ -", "- ")
        )
        im = self.let(f"{self._term(sine, a.re)} + {self._term(cosine, a.im)}".replace("+ -", "- "))
        return Complex(re, im)

    def _term(self, factor: float, value: Real) -> str:
        return f"{self.number(-factor if value.negative else factor)} * {value.name}"

    def _two_products(self, first: tuple[Real, Real], second: tuple[Real, Real]) -> Real:
        (a, b), (c, d) = first, second
        negative = [x.negative != y.negative for x, y in (first, second)]
        if negative[0] and negative[1]:
            return -self.let(f"{a.name} * {b.name} + {c.name} * {d.name}")
        if negative[0]:
            return self.let(f"{c.name} * {d.name} - {a.name} * {b.name}")
        return self.let(f"{a.name} * {b.name} {'-' if negative[1] else '+'} {c.name} * {d.name}")


@lru_cache(4096)
def turn(part: int, of: int) -> tuple[float, float]:
    """Cosine and sine of ``2 pi part / of``, correct to the last bit or nearly so.

    Examples
    --------
    >>> turn(1, 4)
    (0.0, 1.0)
    """
    part %= of
    if 2 * part > of:
        cosine, sine = turn(of - part, of)
        return cosine, -sine
    if 4 * part > of:
        cosine, sine = turn(of - 2 * part, 2 * of)
        return -cosine, sine
    if 8 * part > of:
        cosine, sine = turn(of - 4 * part, 4 * of)
        return sine, cosine
    angle = 2 * math.pi * part / of
    return math.cos(angle), 0.5 if 12 * part == of else math.sin(angle)
