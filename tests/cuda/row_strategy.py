"""Random programs of rows: work, a transform along one axis, work, a transform, work, a sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.programs import Builder, Program, Value

_LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 24, 30, 32, 37, 64]
_BATCH = [1, 2, 3, 5, 9, 17]
_DTYPES = ["c8", "c8", "c8", "f4", "f4", "c16", "f8", "i1", "i2", "u1", "f2", "?"]
_TRANSFORMS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
_NORMS = [None, "backward", "ortho", "forward"]


class _Rows(Builder):
    """Steps on the last value that leave the axis of the transforms where it is."""

    axis: int

    @property
    def last(self) -> int:
        return len(self.program.values) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.program.values[self.last].array.shape

    def pick(self, wanted: Any = lambda v: True) -> int | None:
        return self.last if wanted(self.program.values[self.last]) else None

    def table(self) -> None:
        """A factor for each element, each row, or each of both."""
        kept = self.draw(st.sampled_from(["element", "row", "both"]))
        shape = tuple(
            1 if (kept == "element") == (a != self.axis) and kept != "both" else n
            for a, n in enumerate(self.shape)
        )
        dtype = self.draw(st.sampled_from(["f4", "c8", "i1"]))
        rng = np.random.default_rng(len(self.program.steps))
        values = rng.integers(-3, 4, shape).astype(dtype)
        if dtype == "c8":
            values = values + 1j * rng.integers(-3, 4, shape).astype("f4")
        fixed = np.asarray(values, dtype)

        def error(out: Value, x: Value) -> float:
            return 6 * x.error + out.eps * (out.peak + 6 * x.peak)

        self.add(
            f"times {kept}",
            lambda xp, fft, x: x * (fixed if xp is np else _on(xp, fixed)),
            (self.last,),
            error,
        )

    def move(self) -> None:
        axis = self.draw(st.integers(0, len(self.shape) - 1))
        n = self.shape[axis]
        shift = self.draw(st.integers(-n, n))
        low, high = sorted(self.draw(st.integers(0, n - 1)) for _ in range(2))
        step = self.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        key = [slice(None)] * len(self.shape)
        key[axis] = slice(low, high + 1, step) if step > 0 else slice(high, None, step)
        width = [(shift % 4, 1) if a == axis else (0, 0) for a in range(len(self.shape))]
        moves = {
            f"roll {shift} {axis}": lambda xp, fft, x: xp.roll(x, shift, axis),
            f"flip {axis}": lambda xp, fft, x: xp.flip(x, axis),
            f"fftshift {axis}": lambda xp, fft, x: fft.fftshift(x, axes=axis),
            f"key {key}": lambda xp, fft, x: x[tuple(key)],
            f"pad {width}": lambda xp, fft, x: xp.pad(x, width),
        }
        name = self.draw(st.sampled_from(list(moves)))
        self.add(name, moves[name], (self.last,), lambda out, x: x.error)

    def along(self) -> None:
        """A transform."""
        complex_given = self.program.values[self.last].array.dtype.kind == "c"
        names = [n for n in _TRANSFORMS if not (complex_given and n in ("rfft", "ihfft"))]
        name = self.draw(st.sampled_from(names))
        n = self.draw(st.one_of(st.none(), st.sampled_from(_LENGTHS)))
        norm = self.draw(st.sampled_from(_NORMS))

        def error(out: Value, x: Value) -> float:
            count = max(max(x.array.shape), max(out.array.shape), 2) + 1
            return 2 * count * (x.error + out.eps * np.log2(count) * x.peak)

        function = lambda xp, fft, x: getattr(fft, name)(x, n, axis=self.axis, norm=norm)  # noqa: E731
        self.add(f"{name} n={n} norm={norm}", function, (self.last,), error)

    def turn(self) -> None:
        order = self.draw(st.permutations(range(len(self.shape))))
        self.add(f"T {order}", lambda xp, fft, x: x.transpose(order), (self.last,), _same)

    def over_rows(self) -> None:
        others = [a for a in range(len(self.shape)) if a != self.axis]
        axes = tuple(self.draw(st.permutations(others))[: self.draw(st.integers(0, len(others)))])
        if not axes or self.program.values[self.last].array.dtype.kind not in "fc":
            return
        name = self.draw(st.sampled_from(["sum", "sum", "mean", "max", "min"]))
        if self.program.values[self.last].array.dtype.kind == "c":
            name = "sum"

        def error(out: Value, x: Value) -> float:
            count = x.array.size / max(1, out.array.size)
            if name in ("sum", "mean"):
                return (x.error + out.eps * x.peak * 2) * (count if name == "sum" else 1)
            return x.error

        self.add(
            f"{name} {axes}",
            lambda xp, fft, x: getattr(xp, name)(x, axis=axes),
            (self.last,),
            error,
        )


def _same(out: Value, x: Value) -> float:
    return x.error


def _on(xp: Any, array: np.ndarray) -> Any:
    from fft_fused import lazy

    return lazy(array)


_BEFORE = ["with_scalar", "table", "table", "move", "move", "square_modulus", "update"]
_AFTER = ["with_scalar", "table", "move", "square_modulus", "square_modulus"]


@st.composite
def row_programs(draw: Any) -> Program:
    """A program whose transforms run along one axis."""
    rank = draw(st.integers(0, 3))
    shape = [draw(st.sampled_from(_BATCH)) for _ in range(rank)]
    axis = draw(st.integers(0, rank))
    shape.insert(axis, draw(st.sampled_from(_LENGTHS)))
    while np.prod(shape) > 1500:
        shape[int(np.argmax(shape))] //= 2
    dtype = np.dtype(draw(st.sampled_from(_DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    low = 0 if dtype.kind in "ub" else -4
    array = rng.integers(low, 5, shape).astype(dtype)
    if dtype.kind == "c":
        array = np.asarray(array + 1j * rng.integers(-4, 5, shape).astype(dtype.char.lower()), dtype)
    order = draw(st.permutations(range(rank + 1)))
    array = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    program = Program([array], values=[Value(array)])
    rows = _Rows(draw, program)
    rows.axis = axis
    outputs = []
    for _ in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(0, 2))):
            getattr(rows, draw(st.sampled_from(_BEFORE)))()
        rows.along()
        if draw(st.integers(0, 4)) == 0:
            outputs.append(rows.last)
    for _ in range(draw(st.integers(0, 3))):
        getattr(rows, draw(st.sampled_from(_AFTER)))()
    if draw(st.integers(0, 3)) == 0:
        outputs.append(rows.last)
    getattr(rows, draw(st.sampled_from(["over_rows", "turn", "move"])))()
    program.outputs = [*outputs, rows.last]
    return program
