"""Device functions of users in generated sources: found in their text, kept apart from ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..expr.chain import walk_until
from ..expr.node import Node
from ..expr.user_function import UserFunction
from .ctypes import FILE, c_type

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ATTRIBUTE = re.compile(r"__(?:attribute|launch_bounds|align)__\s*\(+[^)]*\)+|\[\[.*?\]\]")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_FUNCTION = re.compile(r"__device__[^;{}()=]*?\b([A-Za-z_]\w*)\s*\(([^)]*)\)")
_VECTORS = {"F": "float2", "D": "double2"}
_LIMITS = """#if defined(__CUDACC_RTC__) && !defined(INFINITY)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
"""


@dataclass(frozen=True, slots=True)
class Link:
    """LTO-IR that a source is linked with, and the function that the source calls in it.

    ``by_address``: the call's type may differ from the function's where the calling convention
    does not, so that the linker does not inline it.
    """

    name: str
    ltoir: bytes
    by_address: bool = False


def device_functions(source: str) -> dict[str, tuple[str, ...]]:
    """The ``__device__`` functions of a source: names, and the names of their parameters."""
    found = {}
    text = _ATTRIBUTE.sub(" ", _COMMENT.sub(" ", source))
    for name, parameters in _FUNCTION.findall(text):
        words = [re.findall(r"\w+", p.partition("=")[0]) for p in parameters.split(",")]
        found[name] = tuple(w[-1] for w in words if w and w != ["void"])
    return found


def called(value: Node, leaves: Iterable[Node]) -> tuple[UserFunction, ...]:
    """The users' functions that an element of ``value`` is made with, each once."""
    stop = {id(n) for n in leaves}
    nodes = walk_until([value], lambda n: id(n) in stop)
    return distinct(n.attr for n in nodes if n.op == "call" and id(n) not in stop)


def distinct(functions: Iterable[UserFunction]) -> tuple[UserFunction, ...]:
    """Each once, in order."""
    return tuple({f.content: f for f in functions}.values())


def links(functions: Sequence[UserFunction]) -> tuple[Link, ...]:
    """What a source with these functions is linked with."""
    return tuple(
        Link(f.name, f.code, f.split_complex and f.result.kind == "c")
        for f in functions
        if isinstance(f.code, bytes)
    )


def clash(functions: Sequence[UserFunction]) -> str:
    """Why the functions cannot be in one program; empty when they can."""
    names = [f.name for f in functions if not f.is_source]
    twice = sorted({n for n in names if names.count(n) > 1})
    return f"{twice[0]} would be linked from LTO-IR twice" if twice else ""


def definitions(functions: Sequence[UserFunction]) -> str:
    """What stands before our own text, so that no macro of ours is seen: users' sources, each in
    a namespace of its own, their macros undefined again."""
    if not functions:
        return ""
    return _LIMITS + "".join(map(_definition, functions)) + f'#line 1 "{FILE}"\n'


def _definition(function: UserFunction) -> str:
    if isinstance(function.code, bytes):
        types = ", ".join(_parameter_types(function))
        declared = f"{_user_type(function.result)} {function.name}({types})"
        return f'namespace {_namespace(function)} {{ extern "C" __device__ {declared}; }}\n'
    macros = dict.fromkeys(_DEFINE.findall(function.code))
    undefined = "".join(f"#undef {name}\n" for name in macros)
    return (
        f"namespace {_namespace(function)} {{ namespace {{\n"
        f'#line 1 "device function {function.name}"\n{function.code}\n}} }}\n{undefined}'
    )


def wrappers(functions: Sequence[UserFunction]) -> str:
    """What our text calls, after the preamble: the users' functions on our types."""
    if not functions:
        return ""
    return "".join(map(_wrapper, functions)) + f'#line 1 "{FILE}"\n'


def _wrapper(function: UserFunction) -> str:
    parameters = ", ".join(f"{c_type(d)} a{k}" for k, d in enumerate(function.arguments))
    declared = f"{_user_type(function.result)} (*)({', '.join(_parameter_types(function))})"
    target = f"{_namespace(function)}::{function.name}"
    given, lines = [], []
    for k, dtype in enumerate(function.arguments):
        parts = (f"a{k}.re", f"a{k}.im")
        if dtype.kind != "c":
            given.append(f"a{k}")
        elif function.split_complex:
            given += parts
        else:
            lines.append(f"{_VECTORS[dtype.char]} z{k}; z{k}.x = {parts[0]}; z{k}.y = {parts[1]};")
            given.append(f"z{k}")
    call = f"{target}({', '.join(given)})"
    if function.result.kind == "c":
        part = c_type(np.dtype(function.result.char.lower()))
        lines.append(f"const {_VECTORS[function.result.char]} r = {call};")
        call = f"make<{part}>(r.x, r.y)"
    body = "".join(f"  {line}\n" for line in (*lines, f"return {call};"))
    return (
        f'#line 1 "signature of device function {function.name}"\n'
        f"DEVICE {c_type(function.result)} {function.symbol}({parameters}) {{\n"
        f"  (void)static_cast<{declared}>(&{target});\n{body}}}\n"
    )


def _namespace(function: UserFunction) -> str:
    return f"user_{function.symbol}"


def _user_type(dtype: np.dtype) -> str:
    return _VECTORS.get(dtype.char) or c_type(dtype)


def _parameter_types(function: UserFunction) -> list[str]:
    """The C++ types of the user's parameters."""
    types: list[str] = []
    for dtype in function.arguments:
        if dtype.kind == "c" and function.split_complex:
            types += [c_type(np.dtype(dtype.char.lower()))] * 2
        else:
            types.append(_user_type(dtype))
    return types
