"""Programs that every engine has to run: a name, a function of (names, *arrays), its inputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.gpu.support import Given, Names, r, stored, z


@dataclass(frozen=True)
class Case:
    """A program and its inputs; ``double``: also in double precision."""

    name: str
    program: Callable[..., Any]
    inputs: tuple[Given, ...]
    double: bool = False


def abs2(x: Any) -> Any:
    return abs(x) ** 2


def pairs(m: Names, v: Any) -> Any:
    """Integer pairs, shape (..., 2), as complex numbers."""
    return v.astype(m.real).view(m.complex)[..., 0]


def frames(m: Names, x: Any, length: int, hop: int) -> Any:
    return m.xp.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[..., ::hop, :]


def ramp(m: Names, n: int, slope: float = 0.05) -> Any:
    """A phase that grows along the axis."""
    return m.xp.exp(1j * (slope * m.xp.arange(n, dtype=m.real)))


def delayed(m: Names, x: Any, samples: float) -> Any:
    n = x.shape[-1]
    turn = m.fft.fftfreq(n).astype(m.real) * (-2 * m.xp.pi * samples)
    return m.fft.ifft(m.fft.fft(x) * m.xp.exp(1j * turn))


def range_doppler(m: Names, x: Any, h: Any, w: Any) -> Any:
    fast = m.fft.ifft(m.fft.fft(x) * h) * w[:, None]
    return abs2(m.fft.fftshift(m.fft.fft(fast, axis=0), axes=0))


def coherence(m: Names, a: Any, b: Any) -> Any:
    x, y = m.fft.rfft(a), m.fft.rfft(b)
    cross = (x * m.xp.conj(y)).mean(axis=0)
    return abs2(cross) / (abs2(x).mean(axis=0) * abs2(y).mean(axis=0))


def one_sided(m: Names, x: Any, w: Any) -> Any:
    p = abs2(m.fft.rfft(x * w))
    p[..., 1:-1] *= 2
    return p.mean(axis=0)


def polyphase(m: Names, v: Any, w: Any) -> Any:
    taps, x = w.shape[0], v.astype(m.real)
    rows = v.shape[0] - taps + 1
    return m.fft.rfft(sum(w[t] * x[t : t + rows] for t in range(taps)))


def three_results(m: Names, x: Any, w: Any) -> Any:
    spectrum = m.fft.fft(x * w)
    return spectrum, abs2(spectrum), spectrum.real.sum(axis=0)


def pad_and_crop(m: Names, x: Any, h: Any) -> Any:
    return m.fft.ifft(m.fft.fft(x, 2 * x.shape[-1]) * h)[..., : x.shape[-1]]


_V, _U, _S = stored("i1", 5, 64, 2), stored("u1", 5, 64, 2), stored("i2", 5, 64, 2)
_Z, _W, _H = z(5, 64), r(64), z(64)
_CUBE = z(6, 10, 15)

TRANSFORMS = [
    Case("fft of real", lambda m, x, w: m.fft.fft(x * w), (r(5, 30), r(30)), True),
    Case("ihfft", lambda m, x, w: m.fft.ihfft(x * w) * 3, (r(5, 30), r(30)), True),
    Case("hfft", lambda m, s, h: m.fft.hfft(s * h, 30) * 2, (z(5, 16), z(16)), True),
    Case("fft2", lambda m, x, w: abs2(m.fft.fft2(x * w)), (z(3, 30, 32), r(32)), True),
    Case("fft2 unbatched", lambda m, x, h: m.fft.fft2(x) * h, (z(64, 48), z(64, 48))),
    Case("fftn", lambda m, x, h: m.fft.fftn(x * 2) * h, (z(8, 12, 10), z(8, 12, 10)), True),
    Case("fftn batch", lambda m, x: m.fft.ifftn(x + 1, axes=(1, 2, 3)).real, (z(2, 6, 7, 8),)),
    Case("fft over four axes", lambda m, x: m.fft.fftn(x * 2) - 1, (z(2, 3, 4, 5),)),
    Case("rfft2", lambda m, x, w: abs2(m.fft.rfft2(x * w)), (r(3, 20, 30), r(30)), True),
    Case("rfftn", lambda m, x: m.fft.rfftn(x - 1) * 2, (r(6, 8, 10),)),
    Case("irfft2", lambda m, s, g: m.fft.irfft2(s * 2, (20, 30)) * g, (z(3, 20, 16), r(30)), True),
    Case("irfftn", lambda m, s: abs(m.fft.irfftn(s * 2, (6, 8, 10))), (z(6, 8, 6),)),
    Case("hfft2", lambda m, s: m.fft.hfft2(s * 2, (20, 31)) + 1, (z(3, 20, 16),)),
    Case("axes of any order", lambda m, x: m.fft.fftn(x * 2, axes=(2, 0)) * 3, (_CUBE,)),
    Case("rfft over a leading axis", lambda m, x: abs2(m.fft.rfft(x * 2, axis=0)), (r(6, 10, 15),)),
    Case(
        "irfft over a middle axis",
        lambda m, s: m.fft.irfft(s * 2, 19, axis=1) + 1,
        (_CUBE,),
    ),
]

LENGTHS = [
    Case("pad", lambda m, x, w: m.fft.fft(x * w, 100) * 2, (_Z, _W)),
    Case("crop", lambda m, x, w: abs2(m.fft.fft(x * w, 30)), (_Z, _W)),
    Case("pad and crop", pad_and_crop, (z(5, 64), z(128)), True),
    Case("s crops and pads", lambda m, x: m.fft.fft2(x * 2, (9, 40)) * 2, (z(3, 20, 30),)),
    Case("rfftn with s", lambda m, x: m.fft.rfftn(x * 2, (5, 40), axes=(1, 2)), (r(2, 9, 30),)),
    Case("irfft longer", lambda m, s: m.fft.irfft(s * 2, 81) * 2, (z(5, 33),)),
    Case("irfft shorter", lambda m, s: m.fft.irfft(s * 2, 40) * 2, (z(5, 33),)),
    Case("pad before", lambda m, x: m.fft.fft(m.xp.pad(x, ((0, 1), (3, 5)))) * 2, (_Z,)),
]

INDEX_MAPS = [
    Case(
        "shifts, even and odd",
        lambda m, x: m.fft.fftshift(m.fft.fft2(m.fft.ifftshift(x))) * 2,
        (z(30, 33),),
    ),
    Case("roll", lambda m, x: m.xp.roll(m.fft.fft(m.xp.roll(x, 7, -1)), -3, -1) * 2, (_Z,)),
    Case("flip", lambda m, x: m.xp.flip(m.fft.fft(m.xp.flip(x, -1) * 2), (0, 1)), (_Z,)),
    Case("frames", lambda m, x, w: abs2(m.fft.rfft(frames(m, x, 64, 16) * w)), (r(3, 300), _W)),
    Case("transposed store", lambda m, x, w: abs2(m.fft.fft(x * w)).T, (_Z, _W)),
    Case(
        "transposes around",
        lambda m, x: m.fft.fft(x.transpose(2, 0, 1) * 2).transpose(1, 2, 0),
        (_CUBE,),
    ),
    Case("band of a shift", lambda m, x: m.fft.fftshift(m.fft.fft(x), axes=-1)[:, 16:48], (_Z,)),
    Case("every third", lambda m, x: m.fft.fft(x[:, ::3] * 2)[..., 1::2], (z(5, 63),)),
    Case("update", one_sided, (r(9, 64), _W)),
]


def broadcast(a: Any) -> Any:
    """The first row five times, at stride zero."""
    return sys.modules[type(a).__module__.partition(".")[0]].broadcast_to(a[:1], (5, 64))


_VIEWS: dict[str, Callable[[Any], Any]] = {
    "strided": lambda a: a[:5, 3:131:2],
    "strided rows": lambda a: a[1:11:2, :64],
    "negative strides": lambda a: a[4::-1, 66:2:-1],
    "one element in": lambda a: a[:5, 1:65],
    "broadcast rows": lambda a: broadcast(a[:, :64]),
    "Fortran order": lambda a: a[:64, :5].T,
    "axes moved": lambda a: a[:40, :128].reshape(64, 2, 40).transpose(1, 2, 0),
}
LAYOUTS = [
    *(
        Case(name, lambda m, x, w: abs2(m.fft.fft(x * w)), (z(80, 140, view=view), _W))
        for name, view in _VIEWS.items()
    ),
    Case(
        "strided reals", lambda m, x: m.fft.rfft(x) * 2, (r(9, 131, view=lambda a: a[::2, 1::2]),)
    ),
    Case("a view as it is", lambda m, x: m.fft.fft(x), (z(9, 65, view=lambda a: a[::-2, 1:]),)),
    Case(
        "half a spectrum, strided",
        lambda m, s: m.fft.irfft(s, 64),
        (z(5, 66, view=lambda a: a[:, ::2]),),
    ),
]

STORED = [
    Case("int8 pairs", lambda m, v, w: abs2(m.fft.fft(pairs(m, v) * w)), (_V, _W), True),
    Case("uint8 pairs", lambda m, v: m.fft.fft(pairs(m, v - m.real(127.5))) * 2, (_U,)),
    Case("int16 pairs", lambda m, v, h: m.fft.ifft(m.fft.fft(pairs(m, v)) * h), (_S, _H)),
    Case("int16 reals", lambda m, v, w: abs2(m.fft.rfft(v * w)), (stored("i2", 5, 64), _W)),
    Case("int16 as it is", lambda m, v: abs2(m.fft.rfft(v)), (stored("i2", 5, 64),)),
    Case("uint8 reals", lambda m, v: m.fft.rfft(v.astype(m.real) * 2), (stored("u1", 5, 30),)),
    Case(
        "uint16 reals",
        lambda m, v, w: abs2(m.fft.fft(v.astype(m.real) * w)),
        (stored("u2", 5, 64), _W),
    ),
    Case("bools", lambda m, v: m.fft.fft(v) * 2, (stored("?", 5, 30),)),
    Case("float16 reals", lambda m, v: abs2(m.fft.rfft(v)), (stored("f2", 5, 64),)),
    Case("float16 table", lambda m, x, w: m.fft.fft(x * w), (_Z, stored("f2", 64))),
    Case("to float32", lambda m, x: abs2(m.fft.fft(x)).astype("f4"), (_Z,), True),
    Case("to float16", lambda m, x: abs(m.fft.fft(x)).astype("f2"), (_Z,)),
    Case("to int8", lambda m, x: m.xp.rint(m.fft.fft(x).real * 2).astype("i1"), (_Z,)),
    Case("to int16", lambda m, x: m.xp.rint(m.fft.ifft(x).imag * 9e3).astype("i2"), (_Z,)),
    Case("to uint8", lambda m, x: m.xp.clip(abs(m.fft.fft(x)) * 9, 0, 255).astype("u1"), (_Z,)),
    Case("real to int8", lambda m, s: m.xp.rint(m.fft.irfft(s, 64) * 50).astype("i1"), (z(5, 33),)),
]

WORK = [
    Case("mask", lambda m, x, k: m.fft.fft(m.xp.where(k, x, 0)) * 2, (_Z, stored("?", 5, 64))),
    Case("mask after", lambda m, x, k: m.xp.where(k, m.fft.fft(x), 1j), (_Z, stored("?", 64))),
    Case(
        "where by index",
        lambda m, x: m.fft.ifft(m.xp.where(m.xp.arange(64) < 20, m.fft.fft(x), 0)),
        (_Z,),
    ),
    Case("phase ramp", lambda m, x: m.fft.fft(x * ramp(m, 64)) * ramp(m, 64, -0.1), (_Z,), True),
    Case("fftfreq", lambda m, x: delayed(m, x, 0.5), (_Z,), True),
    Case(
        "scalar of a row",
        lambda m, x, s: m.fft.fft(x * s[:, None]) / (2 + s[:, None] ** 2),
        (_Z, r(5)),
    ),
    Case("decibels", lambda m, x: 10 * m.xp.log10(abs2(m.fft.fft(x)) + 100), (_Z,)),
    Case("angle", lambda m, x: m.xp.exp(1j * m.xp.angle(m.fft.fft(x) + 100)), (_Z,)),
    Case("maps alone", lambda m, x, w: (m.xp.conj(x) * w + 1).T, (_Z, _W), True),
    Case("fft, multiply, ifft", lambda m, x, h: m.fft.ifft(m.fft.fft(x) * h), (_Z, _H), True),
    Case(
        "fft2, multiply, ifft2",
        lambda m, x, h: m.fft.ifft2(m.fft.fft2(x) * h),
        (z(3, 32, 30), z(32, 30)),
    ),
    Case(
        "rfft, multiply, irfft",
        lambda m, x, h: m.fft.irfft(m.fft.rfft(x) * h, 30),
        (r(5, 30), z(16)),
    ),
    Case(
        "rfft2, multiply, irfft2",
        lambda m, x, h: m.fft.irfft2(m.fft.rfft2(x) * h, (20, 30)),
        (r(3, 20, 30), z(20, 16)),
    ),
    Case("rows, then columns", range_doppler, (z(16, 60), z(60), r(16))),
    Case(
        "convolution of columns",
        lambda m, x, h: m.fft.ifft(m.fft.fft(x, axis=0) * h[:, None], axis=0),
        (z(64, 20), _H),
    ),
    Case(
        "three transforms",
        lambda m, x, h: abs2(m.fft.fft(m.fft.ifft(m.fft.fft(x) * h) * ramp(m, 64))),
        (_Z, _H),
    ),
    Case("polyphase filter", polyphase, (stored("i1", 29, 64), r(5, 64)), True),
    Case("two spectra", coherence, (r(40, 64), r(40, 64))),
]

REDUCTIONS = [
    Case(
        "sum over the batch", lambda m, x: abs2(m.fft.fft(x * 2)).sum(axis=0), (z(300, 64),), True
    ),
    Case("few rows", lambda m, x: abs2(m.fft.rfft(x)).sum(axis=0), (r(3, 1000),)),
    Case("two batch axes", lambda m, x: abs2(m.fft.fft(x)).mean(axis=(0, 1)), (z(7, 9, 30),)),
    Case("along the axis", lambda m, x: abs2(m.fft.fft(x)).sum(axis=-1), (_Z,)),
    Case("middle axis", lambda m, x: m.fft.fft(x).sum(axis=1, keepdims=True), (z(4, 33, 16),)),
    Case("everything", lambda m, x: abs2(m.fft.fft(x)).sum(), (_Z,)),
    Case("largest", lambda m, x: abs(m.fft.fft(x)).max(axis=0), (_Z,)),
    Case(
        "place of the largest", lambda m, x: abs2(m.fft.fft(x + 9 * ramp(m, 64))).argmax(-1), (_Z,)
    ),
    Case("accumulate", lambda m, a, x: a + abs2(m.fft.fft(x)).sum(axis=0), (r(64), _Z)),
    Case("three results", three_results, (_Z, _W), True),
    Case("no rows", lambda m, x, w: abs2(m.fft.fft(x * w)), (z(0, 64), _W)),
    Case("sum over no rows", lambda m, x: abs2(m.fft.fft(x)).sum(axis=0), (z(0, 64),)),
]

CASES = [*TRANSFORMS, *LENGTHS, *INDEX_MAPS, *LAYOUTS, *STORED, *WORK, *REDUCTIONS]
