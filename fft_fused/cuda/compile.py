"""NVRTC through cuda-python: C++ text to machine code. Needs no GPU."""

from __future__ import annotations

from typing import Any


class CompileError(RuntimeError):
    """NVRTC rejected a generated source: a fault of this package."""


def nvrtc() -> Any:
    """The NVRTC bindings.

    Raises
    ------
    ImportError
        With the extra that brings them.
    """
    try:
        from cuda.bindings import nvrtc as found
    except ImportError:
        raise ImportError(
            "compiling for a GPU needs cuda-python: pip install fft_fused[cuda13] (or [cuda12])"
        ) from None
    return found


def compile_source(source: str, arch: str, options: tuple[str, ...] = ()) -> bytes:
    """Machine code (or LTO-IR with ``-dlto``) of a source.

    Parameters
    ----------
    source : str
        CUDA C++.
    arch : str
        As ``sm_90``.
    options : tuple of str
        More NVRTC options.

    Returns
    -------
    bytes
        A cubin, or LTO-IR when ``-dlto`` is among the options.

    Raises
    ------
    CompileError
        With NVRTC's log and the line of the source it names.
    """
    library = nvrtc()
    status, program = library.nvrtcCreateProgram(source.encode(), b"fft_fused.cu", 0, [], [])
    _require(library, status)
    try:
        flags = [f"--gpu-architecture={arch}", "--std=c++17", *options]
        (status,) = library.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        if status != library.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_explained(_log(library, program), source))
        lto = "-dlto" in options
        size_of = library.nvrtcGetLTOIRSize if lto else library.nvrtcGetCUBINSize
        get = library.nvrtcGetLTOIR if lto else library.nvrtcGetCUBIN
        status, size = size_of(program)
        _require(library, status)
        code = b" " * size  # the bindings write into it
        (status,) = get(program, code)
        _require(library, status)
        return code
    finally:
        library.nvrtcDestroyProgram(program)


def _require(library: Any, status: Any) -> None:
    if status != library.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC: {status.name}")


def _log(library: Any, program: Any) -> str:
    _, size = library.nvrtcGetProgramLogSize(program)
    buffer = b" " * size
    library.nvrtcGetProgramLog(program, buffer)
    return buffer.decode(errors="replace").rstrip("\0\n")


def _explained(log: str, source: str) -> str:
    """The log, with the source line of its first message and the expression it came from."""
    number = next((w for w in log.replace("(", " ").replace(")", " ").split() if w.isdigit()), "")
    lines = source.splitlines()
    line = lines[int(number) - 1] if number and int(number) <= len(lines) else ""
    expression = "\n".join(text for text in lines if text.startswith("// "))
    return f"NVRTC rejected a generated kernel:\n{log}\nline {number}: {line.strip()}\n{expression}"
