"""Index maps along one axis: shifts, crops, pads, flips and strides as pieces.

A map says, for each index of its output, which index of its input is read, or that a fill value
stands there. Maps made of affine pieces are closed under composition, so a shift of a crop of a
shift is again one map, and ``ifftshift(fftshift(x))`` is the identity without a rule that says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """``count`` outputs that read ``start, start + step, ...``; ``start is None`` means fill."""

    count: int
    start: int | None
    step: int = 1

    def cut(self, first: int, step: int, count: int) -> Piece:
        """The outputs ``first, first + step, ...`` of this piece as a piece of their own."""
        if self.start is None:
            return Piece(count, None)
        return Piece(count, self.start + first * self.step, step * self.step if count > 1 else 1)

    def joined(self, other: Piece) -> Piece | None:
        """This piece followed by ``other`` as one piece, or None."""
        if self.start is None or other.start is None:
            same = self.start is None and other.start is None
            return Piece(self.count + other.count, None) if same else None
        step = other.start - self.last if self.count == 1 else self.step
        if step == 0 or other.start != self.last + step or (other.count > 1 and other.step != step):
            return None
        return Piece(self.count + other.count, self.start, step)

    @property
    def last(self) -> int:
        assert self.start is not None
        return self.start + (self.count - 1) * self.step


@dataclass(frozen=True, slots=True)
class AxisMap:
    """Pieces in output order over an input axis of ``extent`` elements."""

    extent: int
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(p.count for p in self.pieces)

    @property
    def fills(self) -> bool:
        return any(p.start is None for p in self.pieces)

    @property
    def is_identity(self) -> bool:
        if self.size != self.extent:
            return False
        return self.extent == 0 or (len(self.pieces) == 1 and self.pieces[0] == Piece(self.size, 0))

    @property
    def is_slice(self) -> bool:
        """One piece and no fill: NumPy can do it as a view."""
        return len(self.pieces) <= 1 and not self.fills

    def select(self, start: int, step: int, count: int) -> list[Piece]:
        """Pieces of this map's outputs ``start, start + step, ...`` (``count`` of them)."""
        found: list[Piece] = []
        bounds, low = [], 0
        for piece in self.pieces:
            bounds.append((low, low + piece.count, piece))
            low += piece.count
        done = 0
        for lo, hi, piece in bounds if step > 0 else reversed(bounds):
            if done == count:
                break
            position = start + done * step
            if not lo <= position < hi:
                continue
            room = (hi - 1 - position) // step if step > 0 else (position - lo) // -step
            take = min(room + 1, count - done)
            found.append(piece.cut(position - lo, step, take))
            done += take
        return found

    def after(self, inner: AxisMap) -> AxisMap:
        """This map applied to the output of ``inner``."""
        pieces: list[Piece] = []
        for piece in self.pieces:
            if piece.start is None:
                pieces.append(piece)
            else:
                pieces += inner.select(piece.start, piece.step, piece.count)
        return AxisMap(inner.extent, _merged(pieces))

    def __str__(self) -> str:
        return " ".join(
            f"fill*{p.count}"
            if p.start is None
            else f"{p.start}:{p.start + p.count * p.step}" + (f":{p.step}" if p.step != 1 else "")
            for p in self.pieces
        )


def _merged(pieces: list[Piece]) -> tuple[Piece, ...]:
    out: list[Piece] = []
    for piece in pieces:
        if piece.count == 0:
            continue
        joined = out[-1].joined(piece) if out else None
        if joined is not None:
            out[-1] = joined
        else:
            out.append(piece)
    return tuple(out)


def sliced(extent: int, start: int, count: int, step: int = 1) -> AxisMap:
    """``x[start : start + count*step : step]``, already clipped to the axis."""
    step = step if count > 1 else 1
    return AxisMap(extent, _merged([Piece(count, start, step)]))


def rolled(extent: int, shift: int) -> AxisMap:
    """``numpy.roll``: output i reads input ``i - shift`` modulo the extent."""
    shift = shift % extent if extent else 0
    return AxisMap(extent, _merged([Piece(shift, extent - shift), Piece(extent - shift, 0)]))


def padded(extent: int, before: int, after: int) -> AxisMap:
    """``before`` fills, the axis, ``after`` fills."""
    return AxisMap(extent, _merged([Piece(before, None), Piece(extent, 0), Piece(after, None)]))


def resized(extent: int, n: int) -> AxisMap:
    """Crop or zero-pad at the end to ``n``: what the ``n`` of an FFT asks for."""
    return sliced(extent, 0, n) if n <= extent else padded(extent, 0, n - extent)
