"""Transforms: what a call of ``scipy.fft`` asks for, its checks, its result's shape and dtype."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .node import Node

NORMS = ("backward", "ortho", "forward")
_HALF = {"rfft", "ihfft"}  # real in, half spectrum out
_REAL = {"irfft", "hfft"}  # half spectrum in, real out
REAL_TO_REAL = ("dct", "idct", "dst", "idst")


@dataclass(frozen=True, slots=True)
class Transform:
    """A call: ``name`` without its 2 or n suffix, axes in the user's order, lengths per axis."""

    name: str
    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    norm: str = "backward"
    type: int = 0  # of a DCT or DST
    orthogonalize: bool | None = None

    def __str__(self) -> str:
        kind = f" type={self.type}" if self.type else ""
        axes = self.axes[0] if len(self.axes) == 1 else self.axes
        n = self.lengths[0] if len(self.lengths) == 1 else self.lengths
        norm = "" if self.norm == "backward" else f" norm={self.norm}"
        return f"{self.name}{kind} n={n} axis={axes}{norm}"


@dataclass(frozen=True, slots=True)
class DFT:
    """One transform along one axis in normal form: exact length, scale folded in.

    ``kind`` is ``c2c``, ``r2c`` (n//2+1 outputs), ``c2r`` (n//2+1 inputs) or ``rfull`` (real
    input, all n outputs). ``sign`` is -1 for forward. ``is_mended`` holds for a ``c2r`` whose
    argument is the half spectrum of a real array already; otherwise the imaginary parts of its DC
    and Nyquist bins count for nothing.
    """

    kind: str
    axis: int
    n: int
    sign: int
    scale: float = 1.0
    is_mended: bool = False

    @property
    def is_plain(self) -> bool:
        """Does a library do it as it is?"""
        return self.scale == 1.0 and self.kind != "rfull" and (self.kind != "c2r" or self.is_mended)

    def __str__(self) -> str:
        scale = "" if self.scale == 1.0 else f" *{self.scale:.6g}"
        return f"{self.kind} n={self.n} axis={self.axis} {'-+'[self.sign > 0]}{scale}"


def largest_prime(n: int) -> int:
    """The largest prime factor; 1 for 1."""
    largest, prime = 1, 2
    while prime * prime <= n:
        if n % prime:
            prime += 1
        else:
            n, largest = n // prime, prime
    return max(largest, n)


def check_norm(norm: Any) -> str:
    """``None`` means "backward"; ValueError with SciPy's text otherwise."""
    if norm is None:
        return "backward"
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm!r}, should be "backward", "ortho" or "forward"')
    return str(norm)


def check_type(kind: int) -> int:
    """The type of a cosine or sine transform; ValueError when there is none such."""
    if kind not in (1, 2, 3, 4):
        raise ValueError("invalid value for type; must be 1, 2, 3 or 4")
    return kind


def transform_spec(
    x: Node, name: str, s: Any, axes: Any, norm: Any, many: bool = True, **extra: Any
) -> Transform:
    """Check the arguments of a transform call as scipy.fft does.

    Raises
    ------
    ValueError
        Unknown norm, lengths below one, repeated axes, lengths and axes of different number.
    TypeError
        A complex array given to a transform of real input.
    """
    norm = check_norm(norm)
    if (name in _HALF) and x.dtype.kind == "c":
        raise TypeError(f"{name}: x must be a real sequence, got {x.dtype}; take .real or use fft")
    s = None if s is None else _indices(s, "s" if many else "n")
    axes = _axes(x, s, axes, many)
    if not axes and name in _HALF | _REAL:
        raise ValueError("at least 1 axis must be transformed")
    lengths = [x.shape[a] for a in axes]
    if s is None and name in _REAL:
        lengths[-1] = 2 * (lengths[-1] - 1) or int(many)  # SciPy: irfftn of one element has one
    elif s is not None:
        lengths = [n if n != -1 or not many else x.shape[a] for n, a in zip(s, axes, strict=True)]
    if any(n < 1 for n in lengths):
        shown = lengths if many else lengths[0]
        raise ValueError(f"invalid number of data points ({shown}) specified")
    return Transform(name, tuple(axes), tuple(lengths), norm, **extra)


def _indices(values: Any, what: str) -> list[int]:
    sequence = values if isinstance(values, Sequence | np.ndarray) else [values]
    try:
        return [operator.index(v) for v in sequence]
    except TypeError:
        raise ValueError(f"{what} must be integers, got {values!r}") from None


def _axes(x: Node, s: list[int] | None, axes: Any, many: bool) -> list[int]:
    if axes is None:
        found = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
        if s is not None and len(s) > x.ndim:
            raise ValueError(f"s has {len(s)} lengths, x has only {x.ndim} dimensions")
        return found
    listed = _indices(axes, "axes")
    for a in listed:
        if not -x.ndim <= a < x.ndim:
            if not many:
                raise IndexError(f"axis {a} is out of bounds for array of dimension {x.ndim}")
            raise ValueError("axes exceeds dimensionality of input")
    found = [a % x.ndim for a in listed]
    if s is not None and len(s) != len(found):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    if len(set(found)) != len(found):
        raise ValueError("all axes must be unique")
    return found


def transform_dtype(dtype: np.dtype, name: str) -> np.dtype:
    """scipy.fft's rule: float16 becomes float32, integers and bool float64, the rest stays."""
    char = dtype.char.lower() if dtype.kind in "fc" else "d"
    real = np.dtype({"e": "f", "f": "f", "d": "d", "g": "g"}[char])
    wants_real = name in _REAL or (name in REAL_TO_REAL and dtype.kind != "c")
    return real if wants_real else np.result_type(real, np.complex64)


def transform_shape(x: Node, spec: Transform) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of the result."""
    shape = list(x.shape)
    for axis, n in zip(spec.axes, spec.lengths, strict=True):
        shape[axis] = n
    if spec.name in _HALF:
        shape[spec.axes[-1]] = spec.lengths[-1] // 2 + 1
    return tuple(shape), transform_dtype(x.dtype, spec.name)
