"""Plans for a GPU, made without one: which engine does what, and the graph it is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import fft_fused
from fft_fused import ArraySpec, fft, fft2, fuse, ifft2, irfft, lazy, xp
from fft_fused.engines.unfused import evaluate
from fft_fused.passes.commute import FOR_LIBRARY
from fft_fused.passes.device import for_library
from fft_fused.passes.normalize import normalize
from fft_fused.passes.trace import collect
from tests.programs import assert_equal_to_numpy, programs, quiet


def spec(*shape, dtype="c8"):
    kind = np.dtype(dtype)
    strides = tuple(np.empty(shape, "i1").strides[k] * kind.itemsize for k in range(len(shape)))
    return ArraySpec(shape, kind, strides, "cuda:0")


def planned(function, *specs, engine="library"):
    with fft_fused.options(engine=engine):
        return fuse(function).compile(*specs)


def engines(function, *specs, engine="library"):
    return [launch.engine for launch in planned(function, *specs, engine=engine).launches]


def test_load_transform_store():
    found = engines(lambda x, w: abs(fft(x * w)) ** 2, spec(4096, 1024), spec(1024, dtype="f4"))
    assert found == ["elementwise", "library", "elementwise"]


def test_a_plain_transform_is_one_call():
    assert engines(lambda x: fft(x), spec(4096, 1024)) == ["library"]


def test_the_scale_of_an_inverse_is_in_the_map_after_it():
    found = engines(lambda x, h: ifft2(fft2(x) * h).real, spec(64, 512, 512), spec(512, 512))
    assert found == ["library", "elementwise", "library", "elementwise"]


def test_a_map_and_a_sum_are_one_launch():
    found = engines(lambda x: (abs(fft(x)) ** 2).sum(axis=0), spec(4096, 1024))
    assert found == ["library", "elementwise"]


def test_maps_alone_are_one_kernel():
    plan = fuse(lambda x: xp.exp(1j * abs(x)) * 2 + xp.roll(x, 3, 1)).compile(spec(4096, 1024))
    assert [launch.engine for launch in plan.launches] == ["elementwise"]
    assert plan.source.count("KERNEL fused_") == 1
    assert "// return" in plan.source


def test_complex_transforms_over_neighbouring_axes_are_one_call():
    plan = planned(lambda x: fft_fused.rfftn(x) * 2, spec(128, 128, 128, dtype="f4"))
    spans = [o.problem.span for o in plan.selection.offers if o.engine == "library"]
    assert spans == [(0, 3)]


def test_a_transform_over_a_middle_axis_has_its_transposes_in_the_maps():
    plan = planned(lambda x: abs(fft(x * 2, axis=1)) ** 2, spec(64, 256, 512))
    assert [launch.engine for launch in plan.launches] == ["elementwise", "library", "elementwise"]
    assert "dft[c2c n=256 axis=2 -]" in str(plan.normal)


def test_columns_side_by_side_need_no_transpose():
    plan = fuse(lambda x: fft(x, axis=0)).compile(spec(256, 512))
    assert [launch.engine for launch in plan.launches] == ["library"]


@given(programs(empty=False))
def test_what_a_library_is_given_has_the_same_values(program):
    with quiet():
        outputs = program.run([lazy(a) for a in program.inputs], xp, fft_fused)
        expr, sources = collect([o.node for o in outputs])
        plain = for_library(normalize(expr, FOR_LIBRARY))
        results = evaluate(plain, [s.array for s in sources])
    assert_equal_to_numpy(program, list(results))


def test_dirty_edges_of_half_spectra_are_dropped_before_the_transform():
    z = np.ones((2, 5), np.complex64) * (1 + 1j)
    expr, _ = collect([irfft(lazy(z), 8).node])
    text = str(for_library(normalize(expr)))
    assert "where(" in text
    assert text.index("where(") < text.index("c2r n=8 axis=1 +](")


def test_arrays_on_different_devices_are_refused():
    function = fuse(lambda x, y: x * y)
    other = ArraySpec((4,), np.dtype("c8"), (8,), "cpu")
    with pytest.raises(TypeError, match="x is on cuda:0, y on cpu; move one"):
        function.compile(spec(4), other)


def test_as_recorded_on_a_device_has_no_cosine_transforms_and_keeps_the_others():
    function = fuse(lambda x: fft_fused.dct(fft(x).real))
    with fft_fused.options(engine="unfused"):
        plan = function.compile(spec(16, 32))
    assert [launch.engine for launch in plan.launches] == ["unfused"]
    names = [n.attr.name for n in plan.launches[0].problem.nodes if n.op == "transform"]
    assert names == ["fft", "rfft"]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: (lambda s: [s, fft_fused.ifft(s)])(fft(x * 2)),
        lambda x: (lambda s: [fft_fused.ifft(s, norm="ortho"), s])(fft(x * 2, norm="ortho")),
        lambda x: (lambda s: [s, irfft(s, 6)])(fft_fused.ifft(x, axis=0)),
    ],
    ids=["round trip", "ortho", "half planes"],
)
def test_a_spectrum_that_is_a_result_too_keeps_its_values(program):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 4)) + 1j * rng.standard_normal((5, 4))
    expr, sources = collect([v.node for v in program(lazy(x))])
    arrays = [s.array for s in sources]
    wanted, got = evaluate(expr, arrays), evaluate(for_library(normalize(expr)), arrays)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
