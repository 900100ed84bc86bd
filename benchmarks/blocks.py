"""Building blocks on a GPU: ``python -m benchmarks.blocks [--json FILE] [--engine NAME]``.

Transforms of many lengths, of planes and of cubes, with the work around them that engines fuse, on
2^28 points, each on one engine: the fastest of several calls by CUDA events, and the seconds of the
first call.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fft_fused
from fft_fused import fft, fft2, fftn, fuse, ifft, options, rfft


def power(x: Any, w: Any) -> Any:
    """Windowed power spectra."""
    return abs(fft(x * w)) ** 2


def integer_power(v: Any, w: Any) -> Any:
    """Windowed power spectra of pairs of 8-bit integers."""
    return power(v.astype(np.float32).view(np.complex64)[..., 0], w)


def summed_power(v: Any, w: Any) -> Any:
    """Power summed over the batch, of pairs of 8-bit integers."""
    return integer_power(v, w).sum(axis=0)


def filtered(x: Any, h: Any) -> Any:
    """A filter in the frequency domain."""
    return ifft(fft(x) * h)


def real_power(x: Any, w: Any) -> Any:
    """Windowed power spectra of real values."""
    return abs(rfft(x * w)) ** 2


def transform(x: Any) -> Any:
    """Nothing around it."""
    return fft(x)


def planes(x: Any) -> Any:
    """Planes, nothing around them."""
    return fft2(x)


def weighted_planes(x: Any, w: Any, h: Any) -> Any:
    """Planes with a factor before and one after."""
    return fft2(x * w) * h


def cube(x: Any) -> Any:
    """Cubes, nothing around them."""
    return fftn(x, axes=(-3, -2, -1))


def weighted_cube(x: Any, w: Any, h: Any) -> Any:
    """Cubes with a factor before and one after."""
    return fftn(x * w, axes=(-3, -2, -1)) * h


BLOCKS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "fft(x)": (transform, ("c8",)),
    "abs(fft(x * w))**2": (power, ("c8", "window")),
    "abs(fft(int8 * w))**2": (integer_power, ("i1 pairs", "window")),
    "sum of abs(fft(int8 * w))**2": (summed_power, ("i1 pairs", "window")),
    "ifft(fft(x) * h)": (filtered, ("c8", "filter")),
    "abs(rfft(x * w))**2": (real_power, ("f4", "window")),
}

OF_PLANES: dict[str, tuple[Callable[..., Any], int]] = {
    "fft2(x)": (planes, 2),
    "fft2(x * w) * h": (weighted_planes, 2),
    "fftn(x)": (cube, 3),
    "fftn(x * w) * h": (weighted_cube, 3),
}


def arguments(kinds: Sequence[str], points: int, n: int, xp: Any) -> list[Any]:
    """Arrays of a block for transforms of length n."""
    made = {
        "window": lambda: xp.ones(n, np.float32),
        "filter": lambda: xp.ones(n, np.complex64),
        "i1 pairs": lambda: xp.ones((points // n, n, 2), np.int8),
        "c8": lambda: xp.ones((points // n, n), np.complex64),
        "f4": lambda: xp.ones((points // n, n), np.float32),
    }
    return [made[kind]() for kind in kinds]


def fastest(call: Callable[[], Any], repeat: int, xp: Any) -> float:
    """Milliseconds of the fastest of several calls."""
    best = math.inf
    for _ in range(repeat):
        if xp is np:
            start = time.perf_counter()
            call()
            best = min(best, (time.perf_counter() - start) * 1e3)
            continue
        start, stop = xp.cuda.Event(), xp.cuda.Event()
        start.record()
        call()
        stop.record()
        stop.synchronize()
        best = min(best, xp.cuda.get_elapsed_time(start, stop))
    return best


def timed(
    title: str, call: Callable[..., Any], given: Sequence[Any], n: int, repeat: int, xp: Any
) -> dict[str, Any]:
    """One row of the result."""
    start = time.perf_counter()
    call(*given)
    first = time.perf_counter() - start
    best = fastest(lambda: call(*given), repeat, xp)
    print(f"{title:30s} {n:6d} {best:8.3f} ms   first call {first:.2f} s", flush=True)
    return {"block": title, "n": n, "ms": round(best, 4), "first_s": round(first, 2)}


def measure(
    xp: Any, points: int, lengths: Sequence[int], engine: str | None, repeat: int
) -> list[dict[str, Any]]:
    """One row for each block and length."""
    rows = []
    for title, (function, kinds) in BLOCKS.items():
        for n in lengths:
            given = arguments(kinds, points, n, xp)
            with options(engine=engine, background=False):
                rows.append(timed(title, fuse(function), given, n, repeat, xp))
    for title, (function, axes) in OF_PLANES.items():
        for n in (256, 512, 1024) if axes == 2 else (64, 256, 512):
            count = points // n**axes
            if not count:
                continue
            x = xp.ones((count, *[n] * axes), np.complex64)
            w, h = xp.ones(x.shape[1:], np.float32), xp.ones(x.shape[1:], np.complex64)
            given = (x, w, h) if "w" in title else (x,)
            with options(engine=engine, background=False):
                rows.append(timed(title, fuse(function), given, n, repeat, xp))
            del given, x, w, h
    return rows


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    parser.add_argument("--engine", help="one engine; the race's choice without")
    parser.add_argument("--points", type=int, default=1 << 28)
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 1024, 4096, 8192, 16384])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--numpy", action="store_true", help="NumPy arrays, to try it out")
    parser.add_argument("--json", type=Path, help="where results go")
    given = parser.parse_args(argv)
    if given.numpy:
        xp: Any = np
    else:
        import cupy as xp
    rows = measure(xp, given.points, given.lengths, given.engine, given.repeat)
    result = {
        "command": "python -m benchmarks.blocks",
        "date": datetime.date.today().isoformat(),
        "engine": given.engine or "the race's choice",
        "points": given.points,
        "machine": str(fft_fused.info()).splitlines(),
        "rows": rows,
    }
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
