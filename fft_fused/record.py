"""From Python values to nodes, and operators on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expr import build
from .expr.node import Node, Source
from .runtime.arrays import as_operand, spec_of


def is_lazy(value: Any) -> bool:
    """Is it a LazyArray?"""
    from .lazy import LazyArray

    return isinstance(value, LazyArray)


def wrap(node: Node) -> Any:
    """A LazyArray for a node."""
    from .lazy import LazyArray

    return LazyArray(node)


def as_node(value: Any) -> Node:
    """The node of a lazy array, a number, an array or a nested sequence of numbers.

    Raises
    ------
    TypeError
        For anything that is no array of numbers.
    """
    kind = type(value)
    if kind in (int, float, complex, bool):
        return build.const(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return build.const(value)
    if isinstance(value, list | tuple) and any(is_lazy(v) for v in value):
        from . import xp

        stacked: Node = xp.joins.stack(value).node
        return stacked
    from .lazy import lazy

    return lazy(value).node


def table(array: Any, made_here: bool = False) -> Node:
    """A leaf for values on the host that may be copied to a GPU."""
    plain = as_operand(array, "asarray")
    return build.leaf(Source("", spec_of(plain), plain, portable=True, made_here=made_here))


def as_lazy(value: Any) -> Any:
    """A lazy array itself, anything else as one."""
    return value if is_lazy(value) else wrap(as_node(value))


def operate(op: str, *args: Any) -> Any:
    """An elementwise operator on values of which one is lazy; NotImplemented for strangers."""
    try:
        nodes = [as_node(a) for a in args]
    except TypeError:
        if all(isinstance(a, np.ndarray) or is_lazy(a) or np.isscalar(a) for a in args):
            raise
        return NotImplemented
    return wrap(combine(op, *nodes))


def combine(op: str, *nodes: Node) -> Node:
    """The elementwise node; a Python number when all arguments are."""
    if all(n.weak for n in nodes):
        return build.weak_elementwise(op, *nodes)
    return build.elementwise(op, *nodes)


def written(result: Any, out: Any, what: str) -> Any:
    """A recorded result, or the lazy array ``out`` with that value.

    Raises
    ------
    TypeError
        When ``out`` is an array, which has values already, or of another kind of dtype.
    """
    if out is None:
        return result
    if not is_lazy(out):
        raise TypeError(
            f"{what}: the result is lazy and cannot be written into {_article(out)}; "
            "use .compute(out=...)"
        )
    return out.assign(result, what.rpartition(".")[2])


def _article(value: Any) -> str:
    library = {"numpy": "NumPy", "cupy": "CuPy"}.get(type(value).__module__.partition(".")[0])
    return f"a {library} array" if library else f"a {type(value).__name__}"
