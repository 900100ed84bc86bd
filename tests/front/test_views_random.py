"""Random programs of views and writes: NumPy and lazy arrays end with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fft_fused import lazy

from .agreement import recorded

VIEWS = {
    "transpose": lambda a: a.T,
    "cycle axes": lambda a: np.moveaxis(a, 0, -1) if a.ndim else a,
    "reshape flat": lambda a: a.reshape(-1),
    "reshape column": lambda a: a.reshape(a.size, 1),
    "reshape pairs": lambda a: a.reshape(-1, 2) if a.size and a.size % 2 == 0 else a,
    "ravel": lambda a: a.ravel(),
    "squeeze": lambda a: a.squeeze(),
    "flip": np.flip,
    "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "real": lambda a: a.real if a.dtype.kind == "c" else a,
    "imag": lambda a: a.imag if a.dtype.kind == "c" else a,
    "copy": lambda a: a.copy(),
    "copy as it lies": np.copy,
}
WRITES = ["add", "multiply", "set", "add by key", "mask", "real part", "row"]


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """Integers, slices, new axes and an ellipsis, in range."""
    bounds, steps = st.sampled_from([None, 0, 1, 2, -1, -2]), st.sampled_from([None, 1, 2, -1])
    key: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.integers(0, 9)) == 0:
            key.append(None)
        if extent and draw(st.integers(0, 3)) == 0:
            key.append(draw(st.integers(-extent, extent - 1)))
        else:
            key.append(slice(draw(bounds), draw(bounds), draw(steps)))
    if draw(st.booleans()):
        key.append(Ellipsis)
    return tuple(key)


def write(a: Any, how: str, key: Any, value: int) -> None:
    """One way of writing, on an ndarray or a lazy array."""
    match how:
        case "add":
            a += value
        case "multiply":
            a *= value
        case "set":
            a[key] = value
        case "add by key":
            a[key] += value
        case "mask":
            a[a.real > value] = value
        case "real part":
            a.real = value
        case "row" if a.ndim and a.shape[0]:
            a[0] = a[-1]


def start(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """An array for NumPy to write to, and the same in the same layout for ``lazy``."""
    shape = draw(st.tuples(*[st.integers(1, 4)] * 3))
    code, order = draw(st.sampled_from(["f8", "c8", "i4"])), draw(st.sampled_from(["C", "F"]))
    values = np.arange(1, np.prod(shape) + 1).reshape(shape) % 7
    values = values * (1 - 2j) if code == "c8" else values
    backwards = slice(None, None, draw(st.sampled_from([1, -1])))
    first, second = (np.array(values, code, order=order)[:, backwards] for _ in range(2))
    return first, second


@given(st.data())
def test_views_and_writes_agree_with_numpy(data):
    array, given_array = start(data.draw)
    before = given_array.copy()
    theirs, ours = [array], [lazy(given_array)]
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(theirs) - 1))
        a, b = theirs[place], ours[place]
        how = data.draw(st.sampled_from(["key", *VIEWS, *WRITES]))
        key = data.draw(keys(a.shape)) if how == "key" or how in WRITES else None
        if how == "key":
            theirs.append(a[key])
            ours.append(b[key])
        elif how in VIEWS:
            theirs.append(VIEWS[how](a))
            ours.append(VIEWS[how](b))
        elif isinstance(a, np.ndarray) and a.flags.writeable:
            value = data.draw(st.integers(1, 5))
            write(a, how, key, value)
            write(b, how, key, value)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(recorded(b), np.asarray(a), strict=True)
    np.testing.assert_array_equal(given_array, before)
