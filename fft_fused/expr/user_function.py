"""Functions of a user's as elementwise operators: device code, and what NumPy does in its place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import build
from .node import Node


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A device function: CUDA C++ text or LTO-IR, and its NumPy implementation.

    Equal are functions of one content that NumPy computes by one function. ``content`` is a hash of
    code, name and signature. ``parameters`` are names in the source, empty where they are not
    known. ``split_complex``: LTO-IR that takes a complex argument as two real ones, as numba's.
    """

    content: str
    numpy: Callable[..., Any] | None = field(repr=False)
    name: str = field(compare=False)
    code: str | bytes = field(compare=False, repr=False)
    result: np.dtype = field(compare=False)
    arguments: tuple[np.dtype, ...] = field(compare=False)
    parameters: tuple[str, ...] = field(compare=False, default=())
    split_complex: bool = field(compare=False, default=False)

    def __str__(self) -> str:
        return self.name

    @property
    def signature(self) -> str:
        """As ``float32(float32, int32)``."""
        return f"{self.result}({', '.join(map(str, self.arguments))})"

    @property
    def symbol(self) -> str:
        """A name that no other content has."""
        return f"{self.name}_{self.content[:12]}"

    @property
    def is_source(self) -> bool:
        """Is it text, not LTO-IR?"""
        return isinstance(self.code, str)

    def on_device(self) -> UserFunction:
        """The same on a device, where what NumPy does is no part of it."""
        return replace(self, numpy=None)

    def on_host(self, *args: Any, out: Any = None, dtype: Any = None) -> Any:
        """The values by NumPy, in ``out`` or in a new array of ``dtype`` (the declared one).

        Raises
        ------
        TypeError
            Without a NumPy implementation, or when its result cannot be cast.
        ValueError
            When the result has another shape than the arguments together.
        """
        if self.numpy is None:
            raise TypeError(
                f"device function {self.name} has no NumPy implementation: give "
                "device_function(..., numpy=...) one, or call it with CuPy arrays"
            )
        given = [_read_only(a) for a in args]
        shape = np.broadcast_shapes(*map(np.shape, given))
        value = np.asarray(self.numpy(*given))
        target = np.dtype(self.result if dtype is None else dtype) if out is None else out.dtype
        if not np.can_cast(value.dtype, target, "same_kind"):
            raise TypeError(
                f"the NumPy implementation of {self.name} returned {value.dtype}, "
                f"which cannot be cast to {target}"
            )
        if value.shape != shape:
            value = self._broadcast(value, shape)
        if out is None:
            return value.astype(target, copy=False)
        np.copyto(out, value, casting="same_kind")
        return out

    def _broadcast(self, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.broadcast_to(value, shape)
        except ValueError:
            raise ValueError(
                f"the NumPy implementation of {self.name} returned shape {value.shape} for "
                f"arguments of shape {shape}: it must work element by element"
            ) from None


def _read_only(value: Any) -> Any:
    """Arguments belong to the caller."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def user_function(
    code: str | bytes,
    name: str,
    result: np.dtype,
    arguments: tuple[np.dtype, ...],
    numpy: Callable[..., Any] | None = None,
    parameters: tuple[str, ...] = (),
    split_complex: bool = False,
) -> UserFunction:
    """The function with the hash of its content."""
    digest = hashlib.sha256()
    dtypes = " ".join(d.str for d in (result, *arguments))
    data = code.encode() if isinstance(code, str) else code
    for part in (data, name.encode(), dtypes.encode(), bytes([split_complex])):
        digest.update(len(part).to_bytes(8, "little") + part)
    return UserFunction(
        digest.hexdigest(), numpy, name, code, result, arguments, parameters, split_complex
    )


def call(function: UserFunction, *args: Node) -> Node:
    """The node of a call: arguments are cast by NumPy's same_kind rule and broadcast.

    Raises
    ------
    TypeError
        For a wrong number of arguments, or one that cannot be cast.
    OverflowError
        For a Python integer that does not fit.
    """
    if len(args) != len(function.arguments):
        raise TypeError(
            f"{function.name} takes {len(function.arguments)} arguments, "
            f"{function.signature}; got {len(args)}"
        )
    given = tuple(_cast(function, k, a) for k, a in enumerate(args))
    shape = build.broadcast_shapes(function.name, [a.shape for a in given])
    return Node("call", given, function, shape, function.result)


def _cast(function: UserFunction, place: int, node: Node) -> Node:
    """An argument in the declared dtype; Python integers where they fit."""
    dtype = function.arguments[place]
    if node.op == "const" and node.weak and {node.dtype.kind, dtype.kind} <= set("iu"):
        try:
            return build.const(dtype.type(node.attr.value))
        except OverflowError as error:
            raise OverflowError(f"{_argument(function, place)}: {error}") from None
    if not np.can_cast(node.dtype, dtype, "same_kind"):
        raise TypeError(
            f"{_argument(function, place)} is {node.dtype}, which cannot be cast to {dtype} by "
            f"the rule 'same_kind'; use .astype({str(dtype)!r})"
        )
    return build.astype(node, dtype)


def _argument(function: UserFunction, place: int) -> str:
    name = f" ({function.parameters[place]})" if function.parameters else ""
    return f"{function.name}: argument {place + 1}{name}"
