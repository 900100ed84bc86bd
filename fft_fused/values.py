"""Where the values of a lazy array are asked for: computed, or refused with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import LazyValueError
from .expr.node import ArraySpec, walk
from .expr.recording import ScalarValueNeeded


class Values:
    """``compute``, and the conversions that need a value."""

    __slots__ = ()

    def compute(self: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Evaluate: a new array, or ``out``.

        Parameters
        ----------
        out : ndarray, optional
            Of this shape and a dtype the result can be cast to.

        Returns
        -------
        ndarray

        Raises
        ------
        LazyValueError
            In a function that is being recorded, for what depends on its arguments.

        Examples
        --------
        >>> import numpy as np, fft_fused
        >>> (fft_fused.lazy(np.arange(3.0)) + 1).compute()
        array([1., 2., 3.])
        """
        from .fuse import compute

        self.require_values()
        return compute(self, out=out)

    def explain(self: Any, stage: str | None = None) -> Any:
        """How ``compute`` would run; see ``Fused.explain``."""
        from .fuse import explain_lazies

        return explain_lazies((self,), stage)

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
        """This array, when ``device`` is where its values will be."""
        if device != self.device:
            raise ValueError(f"device {device!r}: this lazy array is on {self.device}")
        return self

    def __dlpack__(self: Any, **options: Any) -> Any:
        return self.compute().__dlpack__(**options)

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        place, _, index = self.device.partition(":")
        return (1, 0) if place == "cpu" else (2, int(index))

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"a LazyArray {self._spec()} has no memory to share: copy=False")
        if self.device != "cpu":
            raise TypeError(
                f"a LazyArray {self._spec()} on {self.device} is not copied to the host silently: "
                "call .compute(), and .get() on the result for a NumPy array; where a function of "
                "CuPy asked for it, use fft_fused.xp"
            )
        return np.asarray(self.compute(), dtype)

    def _spec(self: Any) -> str:
        return str(ArraySpec(self.shape, self.dtype, ()))

    def require_values(self: Any) -> None:
        """Refuse what depends on the arguments of a function that is being recorded."""
        leaves = [n for n in walk([self.node]) if not n.args]
        if any(n.op == "operand" and n.attr.array is None for n in leaves):
            raise LazyValueError(
                f"the values of a LazyArray {self._spec()} were asked for in a function that is "
                "being recorded: its arguments have none yet. Compute outside of the function, "
                "or use fft_fused.xp where a function of NumPy or CuPy was called."
            )
        slots = {n.attr for n in leaves if n.op == "scalar"}
        if slots:
            raise ScalarValueNeeded(tuple(sorted(slots)))

    def _value(self: Any, what: str) -> Any:
        """The value of what was computed from numbers only."""
        node = self.node
        if node.op == "const":
            return node.attr.value
        leaves = [n for n in walk([node]) if not n.args]
        if node.ndim == 0 and all(n.op in ("const", "scalar") for n in leaves):
            return self.compute()[()]
        raise LazyValueError(
            f"{what} of a LazyArray {self._spec()}: its values are not computed yet. "
            "Call .compute(), or use fft_fused.xp.where(condition, a, b)."
        )

    def __bool__(self) -> bool:
        return bool(self._value("bool()"))

    def __float__(self) -> float:
        return float(self._value("float()"))

    def __int__(self) -> int:
        return int(self._value("int()"))

    def __complex__(self) -> complex:
        return complex(self._value("complex()"))

    def __index__(self) -> int:
        return int(self._value("an index"))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._value("round()"), digits)

    def __contains__(self, item: Any) -> bool:
        return bool(self._value("'in'"))

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __len__(self: Any) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def item(self, *args: Any) -> Any:
        """Not known yet: raises LazyValueError."""
        return self._value("item()")

    def tolist(self) -> Any:
        """Not known yet: raises LazyValueError."""
        return self._value("tolist()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a LazyArray {self._spec()} cannot be pickled; call .compute() first")
