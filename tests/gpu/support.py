"""What the tests on a device share: inputs, the two readings of a program, one rule of tolerance.

A program is a function of ``(names, *arrays)``, written once. It runs fused on arrays of the
device; on NumPy arrays as it is written, which fixes shapes and dtypes; and on NumPy arrays in
double precision, which fixes the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.fft

import fft_fused
from fft_fused.engines import names as engine_names

# None: the planner's choice
ENGINES = (None, "library", "cufft_callbacks", "one_kernel", "unfused")


@dataclass(frozen=True)
class Names:
    """The namespaces and dtypes that a program is written with."""

    xp: Any
    fft: Any
    real: type
    complex: type


_DTYPES: dict[str, tuple[type, type]] = {
    "single": (np.float32, np.complex64),
    "double": (np.float64, np.complex128),
}


def fused_names(precision: str) -> Names:
    """For lazy arrays."""
    return Names(fft_fused.xp, fft_fused, *_DTYPES[precision])


def numpy_names(precision: str) -> Names:
    """For NumPy arrays."""
    return Names(np, scipy.fft, *_DTYPES[precision])


@dataclass(frozen=True)
class Given:
    """An input: "real" or "complex" in the precision of the test, or a dtype; and a view of it."""

    kind: str
    shape: tuple[int, ...]
    view: Callable[[Any], Any] = lambda a: a


def z(*shape: int, view: Callable[[Any], Any] = lambda a: a) -> Given:
    """Complex numbers."""
    return Given("complex", shape, view)


def r(*shape: int, view: Callable[[Any], Any] = lambda a: a) -> Given:
    """Real numbers."""
    return Given("real", shape, view)


def stored(dtype: str, *shape: int, view: Callable[[Any], Any] = lambda a: a) -> Given:
    """Numbers of a dtype whatever the precision."""
    return Given(dtype, shape, view)


_LIMITS = {"?": (0, 2), "i1": (-100, 100), "u1": (0, 200), "i2": (-1000, 1000), "u2": (0, 2000)}


def make(given: Given, precision: str, rng: np.random.Generator) -> np.ndarray:
    """The base array of an input, in C order."""
    real, cplx = _DTYPES[precision]
    if given.kind == "complex":
        return (rng.standard_normal(given.shape) + 1j * rng.standard_normal(given.shape)).astype(
            cplx
        )
    if given.kind in _LIMITS:
        return rng.integers(*_LIMITS[given.kind], given.shape).astype(given.kind)
    return rng.standard_normal(given.shape).astype(real if given.kind == "real" else given.kind)


def arrays(inputs: Sequence[Given], precision: str, seed: int = 0) -> list[np.ndarray]:
    """Base arrays of all inputs."""
    rng = np.random.default_rng(seed)
    return [make(g, precision, rng) for g in inputs]


def widened(array: np.ndarray) -> np.ndarray:
    """In double precision; integers and bools as they are."""
    kinds = {"f": np.float64, "c": np.complex128}
    return array.astype(kinds.get(array.dtype.kind, array.dtype))


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def fused(program: Callable[..., Any], precision: str = "single") -> Any:
    """The program as a fused function of arrays."""
    names = fused_names(precision)
    return fft_fused.fuse(lambda *given: program(names, *given))


def oracle(
    program: Callable[..., Any], bases: Sequence[np.ndarray], views: Sequence[Any], precision: str
) -> list[Wanted]:
    """The values in double precision, and the dtypes that NumPy gives."""
    with np.errstate(all="ignore"):
        plain = [view(a) for view, a in zip(views, bases, strict=True)]
        kinds = as_tuple(program(numpy_names(precision), *plain))
        wide = [view(widened(a)) for view, a in zip(views, bases, strict=True)]
        values = as_tuple(program(numpy_names("double"), *wide))
    for kind, value in zip(kinds, values, strict=True):
        assert np.shape(kind) == np.shape(value)
    return [Wanted(np.asarray(k).dtype, np.asarray(v)) for k, v in zip(kinds, values, strict=True)]


@dataclass(frozen=True)
class Wanted:
    """Values in double precision, and the dtype of a result."""

    dtype: np.dtype
    values: np.ndarray


def tolerance(dtype: np.dtype, size: int, peak: float) -> float:
    """Largest absolute error: ``eps * log2(n)`` of the peak; one step for integers."""
    if dtype.kind not in "fc":
        return 1.0
    eps = float(np.finfo(dtype).eps)
    return eps * peak * (1 if dtype.char == "e" else 2 + float(np.log2(max(size, 2))))


def assert_close(got: np.ndarray, wanted: np.ndarray, dtype: Any, size: int = 0) -> None:
    """Shape, dtype and values; ``size`` is that of the largest array on the way."""
    assert got.shape == wanted.shape
    assert got.dtype == dtype
    if wanted.size == 0:
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    error = np.abs(got.astype(wide) - wanted.astype(wide))
    peak = float(np.abs(wanted.astype(wide)).max())
    worst, limit = float(error.max()), tolerance(got.dtype, max(size, wanted.size), peak)
    assert worst <= limit, f"error {worst:.3g} of {peak:.3g}, allowed {limit:.3g}"
    if got.dtype.kind not in "fc":
        assert np.count_nonzero(error) <= 0.01 * wanted.size


def require(engine: str | None) -> None:
    """Skip what is for an engine that this version does not have."""
    if engine is not None and engine not in engine_names():
        pytest.skip(f"there is no engine {engine!r}")


def assert_unchanged(device: Sequence[Any], bases: Sequence[np.ndarray]) -> None:
    """Arrays of the device hold the bits they were made of."""
    import cupy

    for array, base in zip(device, bases, strict=True):
        assert cupy.asnumpy(array).tobytes() == base.tobytes(), "an input was written to"


def check(
    program: Callable[..., Any],
    inputs: Sequence[Given],
    precision: str = "single",
    engine: str | None = None,
) -> None:
    """The program on the device equals NumPy in double precision and leaves its inputs alone."""
    import cupy

    require(engine)
    bases, views = arrays(inputs, precision), [g.view for g in inputs]
    wanted = oracle(program, bases, views, precision)
    device = [cupy.asarray(a) for a in bases]
    with fft_fused.options(engine=engine):
        results = fused(program, precision)(
            *(view(a) for view, a in zip(views, device, strict=True))
        )
    size = max(a.size for a in bases)
    for got, want in zip(as_tuple(results), wanted, strict=True):
        assert isinstance(got, cupy.ndarray)
        assert_close(cupy.asnumpy(got), want.values, want.dtype, size)
    assert_unchanged(device, bases)
