"""Cosine and sine transforms by Fourier transforms: every type, norm and axis as SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import fft_fused
from fft_fused import lazy
from fft_fused.engines.unfused import evaluate
from fft_fused.passes.commute import FOR_LIBRARY
from fft_fused.passes.device import for_library
from fft_fused.passes.normalize import normalize
from fft_fused.passes.trace import collect

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6, 5))


def by_fourier(value):
    expr, sources = collect([value.node])
    plain = for_library(normalize(expr, FOR_LIBRARY))
    assert "transform[" not in str(plain)
    (result,) = evaluate(plain, [s.array for s in sources])
    return result


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("orthogonalize", [None, True, False])
def test_one_axis(name, kind, norm, orthogonalize):
    options = {"type": kind, "norm": norm, "orthogonalize": orthogonalize}
    for x in (X, X + 1j * X[::-1], X.astype(np.float32)):
        for axis in (0, -1):
            got = by_fourier(getattr(fft_fused, name)(lazy(x), axis=axis, **options))
            wanted = getattr(fft_fused, name)(x, axis=axis, **options)
            assert got.dtype == wanted.dtype
            tolerance = 1e-4 if x.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(got, wanted, atol=tolerance)


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_several_axes_and_other_lengths(name, kind):
    for options in ({}, {"axes": (0, 2), "s": (7, 3)}, {"axes": (1,), "norm": "ortho"}):
        got = by_fourier(getattr(fft_fused, name)(lazy(X), type=kind, **options))
        wanted = getattr(fft_fused, name)(X, type=kind, **options)
        np.testing.assert_allclose(got, wanted, atol=1e-11)
