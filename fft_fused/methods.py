"""NumPy's reducing and rounding methods of arrays, on lazy arrays."""

from __future__ import annotations

from typing import Any, NoReturn


def _xp() -> Any:
    from . import xp

    return xp


class Methods:
    """Each method is the function of that name in ``fft_fused.xp``, with NumPy's signature.

    CuPy's functions call these methods with all arguments, so that they are recorded too.
    """

    __slots__ = ()

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Sum over axes; all of them when ``axis`` is None."""
        return _xp().sum(self, axis, dtype, out, keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Mean over axes."""
        return _xp().mean(self, axis, dtype, out, keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Product over axes."""
        return _xp().prod(self, axis, dtype, out, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Largest over axes."""
        return _xp().max(self, axis, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Smallest over axes."""
        return _xp().min(self, axis, out, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """True anywhere along axes."""
        return _xp().any(self, axis, out, keepdims)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """True everywhere along axes."""
        return _xp().all(self, axis, out, keepdims)

    def argmax(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, dtype: Any = None
    ) -> Any:
        """Index of the largest along an axis; of the flattened array when None."""
        return _index_of(_xp().argmax(self, axis, out, keepdims), dtype)

    def argmin(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, dtype: Any = None
    ) -> Any:
        """Index of the smallest along an axis."""
        return _index_of(_xp().argmin(self, axis, out, keepdims), dtype)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
    ) -> Any:
        """Variance over axes."""
        return _xp().var(self, axis, dtype, out, ddof, keepdims)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
    ) -> Any:
        """Standard deviation over axes."""
        return _xp().std(self, axis, dtype, out, ddof, keepdims)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Limited to [min, max]."""
        return _xp().clip(self, min, max, out)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """To the nearest integer, ties to even; only ``decimals=0``."""
        return _xp().round(self, decimals, out)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Running sum."""
        return _xp().cumsum(self, axis, dtype, out)

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        """Elements at integer indices along an axis."""
        return _xp().take(self, indices, axis, out)

    def repeat(self, repeats: int, axis: Any = None) -> Any:
        """Each element ``repeats`` times along an axis."""
        return _xp().repeat(self, repeats, axis=axis)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"a lazy array has no {name!r}: use fft_fused.xp, which has pad, roll and what else is "
            "recorded, in place of a function of NumPy or CuPy, or call .compute() first"
        )


def _index_of(found: Any, dtype: Any) -> Any:
    return found if dtype is None else found.astype(dtype)
