"""Functions of the user's own in CUDA C++ or LTO-IR, called like NumPy functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .cuda.ctypes import is_supported
from .cuda.user_code import device_functions
from .expr.recording import tracing
from .expr.user_function import UserFunction, call, user_function
from .record import as_node, is_lazy, wrap

_SIGNATURE = re.compile(r"\s*(\w+)\s*\(([\w\s,]*)\)\s*")
_AMBIGUOUS = {
    "float": "float32 or float64",
    "int": "int32 or int64",
    "long": "int64",
    "complex": "complex64 or complex128",
}
_NOT_LTOIR = {
    b"\x7fELF": "machine code (a cubin or an object file)",
    b"\x50\xed\x55\xba": "a fatbin",
    b"//": "PTX text",
    b"\n//": "PTX text",
    b".version": "PTX text",
}


class DeviceFunction:
    """A user's function as an elementwise operator; made by ``device_function``."""

    __slots__ = ("_function",)

    def __init__(self, function: UserFunction) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """Of the function in the source or LTO-IR."""
        return self._function.name

    @property
    def signature(self) -> str:
        """As ``float32(float32, int32)``."""
        return self._function.signature

    def __call__(self, *args: Any) -> Any:
        """The function of arrays and numbers that broadcast.

        Parameters
        ----------
        *args : array_like
            Cast to the declared types by NumPy's same_kind rule.

        Returns
        -------
        LazyArray or ndarray
            Lazy when an argument is, or in a function that is being recorded.

        Raises
        ------
        TypeError
            For a wrong number of arguments, one that cannot be cast, or NumPy arrays without a
            NumPy implementation.
        CompileError
            From the compiler or linker for a GPU.
        """
        result = wrap(call(self._function, *map(as_node, args)))
        return result if tracing() or any(map(is_lazy, args)) else result.compute()

    def check(self, arch: str | None = None) -> None:
        """Compile (and link) the function now; needs NVRTC, no GPU.

        Parameters
        ----------
        arch : str, optional
            As ``sm_90``. The latest that NVRTC knows when not given.

        Raises
        ------
        CompileError
            With the compiler's message and the line of the source.
        ImportError
            Without NVRTC or nvJitLink.
        """
        from .cuda.compile import latest_arch
        from .cuda.kernels import map_kernel
        from .cuda.launch import machine_code
        from .expr.node import Node

        dtypes = self._function.arguments
        inputs = [Node("operand", (), k, (1,), d) for k, d in enumerate(dtypes)]
        output = call(self._function, *inputs)
        kernel = map_kernel("check", output, inputs, {id(n): (1,) for n in inputs})
        machine_code(kernel.source, kernel.links, arch or latest_arch())

    def __eq__(self, other: Any) -> Any:
        same = isinstance(other, DeviceFunction)
        return self._function == other._function if same else NotImplemented

    def __hash__(self) -> int:
        return hash(self._function)

    def __repr__(self) -> str:
        form = "CUDA C++" if self._function.is_source else "LTO-IR"
        return f"<device function {self.name}: {self.signature}, {form}>"


