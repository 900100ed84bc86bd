"""Half spectra that belong to no real signal: what counts for nothing in NumPy does so here.

The imaginary parts of the zero and the Nyquist frequency, and what is not Hermitian in their
columns, are set by phase ramps and fractional shifts; cuFFT folds them into the result.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
import scipy.fft

import fft_fused
from tests.gpu.support import (
    ENGINES,
    assert_close,
    assert_unchanged,
    check,
    fused,
    make,
    r,
    require,
    z,
)

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

ROUTES = (*ENGINES, "eager", "scipy backend")
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e or "planned")
by_route = pytest.mark.parametrize("route", ROUTES, ids=lambda e: e or "planned")
in_both_precisions = pytest.mark.parametrize("precision", ["single", "double"])

SPECTRA = [
    ("irfft", (64, 2049), {"n": 4096}),
    ("irfft", (4, 8193), {"n": 16384}),
    ("irfft", (5, 4), {"n": 7}),
    ("irfft", (5, 4), {}),
    ("irfft", (3, 1), {"n": 1}),
    ("irfft", (3, 2), {"n": 2}),
    ("irfft", (3, 501), {"n": 1001, "norm": "ortho"}),
    ("irfft", (5, 33), {"n": 40}),  # a bin of the middle becomes the Nyquist frequency
    ("irfft", (5, 33), {"n": 81}),  # and the other way round
    ("irfft", (33, 50), {"axis": 0}),
    ("hfft", (64, 2049), {"n": 4096}),
    ("hfft", (5, 16), {"n": 31, "norm": "forward"}),
    ("irfft2", (16, 256, 129), {}),
    ("irfft2", (1, 256, 129), {}),
    ("irfft2", (2, 2048, 1025), {}),
    ("irfft2", (3, 9, 8), {"s": (9, 15)}),
    ("irfft2", (3, 9, 8), {"s": (8, 10)}),
    ("irfft2", (33, 20, 16), {"axes": (2, 0)}),
    ("hfft2", (16, 256, 129), {}),
    ("hfft2", (3, 9, 8), {"s": (9, 15), "norm": "ortho"}),
    ("irfftn", (8, 32, 32, 17), {}),
    ("irfftn", (8, 32, 32, 17), {"axes": (1, 2, 3)}),
    ("irfftn", (6, 8, 6), {"s": (6, 8, 11)}),
    ("irfftn", (7, 9, 8), {"axes": (2, 0, 1)}),
    ("hfftn", (8, 32, 32, 17), {"axes": (1, 2, 3)}),
    ("hfftn", (6, 8, 6), {"s": (5, 9, 10)}),
]
NAMES = [f"{name}-{'x'.join(map(str, shape))}-{given}" for name, shape, given in SPECTRA]


def numpy_values(name, spectrum, given):
    """By ``numpy.fft`` in double precision; several axes of hfft by its definition."""
    wide = spectrum.astype(np.complex128)
    if name in ("irfft", "hfft"):
        return getattr(np.fft, name)(wide, **given)
    given = {"axes": (-2, -1) if name[-1] == "2" else tuple(range(spectrum.ndim)), **given}
    if name.startswith("i"):
        return np.fft.irfftn(wide, **given)
    swapped = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
    norm = swapped[given.get("norm", "backward")]
    return np.fft.irfftn(np.conj(wide), **{**given, "norm": norm})


@lru_cache(maxsize=2)
def spectrum_and_values(number, precision):
    name, shape, given = SPECTRA[number]
    spectrum = make(z(*shape), precision, np.random.default_rng(number))
    return spectrum, numpy_values(name, spectrum, given)


def transformed(route, name, x, given):
    if route == "eager":
        return getattr(fft_fused, name)(x, **given)
    if route == "scipy backend":
        with scipy.fft.set_backend(fft_fused, only=True):
            return getattr(scipy.fft, name)(x, **given)
    require(route)
    with fft_fused.options(engine=route):
        return fused(lambda m, x: getattr(m.fft, name)(x, **given))(x)


@by_route
@in_both_precisions
@pytest.mark.parametrize("number", range(len(SPECTRA)), ids=NAMES)
def test_any_half_spectrum_gives_what_numpy_gives(number, precision, route):
    name, _, given = SPECTRA[number]
    spectrum, wanted = spectrum_and_values(number, precision)
    x = cupy.asarray(spectrum)
    got = transformed(route, name, x, given)
    assert isinstance(got, cupy.ndarray)
    assert_close(cupy.asnumpy(got), wanted, spectrum.real.dtype, spectrum.size)
    assert_unchanged([x], [spectrum])


def test_the_spectra_above_differ_from_those_of_real_signals():
    for number in (0, 12, 20):
        spectrum, values = spectrum_and_values(number, "double")
        name, _, given = SPECTRA[number]
        axes = {"irfft": (-1,), "irfft2": (-2, -1), "irfftn": None}[name]
        clean = np.fft.rfftn(values, axes=axes)
        assert np.abs(clean - spectrum).max() > 0.5


def half_sample(m, x, axis):
    """A delay by half a sample: turns the Nyquist bin, and its column, by a quarter."""
    n = 2 * (x.shape[axis] - 1)
    turn = m.xp.arange(x.shape[axis], dtype=m.real) * (-m.xp.pi / n)
    return x * m.xp.exp(1j * turn)


@by_engine
@in_both_precisions
@pytest.mark.parametrize("shape", [(64, 4096), (3, 1000), (2, 20, 256)])
def test_signals_delayed_by_half_a_sample(shape, precision, engine):
    def program(m, x):
        return abs(m.fft.irfft(half_sample(m, m.fft.rfft(x), -1))) * 2

    check(program, (r(*shape),), precision, engine)


@by_engine
@in_both_precisions
def test_images_shifted_by_half_a_pixel(precision, engine):
    def program(m, x):
        spectrum = half_sample(m, m.fft.rfft2(x), -1)
        rows = m.fft.fftfreq(256).astype(m.real) * (-m.xp.pi)
        return m.fft.irfft2(spectrum * m.xp.exp(1j * rows)[:, None]) - 1

    check(program, (r(16, 256, 256),), precision, engine)


@by_engine
@pytest.mark.parametrize("program", [0, 1, 2, 3], ids=["1-D", "2-D", "3-D", "hfft"])
def test_work_before_and_after(program, engine):
    """What is dropped is dropped after the work before the transform."""
    programs = [
        (lambda m, s, h: m.fft.irfft(s * h, 64) ** 2, (z(5, 33), z(33))),
        (lambda m, s, h: m.fft.irfft2(s * h, (64, 64)).sum(axis=0), (z(5, 64, 33), z(33))),
        (lambda m, s, h: m.fft.irfftn(s * h, (8, 8, 16)) * 2, (z(8, 8, 9), z(9))),
        (lambda m, s, h: m.fft.hfft(s * h, 63) + 1, (z(5, 33), z(33))),
    ]
    check(*programs[program], "single", engine)


@by_engine
def test_real_and_integer_spectra(engine):
    check(lambda m, s: m.fft.irfft(s, 64) * 2, (r(5, 33),), "single", engine)
    check(lambda m, s: m.fft.irfft2(s + 1j), (r(5, 16, 17),), "single", engine)


@by_engine
def test_the_input_is_left_alone_when_the_result_goes_to_an_array_given(engine):
    require(engine)
    spectrum, wanted = spectrum_and_values(20, "single")
    x, out = cupy.asarray(spectrum), cupy.empty(wanted.shape, np.float32)
    with fft_fused.options(engine=engine):
        for _ in range(2):
            fused(lambda m, x: m.fft.irfftn(x))(x, out=out)
    assert_close(cupy.asnumpy(out), wanted, np.float32)
    assert_unchanged([x], [spectrum])
