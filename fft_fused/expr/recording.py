"""State of a recording: is one going on, and what it needed to know."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ScalarValueNeeded(Exception):  # noqa: N818 - not an error: makes the argument static
    """The recorded function asked for the value of run-time numbers, by slot."""

    def __init__(self, slots: tuple[int, ...]) -> None:
        super().__init__(slots)
        self.slots = slots


class _State(threading.local):
    depth = 0


_state = _State()


def tracing() -> bool:
    """Is a function being recorded in this thread?"""
    return _state.depth > 0


@contextmanager
def recording() -> Iterator[None]:
    """A block in which a function is recorded."""
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
