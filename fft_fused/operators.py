"""Operators of lazy arrays, and NumPy's and the array API's protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .cupy_overrides import apply_kernel, apply_reduction
from .expr import build
from .overrides import apply_function, apply_ufunc
from .record import as_node, operate, wrap

_Maker = Callable[..., Any]


def _binary(op: str) -> tuple[_Maker, _Maker, _Maker]:
    """``a op b``, the reflected and the in-place form."""

    def forward(self: Any, other: Any) -> Any:
        return operate(op, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return operate(op, other, self)

    def in_place(self: Any, other: Any) -> Any:
        result = operate(op, self, other)
        if result is NotImplemented or self.is_number:
            return result
        return self.assign(result, op)

    return forward, reflected, in_place


def _unary(op: str) -> _Maker:
    return lambda self: operate(op, self)


class Operators:
    """What Python and NumPy call for an operator or function with a lazy array."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __lt__, __gt__, _ = _binary("less")
    __le__, __ge__, _ = _binary("less_equal")
    __eq__, _, _ = _binary("equal")
    __ne__, _, _ = _binary("not_equal")
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")

    def __matmul__(self, other: Any) -> Any:
        return wrap(build.matmul(as_node(self), as_node(other)))

    def __rmatmul__(self, other: Any) -> Any:
        return wrap(build.matmul(as_node(other), as_node(self)))

    def __imatmul__(self: Any, other: Any) -> Any:
        return self.assign(self @ other, "matmul")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def __cupy_override_elementwise_kernel__(self, kernel: Any, *args: Any, **options: Any) -> Any:
        return apply_kernel(kernel, args, options)

    def __cupy_override_reduction_kernel__(
        self, kernel: Any, axis: Any, dtype: Any, out: Any, keepdims: bool
    ) -> Any:
        return apply_reduction(self, kernel, axis, dtype, out, keepdims)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import xp

        return xp
