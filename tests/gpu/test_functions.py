"""Functions of our own on a device: as exact as those of the CUDA library."""

from __future__ import annotations

import pytest

from fft_fused import lazy, xp

from ..cuda.test_functions_on_host import CASES, argument, assert_within

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize("name", CASES)
def test_functions_are_exact(name):
    x = argument(name)
    assert_within(CASES[name][0](xp, lazy(cupy.asarray(x))).compute().get(), x, name)
