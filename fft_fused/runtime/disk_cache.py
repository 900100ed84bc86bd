"""Content on disk: bounded, shared by processes, never trusted without a checksum."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_SUFFIX = ".bin"
_MAGIC = b"fft_fused 1\n"
_DIGEST = 32


def fingerprint(parts: Iterable[str | bytes]) -> str:
    """A name for content: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class DiskCache:
    """Files of at most ``limit`` bytes together in a folder; the least recently used go first.

    A folder that cannot be written to is a cache that remembers nothing. An entry that is cut
    short or damaged is made again.
    """

    folder: Path
    limit: int

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The content under ``key``, made and written when it is not there."""
        known = self.peek(key)
        if known is not None:
            return known
        content = make()
        self.put(key, content)
        return content

    def peek(self, key: str) -> bytes | None:
        """The content under ``key`` or None."""
        return _read(self._path(key))

    def put(self, key: str, content: bytes) -> None:
        """Keep content, where the folder can be written to."""
        with contextlib.suppress(OSError):
            self._write(self._path(key), content)

    def remove(self, key: str) -> None:
        """Forget what is under ``key``, if there is anything."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def names(self) -> list[str]:
        """The names of all entries, in order."""
        return sorted(path.stem for path in self.folder.glob("*" + _SUFFIX))

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)

    def _write(self, path: Path, content: bytes) -> None:
        """Whole or not at all: written beside its place, then moved there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_room(len(content))
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".part-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(content).digest() + content)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _make_room(self, needed: int) -> None:
        files = []
        for path in self.folder.glob("*" + _SUFFIX):
            with contextlib.suppress(OSError):
                stat = path.stat()
                files.append((stat.st_mtime_ns, stat.st_size, path))
        total = sum(size for _, size, _ in files) + needed
        for _, size, path in sorted(files):
            if total <= self.limit:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def _read(path: Path) -> bytes | None:
    """The content when the file is whole; marks it as used."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    content = data[start:]
    whole = (
        data.startswith(_MAGIC) and data[len(_MAGIC) : start] == hashlib.sha256(content).digest()
    )
    if not whole:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content
