"""Whole plans for a GPU, run on the host: load callbacks, transforms and store callbacks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings

import fft_fused
from fft_fused import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    irfft,
    irfft2,
    irfftn,
    lazy,
    rfft,
    rfft2,
    rfftn,
    xp,
)
from fft_fused.engines import one_kernel
from fft_fused.engines.unfused import evaluate
from tests.programs import assert_equal_to_numpy, programs, quiet

from . import emulate, host

pytestmark = pytest.mark.skipif(host.COMPILER is None, reason="no C++ compiler")
RNG = np.random.default_rng(0)


def array(*shape, dtype="c8"):
    values = RNG.standard_normal(shape) * 10
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


Z, W, R = lazy(array(6, 16)), lazy(array(16, dtype="f4")), lazy(array(6, 16, dtype="f4"))
I8 = lazy(array(6, 16, 2, dtype="i1"))
PLANES, HALVES = lazy(array(3, 8, 10)), lazy(array(3, 8, 6))
CUBES = lazy(array(4, 6, 4))
D = lazy(array(3, 7, dtype="c16"))
BYTES = array(1 + 6 * 16 * 2, dtype="i1")
IQ = lazy(BYTES[1:].reshape(6, 16, 2))


def pair(v):
    return v.astype(np.float32).view(np.complex64)[..., 0]


VALUES = {
    "window, power": lambda: abs(fft(Z * W)) ** 2,
    "int8 pairs": lambda: abs(fft(pair(I8) * W)) ** 2,
    "int8 pairs at an odd address": lambda: abs(fft(pair(IQ) * W)) ** 2,
    "padded": lambda: fft(Z * 2, 40)[:, 3:30:2],
    "cropped": lambda: fft(Z[:, 2:12] * 2),
    "shifted": lambda: fftshift(fft(xp.roll(Z, 3, 1) * 2), axes=1) * W,
    "flipped": lambda: xp.flip(ifft(xp.flip(Z, 0))) + 1,
    "strided operands": lambda: fft(Z[::2, ::-1] * W[:16]) * 2,
    "transposed store": lambda: (abs(fft(Z)) ** 2).T * 2,
    "reshaped store": lambda: (fft(Z) * 2).reshape(6, 4, 4),
    "int8 store": lambda: xp.clip(xp.rint((fft(Z) * 3).view(np.float32)), -127, 127).astype("i1"),
    "half store": lambda: rfft(R * W).real.astype(np.float16),
    "index functions": lambda: fft(Z * xp.exp(1j * xp.arange(16, dtype=np.float32))),
    "frequencies": lambda: ifft(fft(Z) * fft_fused.fftfreq(16).astype(np.float32)),
    "per-row factor": lambda: fft(Z * W[:6, None]),
    "choice": lambda: xp.where(abs(fft(Z)) > 3, fft(Z), 0),
    "real": lambda: rfft(R * W) * 2,
    "back to real": lambda: irfft(rfft(R * 2) * 3, 16) * W,
    "odd real": lambda: irfft(fft(Z)[:, :8] * 2, 15) + 1,
    "hermitian": lambda: hfft(Z * 2)[:, :20] * 2,
    "double": lambda: abs(fft(D * 2)) ** 2,
    "planes": lambda: abs(fft2(PLANES * 2)) ** 2,
    "planes and back": lambda: ifft2(fft2(PLANES) * 3),
    "real planes": lambda: rfft2(PLANES.real) * 2,
    "dirty half planes": lambda: irfft2(HALVES * 1.5, (8, 10)),
    "dirty half planes, odd": lambda: irfft2(HALVES[:, :7] * 1.5, (7, 11)) * 2,
    "cubes": lambda: fftn(CUBES * 2) + 1,
    "real cubes": lambda: rfftn(CUBES.real * 2) * 2,
    "dirty half cubes": lambda: irfftn(CUBES * 2, (4, 6, 6)),
    "stacked": lambda: xp.stack([irfft2(HALVES * k, (8, 10)) for k in (1, 2, 3)]),
    "stacked complex": lambda: xp.stack([fft(Z * 1j), fft(Z * 2)], axis=0) * 2,
    "columns": lambda: abs(fft(Z * 2, axis=0)) ** 2,
    "middle axis": lambda: fft(lazy(array(9, 8, 5)) * 2, axis=1) * 3,
    "factor between axes": lambda: fft(fft(PLANES * 2) * W[:8, None], axis=1),
    "assignment": lambda: _assigned(),
    "sum over the batch": lambda: (abs(fft(Z * W)) ** 2).sum(axis=0),
    "frames": lambda: abs(rfft(_frames() * W[:8])) ** 2,
    "scaled, nothing after": lambda: ifft(Z * 2, norm="forward"),
}


def _assigned():
    power = abs(rfft(R)) ** 2
    power[:, 1:-1] *= 2
    return power


def _frames():
    return xp.lib.stride_tricks.sliding_window_view(lazy(array(64, dtype="f4")), 8)[::4]


@pytest.mark.parametrize("engine", ["cufft_callbacks", "library", "one_kernel"])
@pytest.mark.parametrize("name", VALUES)
def test_plans_equal_numpy(name, engine):
    value = VALUES[name]()
    plan, arrays = emulate.planned([value], engine)
    (got,) = emulate.run(plan, arrays)
    (wanted,) = evaluate(emulate.on_host(plan.expr), arrays, double=True)
    assert got.dtype == value.dtype
    eps = np.finfo(np.float32).eps if wanted.dtype.kind in "fc" else 0
    if value.dtype.kind in "iu":
        assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
    else:
        bound = 2e-3 if value.dtype == np.float16 else 40 * eps
        np.testing.assert_allclose(got, wanted, atol=bound * np.abs(wanted).max(), rtol=bound)


@pytest.mark.parametrize(("engine", "mends"), [("one_kernel", False), ("library", True)])
def test_only_a_library_has_dirty_edges_dropped_for_it(engine, mends):
    for value in (irfft2(HALVES * 1.5, (8, 10)), irfft(rfft(R * 2) * 3, 16) * W):
        plan, _ = emulate.planned([value], engine)
        work = [n.op for launch in plan.launches for n in launch.problem.nodes]
        assert ("where" in work) == mends


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("window, power", ["cufft_callbacks"]),
        ("int8 store", ["cufft_callbacks"]),
        ("transposed store", ["cufft_callbacks"]),
        ("planes and back", ["library", "cufft_callbacks"]),
        ("stacked", ["cufft_callbacks"]),
        ("dirty half cubes", ["cufft_callbacks"]),
        ("factor between axes", ["cufft_callbacks"]),
        ("assignment", ["cufft_callbacks"]),
        ("sum over the batch", ["cufft_callbacks", "elementwise"]),
    ],
)
def test_what_goes_into_callbacks(name, wanted):
    plan, _ = emulate.planned([VALUES[name]()], "cufft_callbacks")
    assert [launch.engine for launch in plan.launches][-len(wanted) :] == wanted


@pytest.mark.parametrize("engine", ["library", "cufft_callbacks", "one_kernel"])
def test_joined_parts_without_elements_are_left_out(engine):
    x = array(3, 2, dtype="f4")  # its even extension is itself and nothing
    plan, arrays = emulate.planned([fft_fused.dct(lazy(x), type=1)], engine)
    (got,) = emulate.run(plan, arrays)
    np.testing.assert_allclose(got, scipy.fft.dct(x, type=1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("engine", ["unfused", "library", "one_kernel"])
@pytest.mark.parametrize("name", ["dctn", "idstn"])
@pytest.mark.parametrize("s", [(1, 1), (3, 2), (5, 9)])
def test_resized_cosine_transforms_equal_numpy(name, s, engine):
    x = array(4, 6, dtype="f4")
    plan, arrays = emulate.planned([getattr(fft_fused, name)(lazy(x), s=s)], engine)
    (got,) = emulate.run(plan, arrays)
    wanted = getattr(scipy.fft, name)(x.astype(float), s=s)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * abs(wanted).max())


@settings(max_examples=25)
@given(programs(empty=False))
def test_random_programs_in_one_kernel_equal_numpy(program):
    with quiet(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_kernel, "_VARIANTS", 1)
        values = program.run([lazy(a) for a in program.inputs], xp, fft_fused)
        plan, arrays = emulate.planned(values, "one_kernel")
        assert_equal_to_numpy(program, emulate.run(plan, arrays))


@settings(max_examples=60)
@given(programs(empty=False))
def test_random_plans_equal_numpy(program):
    with quiet():
        values = program.run([lazy(a) for a in program.inputs], xp, fft_fused)
        for engine in ("cufft_callbacks", "library"):
            plan, arrays = emulate.planned(values, engine)
            assert_equal_to_numpy(program, emulate.run(plan, arrays))
