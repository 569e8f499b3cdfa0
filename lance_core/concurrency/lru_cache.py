"""A least-recently-used cache for objects that are costly to create: stores, readers, probes."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from lance_core.concurrency.fork_safe import ForkSafeLock, living
from lance_core.concurrency.turns import leave_turn
from lance_core.observation import OBSERVERS, count

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MISSING = object()


class _Making(Generic[V]):
    """An item that a thread creates now; ``lock`` is released when ``item`` or ``error`` is set."""

    __slots__ = ("error", "item", "lock")

    item: V
    error: BaseException | None

    def __init__(self) -> None:
        self.error = None
        self.lock = threading.Lock()
        self.lock.acquire()

    def result(self) -> V:
        """Wait for the item. Raises the error of the thread that creates it."""
        with self.lock:
            if self.error is not None:
                raise self.error
            return self.item


class LruCache(Generic[K, V]):
    """A bounded map that removes the least recently used items; safe for threads and forks.

    The sum of the items' weights, by default 1 each, is at most ``capacity``; the newest item is
    always kept, except with a ``capacity`` of 0. A forked child inherits the items of its parent,
    or, with ``parents_only``, none, because it must not use the parent's connections. With
    ``made_once``, threads that request the same item concurrently wait for the thread that creates
    it; creating an item must not request the same item. Requests of a cache with a ``name`` are
    reported to observers.
    """

    def __init__(
        self,
        capacity: int,
        weight: Callable[[V], int] | None = None,
        *,
        parents_only: bool = False,
        made_once: bool = False,
        name: str = "",
    ) -> None:
        self._capacity = capacity
        self._name = name
        self._weight = weight
        self._total = 0
        self._items: OrderedDict[K, V] = OrderedDict()
        self._lock = ForkSafeLock()
        self._being_made: dict[K, _Making[V]] | None = None
        if made_once:
            self._being_made = {}
            _with_makers.add(weakref.ref(self, _with_makers.discard))
        if parents_only:
            _not_for_children.add(weakref.ref(self, _not_for_children.discard))

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: K) -> bool:
        return key in self._items

    @property
    def total(self) -> int:
        """The sum of the items' weights."""
        return self._total

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The item for ``key``; creates a missing item outside the lock."""
        if OBSERVERS and self._name:
            count("lance.cache.requests", cache=self._name, hit=key in self._items)
        with self._lock:
            # Twice and not thrice: the hash of a key may be Python code.
            stored: Any = self._items.get(key, _MISSING)
            if stored is not _MISSING:
                self._items.move_to_end(key)
                item: V = stored
                return item
            making = self._being_made
            others = None if making is None else making.get(key)
            if making is not None and others is None:
                own = making[key] = _Making()
        if others is not None:
            leave_turn()  # the thread that creates it may wait for a turn
            return others.result()
        if making is None:
            return self._keep(key, make())
        try:
            own.item = item = self._keep(key, make())
        except BaseException as error:
            own.error = error
            raise
        finally:
            self._end(key)
            own.lock.release()
        return item

    def _keep(self, key: K, item: V) -> V:
        if not self._capacity:
            return item
        with self._lock:
            # Another thread may have created it too; all callers get the stored one.
            stored = self._items.setdefault(key, item)
            weight = self._weight
            if stored is item:
                self._total += 1 if weight is None else weight(item)
            while self._total > self._capacity and len(self._items) > 1:
                oldest = self._items.popitem(last=False)[1]
                self._total -= 1 if weight is None else weight(oldest)
        return stored

    def _end(self, key: K) -> None:
        """Mark the creation of the item as finished."""
        with self._lock:
            if self._being_made is not None:
                self._being_made.pop(key, None)

    def peek(self, key: K) -> V | None:
        """The item for ``key`` if there is one; it does not become the most recently used."""
        with self._lock:
            return self._items.get(key)

    def remove(self, key: K) -> None:
        """Remove the item for ``key`` if there is one."""
        with self._lock:
            if key in self._items:
                item = self._items.pop(key)
                self._total -= 1 if self._weight is None else self._weight(item)

    def forget_makers(self) -> None:
        """Forget the threads that create items, because they belong to another process."""
        if self._being_made is not None:
            self._being_made = {}

    def reset(self) -> None:
        """Remove all items."""
        with self._lock:
            self._total = 0
            self._items = OrderedDict()


# Sets of references instead of `weakref.WeakSet`, which runs Python code for each cache.
_not_for_children: set[weakref.ref[LruCache[Any, Any]]] = set()
_with_makers: set[weakref.ref[LruCache[Any, Any]]] = set()


def _forget_in_child() -> None:
    for items in living(_not_for_children):
        items.reset()
    for items in living(_with_makers):
        items.forget_makers()


if hasattr(os, "register_at_fork"):
    # Children run these in the order of registration: the locks are unlocked by now.
    os.register_at_fork(after_in_child=_forget_in_child)
