"""Elementwise functions, made from the operator table under NumPy's and the array API's names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..expr import build
from ..expr.node import Node
from ..expr.ops import OPS
from ..record import as_lazy, as_node, is_lazy, wrap, written
from ..runtime.exchange import known

_ALIASES = {
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift",
    "conj": "conjugate",
    "mod": "remainder",
    "pow": "power",
    "true_divide": "divide",
}
_OWN = {"where", "clip", "astype", "real", "imag", "angle"}


_DOC = """Elementwise: {what}.

    Parameters
    ----------
    {arguments} : array_like or LazyArray
        Of shapes that broadcast.

    Returns
    -------
    LazyArray
        Of the broadcast shape, in the dtype NumPy gives.
    """


def _function(name: str, op: str) -> Callable[..., Any]:
    arity = OPS[op].arity

    def call(*args: Any) -> Any:
        if len(args) != arity:
            raise TypeError(f"{name}() takes {arity} positional arguments, got {len(args)}")
        return wrap(build.elementwise(op, *map(as_node, args)))

    names = ("x",) if arity == 1 else [f"x{i + 1}" for i in range(arity)]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
    )
    call.__name__ = call.__qualname__ = name
    call.__doc__ = _DOC.format(what=OPS[op].doc, arguments=", ".join(names))
    return call


_NAMES = {
    n: n for n, op in OPS.items() if op.kind == "elementwise" and not op.internal and n not in _OWN
}
globals().update({name: _function(name, op) for name, op in (_NAMES | _ALIASES).items()})


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.where(xp.arange(4) > 1, 1.0, 0.0).compute()
    array([0., 0., 1., 1.])
    """
    return wrap(build.elementwise("where", *map(as_node, (condition, a, b))))


def clip(x: Any, min: Any = None, max: Any = None, out: Any = None, **names: Any) -> Any:
    """Limited to [min, max]; None is no limit (``a_min`` and ``a_max`` are NumPy's old names).

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.clip(xp.arange(5), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    low, high = names.pop("a_min", min), names.pop("a_max", max)
    if names:
        raise TypeError(f"clip() got an unexpected argument {next(iter(names))!r}")
    return written(wrap(_clipped(as_node(x), low, high)), out, "clip")


def _clipped(node: Node, low: Any, high: Any) -> Node:
    if low is None and high is None:
        return build.elementwise("positive", node) if node.dtype.kind != "b" else node
    if low is None:
        return build.elementwise("minimum", node, as_node(high))
    if high is None:
        return build.elementwise("maximum", node, as_node(low))
    return build.elementwise("clip", node, as_node(low), as_node(high))


def real(x: Any) -> Any:
    """The real part; a view of a complex lazy array.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.real([1 + 2j]).compute()
    array([1.])
    """
    return as_lazy(x).real


def imag(x: Any) -> Any:
    """The imaginary part; a view of a complex lazy array.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.imag([1 + 2j]).compute()
    array([2.])
    """
    return as_lazy(x).imag


def angle(z: Any, deg: bool = False) -> Any:
    """The phase, in (-pi, pi]; in degrees if asked.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.angle([1j], deg=True).compute()
    array([90.])
    """
    phase = wrap(build.elementwise("angle", as_node(z)))
    return phase * (180 / np.pi) if deg else phase


def round(x: Any, decimals: int = 0, out: Any = None) -> Any:
    """To the nearest integer, ties to even.

    Raises
    ------
    TypeError
        For ``decimals`` other than 0.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.round([0.5, 1.5]).compute()
    array([0., 2.])
    """
    node = as_node(x)
    if decimals != 0:
        raise TypeError(
            f"round: decimals={decimals} is not recorded; scale, use rint, and scale back"
        )
    rounded = node if node.dtype.kind in "iub" else build.elementwise("rint", node)
    return written(wrap(rounded), out, "round")


around = round


def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    """Converted to another dtype.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.astype([1.5, 2.5], "i4").compute()
    array([1, 2], dtype=int32)
    """
    return wrap(build.astype(as_node(x), dtype))


def result_type(*values: Any) -> np.dtype:
    """NumPy's promoted dtype of arrays, numbers and dtypes.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.result_type(xp.ones(2, "f4"), 2.0)
    dtype('float32')
    """
    return np.result_type(*map(_type_of, values))


def _type_of(value: Any) -> Any:
    """A lazy array's dtype; of a recorded Python number, a number of its kind."""
    if not is_lazy(value):
        return value
    return value.dtype.type(0).item() if value.node.weak else value.dtype


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether the cast is allowed, by ``numpy.can_cast``.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.can_cast(xp.ones(2), "f4")
    False
    """
    return bool(np.can_cast(getattr(from_, "dtype", from_), to, casting))


def nan_to_num(x: Any, nan: float = 0.0) -> Any:
    """NaN replaced by a number, infinities by the largest finite ones.

    Examples
    --------
    >>> from fft_fused import xp
    >>> xp.nan_to_num([xp.nan, 1.0]).compute()
    array([0., 1.])
    """
    node = as_node(x)
    if node.dtype.kind not in "f":
        raise TypeError(f"nan_to_num: x is {node.dtype}; take the real and imaginary parts")
    limits, number = np.finfo(node.dtype), node.dtype.type(known(nan, "nan_to_num: nan"))
    limited = clip(wrap(node), limits.min, limits.max)
    return where(wrap(build.elementwise("isnan", node)), number, limited)


__all__ = [  # noqa: PLE0604
    *_NAMES,
    *_ALIASES,
    *("angle", "around", "astype", "can_cast", "clip", "imag", "nan_to_num", "real"),
    *("result_type", "round", "where"),
]
