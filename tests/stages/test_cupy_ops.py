"""Unfused calls on CuPy, the parts that need no device."""

import numpy as np
import pytest

from fft_fused.engines.cupy_ops import device_function
from fft_fused.expr import build


@pytest.mark.parametrize("dtype", ["f4", "c8", "f8", "i4"])
def test_what_is_computed_of_numbers_alone_stays_a_number(dtype):
    """CuPy refuses arrays of the host beside its own, those without axes too."""
    node = build.astype(build.scalar(0, "f"), np.dtype(dtype))
    product = build.elementwise("multiply", node, build.scalar(1, "f"))
    cast = device_function(node, None)(3.0)
    for value in (cast, device_function(product, None)(cast, 2.0)):
        assert not isinstance(value, np.ndarray)
    assert cast == 3
    assert cast.dtype == dtype
