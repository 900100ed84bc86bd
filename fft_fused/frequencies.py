"""Shifts of the frequency axis, and the frequencies of the bins."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import foreign
from .expr import build
from .expr.node import Node
from .expr.recording import tracing
from .foreign import is_foreign
from .record import as_node, is_lazy, wrap


def _shift(x: Any, axes: Any, sign: int) -> Any:
    node = x.node
    which = build.normalize_axes(axes, node.ndim)
    return wrap(build.roll(node, [(a, sign * (node.shape[a] // 2)) for a in which]))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Zero frequency to the middle: element ``-n//2`` first.

    Parameters
    ----------
    x : array_like or LazyArray
    axes : int or sequence of int, optional
        All when None.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.fftshift([0, 1, 2, -2, -1])
    array([-2, -1,  0,  1,  2])
    """
    if is_lazy(x):
        return _shift(x, axes, 1)
    return foreign.shift("fftshift", x, axes) if is_foreign(x) else np.fft.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of ``fftshift``, also for odd lengths.

    Parameters
    ----------
    x : array_like or LazyArray
    axes : int or sequence of int, optional
        All when None.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.ifftshift([-2, -1, 0, 1, 2])
    array([ 0,  1,  2, -2, -1])
    """
    if is_lazy(x):
        return _shift(x, axes, -1)
    return foreign.shift("ifftshift", x, axes) if is_foreign(x) else np.fft.ifftshift(x, axes)


def fftfreq(
    n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None
) -> Any:
    """Frequencies of the bins of ``fft``, in cycles per unit of ``d``.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float
        Sample spacing.
    xp : namespace, optional
        Of another array library.
    dtype : dtype, optional
        float64 unless given.
    device : optional
        Must be None or "cpu" for NumPy.

    Returns
    -------
    ndarray, shape (n,)
        Lazy inside a function that is being recorded.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    if xp is not None:
        return xp.fft.fftfreq(n, d=d, **_given(dtype=dtype, device=device))
    if not tracing():
        return _converted(np.fft.fftfreq(n, d), dtype, device)
    count = _length(n)
    rising = build.iota(-(count // 2), 1, count, np.dtype("i8"))
    return _scaled(build.roll(rising, [(0, (count + 1) // 2)]), count, d, dtype)


def rfftfreq(
    n: int, d: float = 1.0, *, xp: Any = None, dtype: Any = None, device: Any = None
) -> Any:
    """Frequencies of the bins of ``rfft``, in cycles per unit of ``d``; see ``fftfreq``.

    Parameters
    ----------
    n, d, xp, dtype, device
        As for ``fftfreq``.

    Returns
    -------
    ndarray, shape (n // 2 + 1,)
        Lazy inside a function that is being recorded.

    Examples
    --------
    >>> import fft_fused
    >>> fft_fused.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    if xp is not None:
        return xp.fft.rfftfreq(n, d=d, **_given(dtype=dtype, device=device))
    if not tracing():
        return _converted(np.fft.rfftfreq(n, d), dtype, device)
    count = _length(n)
    return _scaled(build.iota(0, 1, count // 2 + 1, np.dtype("i8")), count, d, dtype)


def _length(n: Any) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise ValueError("n should be an integer") from None


def _given(**arguments: Any) -> dict[str, Any]:
    return {k: v for k, v in arguments.items() if v is not None}


def _scaled(index: Node, n: int, d: Any, dtype: Any) -> Any:
    values = build.elementwise("multiply", index, as_node(1.0 / (n * d)))
    return wrap(values if dtype is None else build.astype(values, dtype))


def _converted(values: np.ndarray, dtype: Any, device: Any) -> np.ndarray:
    if device not in (None, "cpu"):
        raise ValueError(f"device {device!r} is not one of NumPy's; only 'cpu'")
    return values if dtype is None else values.astype(dtype)
