"""Arrays as engines want them: native byte order, aligned, of known layout."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..expr.node import ArraySpec

ON_DEVICE = frozenset("?bhilqBHILQefdFD")  # dtypes a GPU has


def native(array: np.ndarray) -> np.ndarray:
    """The array itself where it is aligned and in native byte order, else a copy that is."""
    if array.dtype.isnative and array.flags.aligned:
        return array
    return copy_with_layout(array, array.dtype.newbyteorder("="))


def copy_with_layout(array: np.ndarray, dtype: Any) -> np.ndarray:
    """A converted copy whose strides are those of ``array`` in items; C order where they are
    no multiples of its item size."""
    dtype, item = np.dtype(dtype), array.dtype.itemsize
    if array.size == 0 or array.flags.c_contiguous or any(s % item for s in array.strides):
        return array.astype(dtype, order="C")
    steps = [s // item for s in array.strides]
    reach = [(n - 1) * s for n, s in zip(array.shape, steps, strict=True)]
    low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
    memory = np.zeros(high - low + 1, dtype)
    copy = as_strided(memory[-low:], array.shape, [s * dtype.itemsize for s in steps])
    np.copyto(copy, array)
    return copy


def as_operand(value: Any, what: str) -> np.ndarray:
    """An array or NumPy number as a plain, native, aligned array.

    Raises
    ------
    TypeError
        Another library's array, an ndarray subclass with a meaning of its own, a dtype that is no
        number.
    """
    kind = type(value)
    if is_cupy(value):
        return _device_operand(value, what)
    if kind is not np.ndarray and kind is not np.memmap:
        if isinstance(value, np.ndarray):
            raise TypeError(
                f"{what}: a {kind.__module__}.{kind.__name__} is more than its numbers; "
                "pass np.asarray(x) if the rest does not matter"
            )
        if not isinstance(value, np.generic):
            raise TypeError(
                f"{what}: a {kind.__module__}.{kind.__name__} is no NumPy array; "
                "convert it first, as by np.asarray"
            )
        value = np.asarray(value)
    if value.dtype.kind not in "biufc":
        raise TypeError(
            f"{what}: dtype {value.dtype} is not numeric; "
            "use a bool, integer, float or complex array"
        )
    return native(value.view(np.ndarray) if kind is np.memmap else value)


def is_cupy(value: Any) -> bool:
    """Is it a CuPy array?"""
    return is_cupy_type(type(value))  # type: ignore[arg-type]


@cache
def is_cupy_type(kind: type) -> bool:
    """Are values of the type CuPy arrays?"""
    return kind.__module__.partition(".")[0] == "cupy" and hasattr(kind, "device")


def device_of(value: Any) -> str:
    """``cpu``, or ``cuda:0`` for an array on the first GPU."""
    return f"cuda:{value.device.id}" if is_cupy(value) else "cpu"


@cache
def device_index(device: str) -> int:
    """The number of a GPU: 0 of ``cuda:0``."""
    return int(device.partition(":")[2])


def module_of(device: str) -> Any:
    """NumPy, or CuPy for arrays of a GPU."""
    if device == "cpu":
        return np
    import cupy

    return cupy


def spec_of(array: Any) -> ArraySpec:
    """What a plan may assume of an array."""
    device = device_of(array)
    alignment = 16 if device == "cpu" else alignment_of(array)
    return ArraySpec(array.shape, array.dtype, array.strides, device, alignment)


def alignment_of(array: Any) -> int:
    """The largest power of two up to 16 that divides the address of an array on a GPU."""
    address = array.data.ptr
    return 16 if address % 16 == 0 else int(address & -address)


def _device_operand(value: Any, what: str) -> Any:
    if value.dtype.char not in ON_DEVICE:
        raise TypeError(
            f"{what}: dtype {value.dtype} is not computed with; "
            "use a bool, integer, float or complex array"
        )
    item = value.dtype.itemsize
    aligned = value.data.ptr % item == 0 and all(s % item == 0 for s in value.strides)
    return value if aligned else value.copy()


def is_foreign_array(value: Any) -> bool:
    """An array of a library other than NumPy (CuPy, torch, JAX, Dask ...)."""
    return hasattr(value, "__array_namespace__") or (
        hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic)
    )
