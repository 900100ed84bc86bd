"""Four fused calls that the tests of streams and memory make, and their values by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fft_fused import fft, ifft, irfft2
from tests.gpu.cases import abs2
from tests.gpu.support import ENGINES, assert_close

by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e or "planned")
by_fusing_engine = pytest.mark.parametrize("engine", ENGINES[:-1], ids=lambda e: e or "planned")


def filtered(x: Any, h: Any) -> Any:
    return ifft(fft(x * 2) * h)


def power(x: Any, w: Any) -> Any:
    return abs2(fft(x * w))


def summed(x: Any, w: Any) -> Any:
    return abs2(fft(x * w)).sum(axis=0)


def real_image(x: Any, w: Any) -> Any:
    return irfft2(fft(x * w, axis=-2)) + 1


PROGRAMS = {f.__name__: f for f in (filtered, power, summed, real_image)}
by_program = pytest.mark.parametrize("name", PROGRAMS)

_NUMPY = {
    "filtered": lambda x, h: np.fft.ifft(np.fft.fft(x * 2) * h),
    "power": lambda x, w: abs2(np.fft.fft(x * w)),
    "summed": lambda x, w: abs2(np.fft.fft(x * w)).sum(axis=0),
    "real_image": lambda x, w: np.fft.irfft2(np.fft.fft(x * w, axis=-2), axes=(-2, -1)) + 1,
}


def expect(name: str, got: Any, *given: np.ndarray) -> None:
    """A result of a program, in single precision, equals NumPy's in double precision."""
    import cupy

    wanted = _NUMPY[name](*(a.astype(np.complex128) for a in given))
    dtype = np.complex64 if wanted.dtype.kind == "c" else np.float32
    assert_close(cupy.asnumpy(got), wanted, dtype, given[0].size)
