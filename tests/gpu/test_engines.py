"""One contract for every engine: shapes, dtypes and values of NumPy, and inputs left alone."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from tests.gpu.cases import CASES, abs2
from tests.gpu.support import (
    ENGINES,
    arrays,
    assert_close,
    assert_unchanged,
    check,
    fused,
    oracle,
    r,
    require,
    z,
)

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")

LENGTHS = (1, 2, 7, 8, 30, 127, 131, 256, 1000, 1009, 4096, 8192, 12347, 16384, 65536)
_OF_EVERY_ENGINE = {
    *("fft2", "hfft", "irfft over a middle axis", "pad and crop", "frames", "transposes around"),
    *("int8 pairs", "sum over the batch", "three results"),
}
SANITIZED = {
    "one_kernel": _OF_EVERY_ENGINE
    | {"irfftn", "polyphase filter", "fft, multiply, ifft", "place of the largest", "to uint8"},
    "library": _OF_EVERY_ENGINE,
    "cufft_callbacks": _OF_EVERY_ENGINE,
}
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e or "planned")
in_both_precisions = pytest.mark.parametrize("precision", ["single", "double"])


def _contract():
    for case in CASES:
        for precision in ("single", "double") if case.double else ("single",):
            for engine in ENGINES:
                small = precision == "single" and case.name in SANITIZED.get(engine, ())
                yield pytest.param(
                    case,
                    precision,
                    engine,
                    id=f"{case.name}-{precision}-{engine or 'planned'}",
                    marks=[pytest.mark.sanitizer] if small else [],
                )


@pytest.mark.parametrize(("case", "precision", "engine"), list(_contract()))
def test_programs(case, precision, engine):
    check(case.program, case.inputs, precision, engine)


@by_engine
@in_both_precisions
@pytest.mark.parametrize("n", LENGTHS)
def test_complex_transforms_of_every_length(n, precision, engine):
    check(lambda m, x, w: abs2(m.fft.fft(x * w)), (z(3, n), r(n)), precision, engine)
    if precision == "single":
        check(lambda m, x, h: m.fft.ifft(x - 1) * h, (z(3, n), z(n)), precision, engine)


@by_engine
@in_both_precisions
@pytest.mark.parametrize("n", LENGTHS)
def test_real_transforms_of_every_length(n, precision, engine):
    half = n // 2 + 1
    check(lambda m, s, w: m.fft.irfft(s * 2, n) * w, (z(3, half), r(n)), precision, engine)
    if precision == "single":
        check(lambda m, x, w: abs2(m.fft.rfft(x * w)), (r(3, n), r(n)), precision, engine)


@by_engine
@pytest.mark.parametrize(
    ("axis", "norm"),
    [(0, "ortho"), (1, "backward"), (2, "forward"), (-1, "ortho"), (-2, "forward"), (0, None)],
)
def test_every_axis_and_norm(axis, norm, engine):
    def there_and_back(m, x, h):
        spectrum = m.fft.fft(x * 2, axis=axis, norm=norm)
        return spectrum, abs2(m.fft.ifft(spectrum * h, axis=axis, norm=norm))

    check(there_and_back, (z(6, 10, 15), z(6, 10, 15)), "single", engine)


@by_engine
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_norms_of_real_transforms(norm, engine):
    def program(m, x):
        half = m.fft.rfft2(x, norm=norm)
        return abs2(half), m.fft.irfft2(half * 2, (8, 15), norm=norm) ** 2

    check(program, (r(3, 8, 15),), "single", engine)


@pytest.mark.parametrize("engine", ["library", "cufft_callbacks", "unfused"])
@pytest.mark.parametrize("n", [256, 4096])
def test_the_engine_asked_for_runs_the_transform(n, engine):
    require(engine)
    power = fft_fused.fuse(lambda x, w: abs(fft_fused.fft(x * w)) ** 2)
    given = cupy.ones((64, n), np.complex64), cupy.ones(n, np.float32)
    with fft_fused.options(engine=engine):
        launches = power.explain(*given).to_dict()["launches"]
    assert engine in {launch["engine"] for launch in launches}
    if engine in ("cufft_callbacks", "unfused"):
        assert len(launches) == 1


def _filtered(m, x, h):
    return m.fft.ifft(m.fft.fft(x * 2) * h)


@by_engine
@pytest.mark.parametrize(
    "layout",
    [
        lambda shape, dtype: cupy.empty(shape, dtype),
        lambda shape, dtype: cupy.empty(shape, np.complex128),
        lambda shape, dtype: cupy.empty(shape[::-1], dtype).T,
        lambda shape, dtype: cupy.empty((9, shape[1] * 2), dtype)[1:6, ::2],
        lambda shape, dtype: cupy.empty(shape[0] * shape[1] + 1, dtype)[1:].reshape(shape),
    ],
    ids=["contiguous", "wider", "Fortran order", "strided", "one element in"],
)
def test_results_go_to_the_array_given(layout, engine):
    require(engine)
    inputs = (z(5, 64), z(64))
    bases = arrays(inputs, "single")
    (wanted,) = oracle(_filtered, bases, [g.view for g in inputs], "single")
    out = layout((5, 64), np.complex64)
    device = [cupy.asarray(a) for a in bases]
    with fft_fused.options(engine=engine):
        assert fused(_filtered)(*device, out=out) is out
    assert_close(cupy.asnumpy(out).astype(np.complex64), wanted.values, np.complex64)
    assert_unchanged(device, bases)


@by_engine
def test_results_may_replace_an_input(engine):
    require(engine)
    bases = arrays((z(5, 64), z(64)), "single")
    (wanted,) = oracle(_filtered, bases, [lambda a: a] * 2, "single")
    x, h = (cupy.asarray(a) for a in bases)
    with fft_fused.options(engine=engine):
        fused(_filtered)(x, h, out=x)
    assert_close(cupy.asnumpy(x), wanted.values, np.complex64)
    assert_unchanged([h], bases[1:])


@by_engine
def test_several_results_with_and_without_arrays_given(engine):
    require(engine)
    (base,) = arrays((z(5, 64),), "single")
    x, power = cupy.asarray(base), cupy.empty((5, 64), np.int16)
    spectrum = fft_fused.fft(fft_fused.lazy(x) * 2)
    stored = fft_fused.xp.rint(abs(spectrum) ** 2).astype(np.int16)
    with fft_fused.options(engine=engine):
        got, same = fft_fused.compute(spectrum, stored, out=[None, power])
    assert same is power
    wanted = np.fft.fft(base.astype(np.complex128) * 2)
    assert_close(cupy.asnumpy(got), wanted, np.complex64)
    assert_close(cupy.asnumpy(power), np.rint(abs2(wanted)).astype(np.int16), np.int16)


@by_engine
def test_numbers_are_read_at_each_call(engine):
    require(engine)

    @fft_fused.fuse
    def scaled(x, gain, turn):
        return abs(fft_fused.fft(x * turn) * gain) ** 2

    (base,) = arrays((z(5, 64),), "single")
    x = cupy.asarray(base)
    with fft_fused.options(engine=engine):
        for gain, turn in ((1.0, 1j), (0.25, 2 - 1j), (-3.0, 0.5 + 0j)):
            wanted = abs2(np.fft.fft(base.astype(np.complex128) * turn) * gain)
            assert_close(cupy.asnumpy(scaled(x, gain, turn)), wanted, np.float32)
    assert scaled.trace_count == 1


@by_engine
@pytest.mark.parametrize("shape", [(64, 1024), (4, 65536), (7, 1009)])
def test_errors_are_no_larger_than_those_of_the_unfused_expression(shape, engine):
    require(engine)
    program = lambda m, x, h: m.fft.ifft(m.fft.fft(x) * h)  # noqa: E731
    bases = arrays((z(*shape), z(shape[-1])), "single")
    (wanted,) = oracle(program, bases, [lambda a: a] * 2, "single")
    device = [cupy.asarray(a) for a in bases]

    def error(result):
        return np.linalg.norm(cupy.asnumpy(result) - wanted.values) / np.linalg.norm(wanted.values)

    with fft_fused.options(engine=engine):
        found = error(fused(program)(*device))
    assert found <= 1.5 * error(cupy.fft.ifft(cupy.fft.fft(device[0]) * device[1]))
