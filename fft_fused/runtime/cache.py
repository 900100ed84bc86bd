"""A bounded cache: least recently used entries go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cache(Generic[T]):
    """At most ``limit`` values by key; safe to use from several threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
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

    def __len__(self) -> int:
        return len(self._items)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._items.clear()
            self.hits = self.misses = 0
