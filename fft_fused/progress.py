"""A progress bar for a terminal, shown when the work takes longer than a second."""

from __future__ import annotations

import time
from typing import Any, TextIO


class Progress:
    """Call with what is done and what there is in all."""

    def __init__(self, stream: TextIO, after: float = 1.0) -> None:
        self._stream, self._after = stream, after
        self._start = self._last = time.monotonic()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._shown:
            self._stream.write("\r" + " " * 60 + "\r")
            self._stream.flush()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._stream.isatty() or now - self._start < self._after or now - self._last < 0.1:
            return
        self._last, self._shown = now, True
        part = done / total
        left = (now - self._start) * (1 - part) / part
        bar = "#" * round(30 * part)
        self._stream.write(f"\r[{bar:30s}] {part:4.0%}  {left:.0f} s left ")
        self._stream.flush()
