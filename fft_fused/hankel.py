"""Fast Hankel transforms as recorded expressions: a spectrum times coefficients, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.fft import _fftlog_backend

from . import transforms, xp
from .record import table, wrap


def recorded(name: str, x: Any, dln: float, mu: float, offset: float, bias: float) -> Any:
    """``fht`` or ``ifht`` of a lazy array over its last axis, with the dtypes of SciPy's.

    The coefficients are SciPy's own, computed on the host when the call is recorded.
    """
    dln, mu, offset, bias = map(float, (dln, mu, offset, bias))
    n = x.shape[-1]
    steps = (xp.arange(n, dtype=np.float64) - (n - 1) / 2) * dln  # log of r over the middle one
    before, after = -bias * steps, -bias * (steps + offset)
    if name == "ifht":
        before, after = -after, -before
    spectrum = transforms.rfft(x * xp.exp(before) if bias else x)
    spectrum *= wrap(table(_coefficients(name, n, dln, mu, offset, bias), made_here=True))
    found = xp.flip(transforms.irfft(spectrum, n), -1)
    return found * xp.exp(after) if bias else found


def _coefficients(
    name: str, n: int, dln: float, mu: float, offset: float, bias: float
) -> np.ndarray:
    inverse = name == "ifht"
    found = _fftlog_backend.fhtcoeff(n, dln, mu, offset=offset, bias=bias, inverse=inverse)
    coefficients: np.ndarray = 1 / np.conj(found) if inverse else found
    return coefficients
