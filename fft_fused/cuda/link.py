"""nvJitLink: LTO-IR of ours and of users to machine code, or to one LTO-IR. Needs no GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ..errors import CompileError
from ..runtime.disk_cache import fingerprint
from .compile import LTO, compile_source, disk_cache, nvrtc_version
from .ctypes import FILE
from .user_code import Link

_MISSING = (
    "linking LTO-IR for a GPU needs nvJitLink: pip install fft_fused[cuda13] (or [cuda12]), "
    "or nvidia-nvjitlink"
)


def linked(source: str, links: Sequence[Link], arch: str) -> bytes:
    """Machine code (PTX for ``compute_90`` and the like) of a source and LTO-IR that it calls.

    From the disk cache where it has been linked before.

    Raises
    ------
    CompileError
        With the log of the compiler or linker, naming the function that is missing.
    ImportError
        Without nvJitLink.
    """
    return _cached("code", source, links, arch)


def merged(source: str, links: Sequence[Link], source_arch: str, arch: str) -> bytes:
    """One LTO-IR of a source, compiled for ``source_arch``, and LTO-IR that it calls."""
    return _cached("ltoir", source, links, arch, source_arch)


def _cached(
    form: str, source: str, links: Sequence[Link], arch: str, source_arch: str = ""
) -> bytes:
    linker = _linker()
    versions = repr((nvrtc_version(), linker.version))
    blobs = [part for link in links for part in (link.name, link.ltoir)]
    key = fingerprint((form, source, arch, source_arch, versions, *blobs))

    def make() -> bytes:
        own = compile_source(source, source_arch or arch, LTO)
        images = [(FILE, own), *_once(links)]
        return _link(linker, images, links, arch, form)

    return disk_cache().get(key, make)


def _once(links: Sequence[Link]) -> list[tuple[str, bytes]]:
    """LTO-IR with the names of the functions that are taken from it."""
    names: dict[bytes, list[str]] = {}
    for link in links:
        names.setdefault(link.ltoir, []).append(link.name)
    return [(", ".join(of), ltoir) for ltoir, of in names.items()]


def _link(
    linker: Any, images: Sequence[tuple[str, bytes]], links: Sequence[Link], arch: str, form: str
) -> bytes:
    options = ["-lto", f"-arch={arch.replace('compute', 'sm')}"]
    if form == "ltoir":
        return bytes(linker.link(images, options, "ltoir"))
    kept = [link for link in links if not link.by_address]
    if not arch.startswith("compute"):
        code = bytes(linker.link(images, options, "cubin"))
        kept = [link for link in kept if link.name.encode() in code]
        if not kept:
            return code
    ptx = bytes(linker.link(images, [*options, "-ptx"], "ptx"))
    _check(ptx.decode(errors="replace"), kept, images)
    return ptx if arch.startswith("compute") else code


def _check(ptx: str, links: Sequence[Link], images: Sequence[tuple[str, bytes]]) -> None:
    """What the linker lets pass: in PTX a function that is not there; and, since C symbols have no
    types, a call whose type is not the function's. Such a call goes by the function's address."""
    for name in (link.name for link in links):
        if re.search(rf"\.extern\s+\.func[^;]*\b{name}\b", ptx):
            raise CompileError(_explained("", f"Unresolved extern function '{name}'", images))
        if re.search(rf"mov\.\w+\s+%\w+, {name};", ptx):
            raise CompileError(
                f"the LTO-IR device function {name} has other argument or result types than "
                "its signature. Types are those of C++, a complex number is one float2 or double2; "
                "of numba's LTO-IR give numba's own signature object, not a string"
            )


class _Bindings:
    """nvJitLink by cuda.bindings."""

    def __init__(self) -> None:
        from cuda.bindings import nvjitlink

        self._library = nvjitlink
        self.version: tuple[int, int] = tuple(nvjitlink.version())

    def link(self, images: Sequence[tuple[str, bytes]], options: list[str], form: str) -> Any:
        library = self._library
        handle = library.create(len(options), options)
        try:
            for name, image in images:
                library.add_data(handle, library.InputType.LTOIR, image, len(image), name)
            library.complete(handle)
            return self._text(handle, f"linked_{form}")
        except library.nvJitLinkError as error:
            raise CompileError(
                _explained(str(error), self._text(handle, "error_log").decode(), images)
            ) from None
        finally:
            library.destroy(handle)

    def _text(self, handle: int, what: str) -> bytes:
        size = getattr(self._library, f"get_{what}_size")(handle)
        buffer = bytearray(size)
        getattr(self._library, f"get_{what}")(handle, buffer)
        return bytes(buffer)

    @property
    def merges(self) -> bool:
        """Does the library give LTO-IR? From 13.3 on."""
        handle = self._library.create(2, ["-lto", "-arch=sm_90"])
        try:
            self._library.get_linked_ltoir_size(handle)
        except self._library.nvJitLinkError:
            return True  # it is there; nothing has been linked
        except Exception:
            return False
        finally:
            self._library.destroy(handle)
        return True


class _Pynvjitlink:
    """nvJitLink by pynvjitlink, where cuda.bindings is of CUDA 12 and has none."""

    merges = False

    def __init__(self) -> None:
        from pynvjitlink import api

        self._library = api
        self.version: tuple[int, int] = tuple(api.nvjitlink_version())

    def link(self, images: Sequence[tuple[str, bytes]], options: list[str], form: str) -> Any:
        try:
            linker = self._library.NvJitLinker(*options)
            for name, image in images:
                linker.add_ltoir(image, name)
            return getattr(linker, f"get_linked_{form}")()
        except self._library.NvJitLinkError as error:
            raise CompileError(_explained("", str(error), images)) from None


@cache
def _linker() -> Any:
    """The bindings in use, not older than the compiler."""
    for kind in (_Bindings, _Pynvjitlink):
        try:
            found = kind()
        except Exception:  # no module, or no library behind it
            continue
        if found.version < nvrtc_version():
            mine, its = (".".join(map(str, v)) for v in (found.version, nvrtc_version()))
            raise ImportError(
                f"nvJitLink {mine} is older than NVRTC {its}: pip install -U nvidia-nvjitlink"
            )
        return found
    raise ImportError(_MISSING)


@cache
def can_merge() -> bool:
    """Is there an nvJitLink that gives LTO-IR?"""
    try:
        return bool(_linker().merges)
    except Exception:  # no linker, or no compiler
        return False


def _explained(status: str, log: str, images: Sequence[tuple[str, bytes]]) -> str:
    log = log.rstrip("\0\n ")
    users = ", ".join(name for name, _ in images[1:])
    missing = re.search(r"(?i)(?:unresolved extern function|undefined reference to) '(\w+)'", log)
    cure = ""
    if missing:
        cure = (
            f"\nThere is no function {missing[1]} in the LTO-IR: the name must be that of a "
            'function with C linkage (extern "C", or abi="c" in numba), or a mangled one'
        )
    elif "ARCH_MISMATCH" in status or "newer than target" in log:
        cure = "\nThe LTO-IR is for a later GPU than this one: compile it for an earlier one"
    return f"nvJitLink rejected device function {users}: {status}\n{log}{cure}"
