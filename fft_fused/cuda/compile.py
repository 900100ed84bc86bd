"""NVRTC through cuda-python: C++ text to machine code or LTO-IR. Needs no GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from ..errors import CompileError
from ..options import cache_folder, cpu_count
from ..runtime.disk_cache import DiskCache, fingerprint
from .ctypes import FILE

_CACHE_BYTES = 256 << 20
_OPTIONS = ("--std=c++17",)
LTO = ("-dlto", "--relocatable-device-code=true")
T = TypeVar("T")


_EXTRA = "pip install fft_fused[cuda13] (or [cuda12])"


@cache
def nvrtc() -> Any:
    """The NVRTC bindings, with their library.

    Raises
    ------
    ImportError
        With the extra that brings what is missing.
    """
    try:
        from cuda.bindings import nvrtc as found
    except ImportError:
        raise ImportError(f"compiling for a GPU needs cuda-python: {_EXTRA}") from None
    try:
        found.nvrtcVersion()
    except RuntimeError as error:
        why = str(error).strip().splitlines()[0]
        raise ImportError(f"the NVRTC library was not found ({why}): {_EXTRA}") from None
    return found


def nvrtc_missing() -> str:
    """Why nothing can be compiled; empty when it can."""
    try:
        nvrtc()
    except ImportError as error:
        return str(error)
    return ""


@cache
def nvrtc_version() -> tuple[int, int]:
    """Major and minor version of the NVRTC library in use."""
    library = nvrtc()
    status, major, minor = library.nvrtcVersion()
    _require(library, status)
    return int(major), int(minor)


def latest_arch() -> str:
    """The latest target with machine code."""
    return f"sm_{max(_supported())}"


def _supported() -> list[int]:
    library = nvrtc()
    status, supported = library.nvrtcGetSupportedArchs()
    _require(library, status)
    return [int(arch) for arch in supported]


def arch_for(capability: str) -> str:
    """The target for a GPU, as ``sm_90`` for capability "90"; PTX where NVRTC is older than it."""
    supported, wanted = _supported(), int(capability)
    if wanted in supported:
        return f"sm_{wanted}"
    older = [a for a in supported if a < wanted]
    if not older:
        raise CompileError(
            f"NVRTC {'.'.join(map(str, nvrtc_version()))} has no code for a GPU of compute "
            f"capability {wanted / 10}; it supports {min(supported) / 10} and later"
        )
    return f"compute_{max(older)}"


def compile_source(source: str, arch: str, options: tuple[str, ...] = ()) -> bytes:
    """Machine code (or LTO-IR with ``-dlto``) of a source.

    Parameters
    ----------
    source : str
        CUDA C++.
    arch : str
        As ``sm_90``; ``compute_90`` for PTX, which the driver compiles for a later GPU.
    options : tuple of str
        More NVRTC options.

    Returns
    -------
    bytes
        A cubin or PTX, or LTO-IR when ``-dlto`` is among the options.

    Raises
    ------
    CompileError
        With NVRTC's log and the line of the source it names.
    """
    library = nvrtc()
    status, program = library.nvrtcCreateProgram(source.encode(), FILE.encode(), 0, [], [])
    _require(library, status)
    try:
        flags = [f"--gpu-architecture={arch}", *_OPTIONS, *options]
        (status,) = library.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        if status != library.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_explained(_log(library, program), source))
        form = "LTOIR" if "-dlto" in options else "PTX" if arch.startswith("compute") else "CUBIN"
        status, size = getattr(library, f"nvrtcGet{form}Size")(program)
        _require(library, status)
        code = b" " * size  # the bindings write into it
        (status,) = getattr(library, f"nvrtcGet{form}")(program, code)
        _require(library, status)
        return code
    finally:
        library.nvrtcDestroyProgram(program)


def compiled(source: str, arch: str, options: tuple[str, ...] = ()) -> bytes:
    """As ``compile_source``, from the disk cache where it has been compiled before."""
    key = fingerprint((source, arch, repr((options, _OPTIONS, nvrtc_version()))))
    return disk_cache().get(key, lambda: compile_source(source, arch, options))


def disk_cache() -> DiskCache:
    """Where compiled code is kept between processes."""
    return DiskCache(cache_folder() / "code", _CACHE_BYTES)


def side_by_side(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run compilations on threads; NVRTC uses one thread for each and lets the others run."""
    if len(tasks) < 2:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(len(tasks), max(2, cpu_count()))) as pool:
        return list(pool.map(lambda task: task(), tasks))


def _require(library: Any, status: Any) -> None:
    if status != library.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC: {status.name}")


def _log(library: Any, program: Any) -> str:
    _, size = library.nvrtcGetProgramLogSize(program)
    buffer = b" " * size
    library.nvrtcGetProgramLog(program, buffer)
    return buffer.decode(errors="replace").rstrip("\0\n")


def _explained(log: str, source: str) -> str:
    """The log, with the source line of its first error; of our own text the expression too."""
    lines = _numbered(source)
    found = re.search(r"^(.+)\((\d+)\): (?:catastrophic )?error", log, re.M)
    place = (found[1], int(found[2])) if found else (FILE, 0)
    told = [f"line {place[1]}: {lines[place].strip()}"] if place in lines else []
    if place[0] != FILE:
        return "\n".join([f"NVRTC rejected {place[0]}:", log, *told])
    told += [t for (file, _), t in lines.items() if file == FILE and t.startswith("// ")]
    users = ", ".join(dict.fromkeys(file for file, _ in lines if file.startswith("device")))
    what = "a generated kernel" + (f" with {users}" if users else "")
    return "\n".join([f"NVRTC rejected {what}:", log, *told])


def _numbered(source: str) -> dict[tuple[str, int], str]:
    """The lines of a source by the file and number that messages give them."""
    found, file, number = {}, FILE, 1
    for line in source.splitlines():
        if directive := re.match(r'#line (\d+) "(.*)"', line):
            number, file = int(directive[1]), directive[2]
            continue
        found[file, number] = line
        number += 1
    return found
