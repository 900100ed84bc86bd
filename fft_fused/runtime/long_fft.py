"""Long transforms in two passes of short ones, which fit the cache and run side by side.

``n = n1*n2``: columns of the row seen as (n1, n2), a twiddle factor, rows, and a transposed write
(Bailey, "FFTs in external or hierarchical memory", 1990). The short transforms are SciPy's, which
takes four of them at once; one long row it transforms alone, at half the speed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from . import pocketfft

LEAST, MOST = 1 << 15, 1 << 20
LANES_UP_TO = 1 << 17
_ROWS_AT_ONCE = 4
_STRIP = 32
_PADDING = 8


@lru_cache(maxsize=256)
def factors(n: int) -> tuple[int, int] | None:
    """``(n1, n2)`` with n1*n2 = n, both near the square root and without large prime factors."""
    if not LEAST <= n <= MOST:
        return None
    root = math.isqrt(n)
    for n1 in range(root, root // 4, -1):
        if n % n1 == 0:
            return (n1, n // n1) if _is_smooth(n) else None
    return None


def _is_smooth(n: int) -> bool:
    for prime in (2, 3, 5, 7, 11):
        while n % prime == 0:
            n //= prime
    return n == 1


@lru_cache(maxsize=4)
def _twiddles(n1: int, n2: int, forward: bool, dtype: np.dtype) -> np.ndarray:
    """``exp(-+2i pi j k/n)`` of shape (n1, n2), from exact phases in double precision."""
    n = n1 * n2
    steps = np.arange(n1, dtype=np.int64)[:, None] * np.arange(n2, dtype=np.int64)
    phase = (steps % n) * ((-2 if forward else 2) * np.pi / n)
    table = np.empty((n1, n2), dtype)
    np.cos(phase, out=table.real, casting="same_kind")
    np.sin(phase, out=table.imag, casting="same_kind")
    table.flags.writeable = False
    return table


def c2c(a: Any, axis: int, n: int, forward: bool, mode: int, out: Any, workers: int) -> Any:
    """As ``pocketfft.c2c`` along the last axis."""
    split = factors(n)
    rows = out.size // n
    if split is None or (rows >= _ROWS_AT_ONCE and n <= LANES_UP_TO):
        return pocketfft.c2c(a, axis, n, forward, mode, out, workers)
    n1, n2 = split
    twiddles = _twiddles(n1, n2, forward, out.dtype)
    block = np.empty((n1, n2 + _PADDING), out.dtype)[:, :n2]  # no power of two between rows
    for index in np.ndindex(out.shape[:-1]):
        np.copyto(block, a[index].reshape(n1, n2))
        pocketfft.c2c(block, 0, n1, forward, mode, block, workers)
        np.multiply(block, twiddles, out=block)
        pocketfft.c2c(block, 1, n2, forward, mode, block, workers)
        result = out[index].reshape(n2, n1)
        for low in range(0, n1, _STRIP):
            result[:, low : low + _STRIP] = block[low : low + _STRIP].T
    return out
