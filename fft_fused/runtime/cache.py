"""Bounded caches: least recently used entries go first. Those of the package clear together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from .locks import new_lock

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_CLEARED: list[Callable[[], None]] = []


class Cache(Generic[T]):
    """At most ``limit`` values by key; safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self._lock = new_lock()
        self._items: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of ``key``, made outside the lock when it is missing."""
        with self._lock:
            if key in self._items:
                self.hits += 1
                self._items.move_to_end(key)
                return self._items[key]
            self.misses += 1
        value = make()
        self.put(key, value)
        return value

    def peek(self, key: Hashable) -> T | None:
        """The value of ``key`` or None."""
        with self._lock:
            found = self._items.get(key)
            if found is not None:
                self.hits += 1
                self._items.move_to_end(key)
            return found

    def put(self, key: Hashable, value: T) -> None:
        """Keep a value; the least recently used ones make room."""
        with self._lock:
            self._items[key] = value
            while len(self._items) > self.limit:
                self._items.popitem(last=False)

    def remove(self, key: Hashable) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._items.pop(key, None)

    def __len__(self) -> int:
        return len(self._items)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._items.clear()
            self.hits = self.misses = 0


def shared_cache(limit: int) -> Cache[Any]:
    """A cache that ``clear_all`` clears."""
    made: Cache[Any] = Cache(limit)
    _CLEARED.append(made.clear)
    return made


def remembered(limit: int) -> Callable[[F], F]:
    """``functools.lru_cache``, cleared by ``clear_all``."""

    def decorated(function: F) -> F:
        made = lru_cache(limit)(function)
        _CLEARED.append(made.cache_clear)
        return cast(F, made)

    return decorated


def clear_all() -> None:
    """Forget everything that can be made again."""
    for clear in _CLEARED:
        clear()