def device_function(
    source_or_ltoir: str | bytes,
    signature: Any,
    numpy: Callable[..., Any] | None = None,
    name: str | None = None,
) -> DeviceFunction:
    """A CUDA function of your own as an elementwise operator in expressions.

    Parameters
    ----------
    source_or_ltoir : str or bytes
        CUDA C++ with a ``__device__`` function, or LTO-IR that holds one with C linkage, as
        ``numba.cuda.compile(f, types, abi="c", abi_info={"abi_name": name}, output="ltoir")``
        returns it. In C++ a complex number is a ``float2`` or ``double2``.
    signature : str or numba signature
        Result and argument types under NumPy's names: ``"float32(float32, int32)"``. Of LTO-IR made
        by numba give numba's signature object: it passes complex arguments in another way.
    numpy : callable, optional
        The same function of NumPy arrays, element by element. Serves arrays in the host's memory,
        on several threads at once, and ``Fused.unfused`` there.
    name : str, optional
        Of the function; needed for LTO-IR, and for a source with several ``__device__`` functions.

    Returns
    -------
    DeviceFunction
        Call it with lazy arrays, arrays and numbers. Two with the same content are equal.

    Raises
    ------
    ValueError
        For a signature that cannot be read or does not fit the source; when the source has no
        such function.
    TypeError
        For types a device function cannot have.

    Notes
    -----
    The function must be pure: it may run once or several times for an element, in any order, or not
    at all. The source is compiled with the kernel that calls it, when that first runs; ``check``
    compiles it at once.

    Examples
    --------
    >>> import numpy as np, fft_fused
    >>> source = "__device__ float soft(float x, float t) { return x - fminf(fmaxf(x, -t), t); }"
    >>> soft = fft_fused.device_function(
    ...     source, "float32(float32, float32)", numpy=lambda x, t: x - np.clip(x, -t, t)
    ... )
    >>> x = fft_fused.lazy(np.array([-3.0, 0.5, 2.0], np.float32))
    >>> (soft(x, 1.0) * 2).compute()
    array([-4.,  0.,  2.], dtype=float32)
    """
    result, arguments, by_numba = _types(signature)
    if numpy is not None and not callable(numpy):
        raise TypeError(f"device_function: numpy is a {type(numpy).__name__}, need a function")
    if isinstance(source_or_ltoir, str):
        name, parameters = _in_source(source_or_ltoir, name, len(arguments))
        made = user_function(source_or_ltoir, name, result, arguments, numpy, parameters)
        return DeviceFunction(made)
    if not isinstance(source_or_ltoir, bytes | bytearray | memoryview):
        kind = type(source_or_ltoir).__name__
        raise TypeError(f"device_function: need CUDA C++ text or LTO-IR as bytes, got a {kind}")
    ltoir = bytes(source_or_ltoir)
    _check_ltoir(ltoir, name)
    assert name is not None
    return DeviceFunction(
        user_function(ltoir, name, result, arguments, numpy, split_complex=by_numba)
    )


def _types(signature: Any) -> tuple[np.dtype, tuple[np.dtype, ...], bool]:
    """Result and arguments, and whether the signature is an object of numba's."""
    if hasattr(signature, "return_type") and hasattr(signature, "args"):
        given = [str(t) for t in (signature.return_type, *signature.args)]
    else:
        found = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
        if found is None:
            raise ValueError(
                f"device_function: signature {signature!r} is not of the form "
                '"float32(float32, int32)": result type, then argument types'
            )
        given = [found[1], *(t.strip() for t in found[2].split(","))]
    if given[1:] in ([], [""]):
        raise ValueError(f"device_function: signature {signature!r} has no arguments")
    result, *arguments = map(_dtype, given)
    return result, tuple(arguments), not isinstance(signature, str)


def _dtype(name: str) -> np.dtype:
    if name in _AMBIGUOUS:
        raise ValueError(
            f"device_function: {name!r} in a signature is one type in NumPy and another in CUDA; "
            f"write {_AMBIGUOUS[name]}"
        )
    try:
        dtype = np.dtype(name)
    except TypeError:
        raise ValueError(f"device_function: {name!r} is no NumPy dtype") from None
    if dtype.kind not in "biufc" or not is_supported(dtype) or dtype.char == "e":
        cure = "; use float32" if dtype.char == "e" else ""
        raise TypeError(f"device_function: a device function cannot have the type {name}{cure}")
    return dtype


def _in_source(source: str, name: str | None, count: int) -> tuple[str, tuple[str, ...]]:
    """Name and parameters of the function meant."""
    found = device_functions(source)
    if not found:
        raise ValueError("device_function: the source has no __device__ function")
    names = ", ".join(found)
    if name is None and len(found) > 1:
        raise ValueError(
            f"device_function: the source has the functions {names}; say which by name="
        )
    name = next(iter(found)) if name is None else name
    if name not in found:
        raise ValueError(
            f"device_function: the source has no __device__ function {name!r}; it has {names}"
        )
    for word, cure in (
        (r"#[ \t]*include\b", "NVRTC runs without headers. Compile it to LTO-IR and give that"),
        (r'extern\s+"C"', "leave it out: the function gets a namespace of its own"),
    ):
        if line := re.search(rf"^.*?({word}).*$", source, re.M):
            raise ValueError(f"device_function: {line[0].strip()!r} in a source: {cure}")
    if len(found[name]) != count:
        raise ValueError(
            f"device_function: {name} has {len(found[name])} parameters in the source, "
            f"{count} in the signature"
        )
    return name, found[name]


def _check_ltoir(ltoir: bytes, name: str | None) -> None:
    if name is None or not name.isidentifier():
        raise ValueError(
            f"device_function: LTO-IR needs name=, the function's symbol in it; got {name!r}"
        )
    for start, what in _NOT_LTOIR.items():
        if ltoir.startswith(start):
            raise ValueError(f"device_function: the bytes are {what}, not LTO-IR (-dlto)")
