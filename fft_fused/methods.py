"""NumPy's reducing and rounding methods of arrays, on lazy arrays."""

from __future__ import annotations

from typing import Any


def _xp() -> Any:
    from . import xp

    return xp


class Methods:
    """Each method is the function of that name in ``fft_fused.xp``."""

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Sum over axes; all of them when ``axis`` is None."""
        return _xp().sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Mean over axes."""
        return _xp().mean(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Product over axes."""
        return _xp().prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Largest over axes."""
        return _xp().max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Smallest over axes."""
        return _xp().min(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        """True anywhere along axes."""
        return _xp().any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        """True everywhere along axes."""
        return _xp().all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Index of the largest along an axis; of the flattened array when None."""
        return _xp().argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Any:
        """Index of the smallest along an axis."""
        return _xp().argmin(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Variance over axes."""
        return _xp().var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        """Standard deviation over axes."""
        return _xp().std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Limited to [min, max]."""
        return _xp().clip(self, min, max)

    def round(self, decimals: int = 0) -> Any:
        """To the nearest integer, ties to even; only ``decimals=0``."""
        return _xp().round(self, decimals)

    def cumsum(self, axis: Any = None) -> Any:
        """Running sum."""
        return _xp().cumsum(self, axis=axis)

    def take(self, indices: Any, axis: Any = None) -> Any:
        """Elements at integer indices along an axis."""
        return _xp().take(self, indices, axis=axis)

    def repeat(self, repeats: int, axis: Any = None) -> Any:
        """Each element ``repeats`` times along an axis."""
        return _xp().repeat(self, repeats, axis=axis)
