"""SciPy's compiled transforms, below its dispatch: no uarray, no argument handling, ``out=``.

Plain transforms stay SciPy's. Its public functions would re-enter our own backend and cannot write
into a given array; the extension module under them (pocketfft up to SciPy 1.17, ducc from 1.18)
can. Its three functions have had one signature throughout; a test compares them with the public
functions, and where the module is not found the public functions serve.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft


def _extension() -> Any:
    for package in ("_duccfft", "_pocketfft"):
        try:
            basic = importlib.import_module(f"scipy.fft.{package}.basic")
            return basic.pfft
        except (ImportError, AttributeError):
            continue
    return None


_PFFT = _extension()


def _inorm(mode: int, forward: bool) -> str:
    """pocketfft's 0, 1, 2 (nothing, 1/sqrt(n), 1/n) as a norm name for a direction."""
    if mode == 1:
        return "ortho"
    return "backward" if (mode == 0) == forward else "forward"


def _public(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: int, n: int, forward: bool, mode: int, out: Any, workers: int) -> Any:
        import fft_fused

        with scipy.fft.skip_backend(fft_fused):
            result = getattr(scipy.fft, name)(
                a, n, axis, norm=_inorm(mode, forward), workers=workers
            )
        np.copyto(out, result)
        return out

    return call


def c2c(a: Any, axis: int, n: int, forward: bool, mode: int, out: Any, workers: int) -> Any:
    """Complex transform of ``a`` (complex or real) along an axis into ``out`` (``a`` itself works).

    ``mode`` scales by 1, 1/sqrt(n) or 1/n for 0, 1, 2.
    """
    if _PFFT is None:
        name = "fft" if forward else "ifft"
        return _public(name)(a, axis, n, forward, mode, out, workers)
    return _PFFT.c2c(a, (axis,), forward, mode, out, workers)


def r2c(a: Any, axis: int, n: int, forward: bool, mode: int, out: Any, workers: int) -> Any:
    """Real input, ``n//2 + 1`` outputs."""
    if _PFFT is None:
        return _public("rfft")(a, axis, n, True, mode, out, workers)
    return _PFFT.r2c(a, (axis,), True, mode, out, workers)


def c2r(a: Any, axis: int, n: int, forward: bool, mode: int, out: Any, workers: int) -> Any:
    """Half spectrum in, ``n`` real outputs; imaginary parts of DC and Nyquist count for nothing."""
    if _PFFT is None:
        return _public("irfft")(a, axis, n, False, mode, out, workers)
    return _PFFT.c2r(a, (axis,), n, False, mode, out, workers)


TRANSFORMS = {"c2c": c2c, "rfull": c2c, "r2c": r2c, "c2r": c2r}


def scale_mode(scale: float, n: int) -> int:
    """pocketfft's code for a scale that is 1, 1/sqrt(n) or 1/n."""
    candidates = (1.0, 1 / float(np.sqrt(n)), 1 / n)
    return min(range(3), key=lambda k: abs(candidates[k] - scale)) if n > 1 else 0


@functools.cache
def implementation(name: str) -> Callable[..., Any]:
    """SciPy's function of that name below its backend dispatch."""
    for module in ("_basic_backend", "_realtransforms_backend", "_fftlog_backend"):
        try:
            found = getattr(importlib.import_module(f"scipy.fft.{module}"), name, None)
        except ImportError:
            found = None
        if found is not None:
            return found
    return _skipping(name)


@functools.cache
def real_implementation(name: str) -> Callable[..., Any]:
    """A cosine or sine transform of SciPy, for complex input by the definition.

    SciPy up to 1.18 takes no notice of ``orthogonalize`` for complex arrays; the parts are
    transformed apart here.
    """
    plain = implementation(name)

    def call(x: Any, *args: Any, orthogonalize: bool | None = None, **kwargs: Any) -> Any:
        if orthogonalize is None or not np.iscomplexobj(x):
            return plain(x, *args, orthogonalize=orthogonalize, **kwargs)
        parts = np.asarray(x)
        real, imag = (
            plain(part, *args, orthogonalize=orthogonalize, **kwargs)
            for part in (parts.real.copy(), parts.imag.copy())
        )
        return real + 1j * imag

    return call


def _skipping(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        import fft_fused

        with scipy.fft.skip_backend(fft_fused):
            return getattr(scipy.fft, name)(*args, **kwargs)

    return call
