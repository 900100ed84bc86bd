"""Values between memory and registers, and from one dtype to another."""

from __future__ import annotations

import numpy as np

from .ctypes import c_type


def number_type(dtype: np.dtype) -> str:
    """The C++ type of a run-time number as an argument: numbers go in double precision."""
    return "complex_t<double>" if dtype.kind == "c" else "double"


def register_type(dtype: np.dtype) -> str:
    """The type a value has in a register: half precision is computed in single."""
    return "float" if dtype.char == "e" else c_type(dtype)


def rounded(dtype: np.dtype, text: str) -> str:
    """Half precision is rounded after every operation; integers wrap to their width."""
    if dtype.char == "e":
        return f"to_float(to_half({text}))"
    if dtype.kind in "iu":
        return f"({c_type(dtype)})({text})"
    return text


def converted(text: str, source: np.dtype, target: np.dtype) -> str:
    """A value of one dtype in another, as NumPy casts."""
    if source.kind == "c" and target.kind == "c":
        part = c_type(np.dtype(target.char.lower()))
        return f"make<{part}>(({part}){text}.re, ({part}){text}.im)"
    if source.kind == "c":
        if target.kind == "b":
            return f"({text}.re != 0 || {text}.im != 0)"
        return converted(f"{text}.re", np.dtype(source.char.lower()), target)
    if target.kind == "c":
        part = c_type(np.dtype(target.char.lower()))
        return f"make<{part}>(({part}){text}, ({part})0)"
    if target.kind == "b":
        return f"({text} != 0)"
    if target.char == "e":
        return f"to_float(to_half((float){text}))"
    return f"({c_type(target)}){text}"


def stored(text: str, dtype: np.dtype) -> str:
    """A register value as it stands in memory."""
    return f"to_half({text})" if dtype.char == "e" else text


def loaded(text: str, dtype: np.dtype) -> str:
    """A value of memory as it stands in a register."""
    return f"to_float({text})" if dtype.char == "e" else text
