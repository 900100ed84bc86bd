"""Cosine and sine transforms as Fourier transforms of extended sequences.

The definitions are those of ``scipy.fft.dct`` and ``scipy.fft.dst`` (Notes), n the length: types I
and II are transforms of the even or odd extension, III and IV of the zero-padded sequence with a
phase. Every type is a rule of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..expr import build
from ..expr.node import Node
from ..expr.spectrum import Transform, transform_spec

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def as_fourier(node: Node) -> Node:
    """The same values by Fourier transforms, one axis after another.

    Parameters
    ----------
    node : Node
        A ``transform`` of the cosine or sine kind, resized and cast already.
    """
    spec: Transform = node.attr
    value = node.args[0]
    inverse, sine = spec.name.startswith("i"), spec.name.endswith("dst")
    kind = _INVERSE[spec.type] if inverse else spec.type
    ortho = spec.norm == "ortho" if spec.orthogonalize is None else spec.orthogonalize
    for axis in spec.axes:
        if kind == 1 and not sine and value.shape[axis] < 2:
            raise ValueError(f"{spec.name}: type 1 needs at least 2 elements along axis {axis}")
        value = _by_parts(value, axis, sine, kind, ortho)
        value = _scaled(value, axis, spec.norm, inverse, sine, kind)
    return build.astype(value, node.dtype)


def _by_parts(value: Node, axis: int, sine: bool, kind: int, ortho: bool) -> Node:
    """One axis; the parts of a complex value apart."""
    if value.dtype.kind != "c":
        return _one(value, axis, sine, kind, ortho)
    real, imag = (
        _one(build.elementwise(part, value), axis, sine, kind, ortho) for part in ("real", "imag")
    )
    imag = build.astype(imag, value.dtype)
    turned = build.elementwise("multiply", imag, build.const(value.dtype.type(1j)))
    return build.elementwise("add", build.astype(real, value.dtype), turned)


def _scaled(x: Node, axis: int, norm: str, inverse: bool, sine: bool, kind: int) -> Node:
    n = x.shape[axis]
    period = 2 * n if kind != 1 else 2 * (n + 1) if sine else 2 * (n - 1)
    if norm == "ortho":
        factor = 1 / math.sqrt(period)
    else:
        factor = 1 / period if (norm == "forward") != inverse else 1.0
    return x if factor == 1.0 else build.elementwise("multiply", x, _number(x, factor))


def _one(x: Node, axis: int, sine: bool, kind: int, ortho: bool) -> Node:
    """One axis, not normalised."""
    line = _Line(axis, x.shape[axis], x.ndim)
    root = math.sqrt(2)
    if ortho and not sine and kind in (1, 3):
        x = line.weighted(x, {0: root} | ({line.n - 1: root} if kind == 1 else {}))
    if ortho and sine and kind == 3:
        x = line.weighted(x, {line.n - 1: root})
    y = (_SINE if sine else _COSINE)[kind](x, line)
    if ortho and not sine and kind in (1, 2):
        y = line.weighted(y, {0: 1 / root} | ({line.n - 1: 1 / root} if kind == 1 else {}))
    if ortho and sine and kind == 2:
        y = line.weighted(y, {line.n - 1: 1 / root})
    return y


@dataclass(frozen=True, slots=True)
class _Line:
    """The transformed axis: where it is and how long."""

    axis: int
    n: int
    ndim: int

    def cut(self, x: Node, start: int, stop: int | None, step: int = 1) -> Node:
        key = [slice(None)] * self.ndim
        key[self.axis] = slice(start, stop, step)
        return build.getitem(x, tuple(key))

    def reverse(self, x: Node) -> Node:
        key = [slice(None)] * self.ndim
        key[self.axis] = slice(None, None, -1)
        return build.getitem(x, tuple(key))

    def join(self, *parts: Node) -> Node:
        return build.concat(parts, self.axis)

    def pad(self, x: Node, before: int, length: int) -> Node:
        widths = [(0, 0)] * self.ndim
        widths[self.axis] = (before, length - before - x.shape[self.axis])
        return build.pad(x, widths)

    def transform(self, x: Node, name: str) -> Node:
        spec = transform_spec(x, name, None, self.axis, None, many=False)
        return build.transform(x, spec)

    def along(self, values: Node) -> Node:
        shape = [1] * self.ndim
        shape[self.axis] = values.size
        return build.reshape(values, shape)

    def phase(self, x: Node, count: int, start: float, step: float) -> Node:
        """``x * exp(-1j*(start + step*k))`` along the axis."""
        k = build.iota(0, 1, count, np.dtype("f8"))
        angle = build.elementwise("multiply", k, build.const(np.float64(-step)))
        angle = build.elementwise("add", angle, build.const(np.float64(-start)))
        turn = build.elementwise(
            "exp", build.elementwise("multiply", angle, build.const(np.complex128(1j)))
        )
        wide = np.result_type(x.dtype, np.complex64)
        return build.elementwise("multiply", x, self.along(build.astype(turn, wide)))

    def weighted(self, x: Node, weights: dict[int, float]) -> Node:
        """``x`` with some elements along the axis multiplied."""
        k = build.iota(0, 1, self.n, np.dtype("i8"))
        factor = _number(x, 1.0)
        for place, weight in weights.items():
            here = build.elementwise("equal", k, build.const(np.int64(place)))
            factor = build.elementwise("where", here, _number(x, weight), factor)
        return build.elementwise("multiply", x, self.along(factor))


def _number(x: Node, value: float) -> Node:
    return build.const(x.dtype.type(value))


def _negative_imag(z: Node) -> Node:
    return build.elementwise("negative", build.elementwise("imag", z))


def _doubled_but(x: Node, line: _Line, place: int) -> Node:
    """``2*x``, with one element as it is."""
    whole = build.elementwise("multiply", x, _number(x, 2.0))
    return line.weighted(whole, {place: 0.5})


def _cosine_1(x: Node, line: _Line) -> Node:
    even = line.join(x, line.reverse(line.cut(x, 1, line.n - 1)))
    return build.elementwise("real", line.cut(line.transform(even, "rfft"), 0, line.n))


def _cosine_2(x: Node, line: _Line) -> Node:
    spectrum = line.transform(line.join(x, line.reverse(x)), "rfft")
    bins = line.cut(spectrum, 0, line.n)
    return build.elementwise("real", line.phase(bins, line.n, 0.0, math.pi / (2 * line.n)))


def _cosine_3(x: Node, line: _Line) -> Node:
    turned = line.phase(_doubled_but(x, line, 0), line.n, 0.0, math.pi / (2 * line.n))
    spectrum = line.transform(line.pad(turned, 0, 2 * line.n), "fft")
    return build.elementwise("real", line.cut(spectrum, 0, line.n))


def _fourth(x: Node, line: _Line) -> Node:
    turned = line.phase(x, line.n, 0.0, math.pi / (2 * line.n))
    spectrum = line.transform(line.pad(turned, 0, 2 * line.n), "fft")
    bins = line.cut(spectrum, 0, line.n)
    shifted = line.phase(bins, line.n, math.pi / (4 * line.n), math.pi / (2 * line.n))
    return build.elementwise("multiply", shifted, build.const(shifted.dtype.type(2)))


def _cosine_4(x: Node, line: _Line) -> Node:
    return build.elementwise("real", _fourth(x, line))


def _sine_1(x: Node, line: _Line) -> Node:
    zero = build.elementwise("multiply", line.cut(x, 0, 1), _number(x, 0.0))
    odd = line.join(zero, x, zero, build.elementwise("negative", line.reverse(x)))
    return _negative_imag(line.cut(line.transform(odd, "rfft"), 1, line.n + 1))


def _sine_2(x: Node, line: _Line) -> Node:
    odd = line.join(x, build.elementwise("negative", line.reverse(x)))
    bins = line.cut(line.transform(odd, "rfft"), 1, line.n + 1)
    step = math.pi / (2 * line.n)
    return _negative_imag(line.phase(bins, line.n, step, step))


def _sine_3(x: Node, line: _Line) -> Node:
    step = math.pi / (2 * line.n)
    turned = line.phase(_doubled_but(x, line, line.n - 1), line.n, step, step)
    spectrum = line.transform(line.pad(turned, 1, 2 * line.n), "fft")
    return _negative_imag(line.cut(spectrum, 0, line.n))


def _sine_4(x: Node, line: _Line) -> Node:
    return _negative_imag(_fourth(x, line))


_COSINE = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
_SINE = {1: _sine_1, 2: _sine_2, 3: _sine_3, 4: _sine_4}
