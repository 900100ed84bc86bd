"""Reductions along a row: a thread joins its own elements, then threads join theirs in a tree."""

from __future__ import annotations

import numpy as np

from ..expr.node import Node
from . import indexing
from .casts import register_type, stored
from .ctypes import literal
from .reductions import combination, identity
from .row_block import Block
from .rows import Result

_FAN_IN = 8
_PLACES = {"argmax": "larger_", "argmin": "smaller_"}

EXTREMES = r"""
template <class T> struct extreme_t { T value; long long place; };
template <class T> DEVICE bool comes_first_(extreme_t<T> a, extreme_t<T> b, bool better) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan || b_nan) return a_nan && b_nan ? a.place < b.place : a_nan;
  return a.value == b.value ? a.place < b.place : better; }
template <class T> DEVICE extreme_t<T> larger_(extreme_t<T> a, extreme_t<T> b) {
  return comes_first_(a, b, a.value > b.value) ? a : b; }
template <class T> DEVICE extreme_t<T> smaller_(extreme_t<T> a, extreme_t<T> b) {
  return comes_first_(a, b, a.value < b.value) ? a : b; }
"""


def along_type(result: Result) -> str:
    """The C++ type of what is joined."""
    if result.output.op in _PLACES:
        return f"extreme_t<{register_type(result.value.dtype)}>"
    return register_type(result.output.dtype)


def begin(k: int, result: Result) -> str:
    """The thread's part before its first element."""
    if result.output.op not in _PLACES:
        return f"r.along{k} = {identity(result.output)};"
    value = _worst(result.value, result.output.op)
    return f"r.along{k}.value = {value}; r.along{k}.place = {np.iinfo(np.int64).max}ll;"


def joined(result: Result, first: str, second: str) -> str:
    """The text of two parts as one."""
    name = _PLACES.get(result.output.op)
    if name is not None:
        return f"{name}({first}, {second})"
    return combination(result.output).format(first, second)


def element(k: int, result: Result, value: str, index: indexing.Index) -> list[str]:
    """An element joined to the thread's part."""
    own = f"r.along{k}"
    if result.output.op not in _PLACES:
        return [f"{own} = {joined(result, own, value)};"]
    axes = result.output.attr[0]
    place = indexing.horner([index[a] for a in axes], [result.value.shape[a] for a in axes])
    return [
        f"{along_type(result)} other;",
        f"other.value = {value}; other.place = {place};",
        f"{own} = {joined(result, own, 'other')};",
    ]


def tree(block: Block, k: int) -> list[list[str]]:
    """Phases that join the threads' parts; the last one stores the result."""
    result = block.rows.results[k]
    shared = f"(({along_type(result)}*)s)"
    count = block.shape.row_threads
    phases = [[f"{shared}[t] = r.along{k};"]] if count > 1 else []
    while count > 1:
        kept = -(-count // _FAN_IN)
        phases.append(
            [
                f"if (t < {kept}) {{",
                f"  {along_type(result)} total = {shared}[t];",
                f"  for (int j = t + {kept}; j < {count}; j += {kept})",
                f"    total = {joined(result, 'total', f'{shared}[j]')};",
                f"  {shared}[t] = total;",
                "}",
            ]
        )
        count = kept
    total = f"{shared}[0]" if phases else f"r.along{k}"
    return [*phases, [f"if (live_ && t == 0) {{ {_stored(result, k, total)} }}"]]


def _stored(result: Result, k: int, total: str) -> str:
    index = result.placements[0].index[id(result.value)]
    axes = [a for a in range(result.value.ndim) if a not in result.output.attr[0]]
    place = indexing.horner([index[a] for a in axes], [result.value.shape[a] for a in axes])
    value = f"{total}.place" if result.output.op in _PLACES else total
    return f"out{k}[{place}] = {stored(value, result.output.dtype)};"


def _worst(value: Node, op: str) -> str:
    lowest = op == "argmax"
    if value.dtype.kind == "f":
        own = np.dtype("f4") if value.dtype.char == "e" else value.dtype
        return literal(-np.inf if lowest else np.inf, own)
    if value.dtype.kind == "b":
        return "false" if lowest else "true"
    limits = np.iinfo(value.dtype)
    return literal(limits.min if lowest else limits.max, value.dtype)
