"""Locks that are open in a forked child, whoever held them in the parent."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_MADE: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """A lock; what it guards is changed in single steps, so that a fork finds it whole."""
    made = threading.Lock()
    _MADE.add(made)
    return made


def new_rlock() -> Any:
    """A lock that its holder may take again."""
    made = threading.RLock()
    _MADE.add(made)
    return made


def _open_all() -> None:
    for lock in list(_MADE):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
