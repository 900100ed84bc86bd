"""Discrete Fourier transforms of a few values, as straight-line C++."""

from __future__ import annotations

import math
from functools import cache

from .body import Body, Complex, turn


def dft(body: Body, values: list[Complex], sign: int) -> list[Complex]:
    """The DFT of values, in natural order.

    Parameters
    ----------
    body : Body
        Where the statements go.
    values : list of Complex
        The inputs; not changed.
    sign : int
        -1 forward, 1 inverse (without the factor ``1 / len(values)``).

    Examples
    --------
    >>> body = Body(double=False)
    >>> a, b = dft(body, [Complex.named("a"), Complex.named("b")], -1)
    >>> print(*body.lines, sep="\\n")
    const float v1_ = a.re + b.re;
    const float v2_ = a.im + b.im;
    const float v3_ = a.re - b.re;
    const float v4_ = a.im - b.im;
    """
    radix = len(values)
    if radix == 1:
        return list(values)
    if radix == 2:
        return [body.add(*values), body.subtract(*values)]
    if radix == 4:
        return _four(body, values, sign)
    if radix == 5:
        return _five(body, values, sign)
    inner = inner_factor(radix)
    if inner == radix:
        return _odd_prime(body, values, sign)
    if math.gcd(inner, radix // inner) == 1:
        return _coprime(body, values, inner, sign)
    return _cooley_tukey(body, values, inner, sign)


@cache
def inner_factor(radix: int) -> int:
    """The factor a DFT is split by: coprime where possible; the radix itself when it is prime.

    Examples
    --------
    >>> [inner_factor(r) for r in (8, 9, 12, 16, 30, 31, 32)]
    [2, 3, 4, 4, 2, 31, 4]
    """
    prime = next(p for p in range(2, radix + 1) if radix % p == 0)
    power = prime
    while radix % (power * prime) == 0:
        power *= prime
    if power < radix:
        return power
    return 4 if radix in (16, 32) else prime


def _four(body: Body, values: list[Complex], sign: int) -> list[Complex]:
    a, b, c, d = values
    even, odd = body.add(a, c), body.add(b, d)
    difference, turned = body.subtract(a, c), body.subtract(b, d).times_i()
    if sign < 0:
        turned = -turned
    return [
        body.add(even, odd),
        body.add(difference, turned),
        body.subtract(even, odd),
        body.subtract(difference, turned),
    ]


def _five(body: Body, values: list[Complex], sign: int) -> list[Complex]:
    """Winograd's sums: the cosines of a fifth and of two fifths of a turn add up to -1/2."""
    a, b, c, d, e = values
    outer, inner = body.add(b, e), body.add(c, d)
    total = body.add(outer, inner)
    middle = body.weighted(a, [(-0.25, total)])
    slope = body.subtract(outer, inner)
    root = math.sqrt(5) / 4
    evens = [body.weighted(middle, [(f, slope)]) for f in (root, -root)]
    differences = [body.subtract(b, e), body.subtract(c, d)]
    s1, s2 = (turn(k, 5)[1] for k in (1, 2))
    odds = [
        body.weighted(None, list(zip(factors, differences, strict=True)))
        for factors in ((s1, s2), (s2, -s1))
    ]
    low, high = _mirrored(body, evens, odds, sign)
    return [body.add(a, total), *low, *high]


def _odd_prime(body: Body, values: list[Complex], sign: int) -> list[Complex]:
    """By the symmetry of cosine and sine: half the multiplications of the definition."""
    radix = len(values)
    half = range(1, radix // 2 + 1)
    sums = [body.add(values[j], values[radix - j]) for j in half]
    differences = [body.subtract(values[j], values[radix - j]) for j in half]
    total = values[0]
    for value in sums:
        total = body.add(total, value)
    evens, odds = [], []
    for k in half:
        turns = [turn(j * k, radix) for j in half]
        evens.append(
            body.weighted(values[0], [(c, s) for (c, _), s in zip(turns, sums, strict=True)])
        )
        odds.append(
            body.weighted(None, [(s, d) for (_, s), d in zip(turns, differences, strict=True)])
        )
    low, high = _mirrored(body, evens, odds, sign)
    return [total, *low, *high]


def _mirrored(
    body: Body, evens: list[Complex], odds: list[Complex], sign: int
) -> tuple[list[Complex], list[Complex]]:
    """Outputs k from 1, then their mirrors in rising order."""
    turned = [odd.times_i() if sign > 0 else -odd.times_i() for odd in odds]
    low = [body.add(even, odd) for even, odd in zip(evens, turned, strict=True)]
    high = [body.subtract(even, odd) for even, odd in zip(evens, turned, strict=True)]
    return low, high[::-1]


def _coprime(body: Body, values: list[Complex], inner: int, sign: int) -> list[Complex]:
    """Good and Thomas: two factors without a common divisor need no twiddles."""
    radix = len(values)
    outer = radix // inner
    rows = [
        dft(body, [values[(outer * i + inner * o) % radix] for i in range(inner)], sign)
        for o in range(outer)
    ]
    columns = [dft(body, [row[k] for row in rows], sign) for k in range(inner)]
    return [columns[k % inner][k % outer] for k in range(radix)]


def _cooley_tukey(body: Body, values: list[Complex], inner: int, sign: int) -> list[Complex]:
    radix = len(values)
    outer = radix // inner
    rows = [
        [
            body.rotate(value, sign * o * k, radix)
            for k, value in enumerate(dft(body, values[o::outer], sign))
        ]
        for o in range(outer)
    ]
    columns = [dft(body, [row[k] for row in rows], sign) for k in range(inner)]
    return [columns[k % inner][k // inner] for k in range(radix)]
