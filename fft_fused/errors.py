"""The package's own exceptions; everything else is a built-in one."""

from __future__ import annotations


class NotFusedError(RuntimeError):
    """Raised under ``options(strict=True)`` when part of an expression would run unfused."""


class CompileError(RuntimeError):
    """The compiler or linker for a GPU rejected a source: a device function's, as the message says,
    or a generated one, which is a fault of this package."""


class RecordingError(ValueError):
    """A recording that cannot be read as asked: the message names the file and the way out."""


class LazyValueError(TypeError):
    """A lazy array was asked for a value (``bool``, ``float``, ``int``, iteration ...)."""
