"""Plain kernels around generated FFTs, on a device, against NumPy in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from fft_fused.cuda.fft.bluestein import bluestein_shapes
from fft_fused.cuda.fft.real import real_shapes
from fft_fused.cuda.fft.shape import BlockFFT, shapes
from fft_fused.cuda.launch import Function

from ..cuda.fft_device import rows, source
from ..cuda.fft_host import exact, relative_error, result_of, signal, table_of

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")
SINGLE, DOUBLE = 1.8e-7, 3.5e-16

COMPLEX = [
    *(fft for n in (5, 64, 100, 256, 899, 1000, 1155, 2048, 4096) for fft in shapes(n)[:2]),
    *(shapes(n)[0] for n in (1024, 6144, 8192, 16384, 20480)),
    *(shapes(n, True)[0] for n in (31, 256, 1000, 4096, 8192)),
    BlockFFT(4096, 16, (16, 16, 16), split=True),
    BlockFFT(899, 29, (29, 31), split=True),
]
REAL = [
    fft
    for inverse in (False, True)
    for n in (2, 9, 30, 62, 225, 512, 1000, 4096, 16384, 74)
    for fft in real_shapes(n, inverse)[:3]
]
CHIRP = [bluestein_shapes(n)[0] for n in (37, 127, 1009, 4099)]


def run(fft, sign, count):
    """Rows of results for rows that are multiples of one signal."""
    reals = fft.shared_reals + fft.shared_reals % 2
    shared = rows(fft) * reals * signal(fft).real.itemsize
    kernel = Function(source(fft, sign), "k", shared).load(cupy.cuda.runtime.getDevice())
    scales = np.float32(2.0) ** (np.arange(count) % 8)
    given = cupy.asarray(signal(fft)[None] * scales[:, None].astype(signal(fft).real.dtype))
    out = cupy.full((count, *result_of(fft).shape), cupy.nan, result_of(fft).dtype)
    blocks = -(-count // rows(fft))
    arguments = given, out, cupy.asarray(table_of(fft)), np.int32(count)
    kernel((blocks, 1, 1), (fft.threads, rows(fft), 1), arguments, shared)
    return cupy.asnumpy(out) / scales[:, None]


@pytest.mark.parametrize("fft", [*COMPLEX, *REAL, *CHIRP], ids=repr)
def test_kernels_equal_numpy(fft):
    sign = 1 if getattr(fft, "inverse", fft.length % 2) else -1
    found = run(fft, sign, rows(fft) + 1)
    wanted = exact(fft, signal(fft), sign)
    bound = DOUBLE if signal(fft).real.itemsize == 8 else SINGLE
    bound *= 1.4 if fft in CHIRP or fft.length == 74 else 1
    for row in found:
        assert relative_error(row, wanted) < bound
