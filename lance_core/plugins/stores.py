"""Opening stores: from a URI and options to a live store, at most one per table and process."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields

from lance_core.errors import InvalidInputError
from lance_core.plugins.manager import get_manager
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.config import Secret
from lance_core.store.uri import StoreUrl, parse_uri

HANDLER_OPTION = "commit_handler"
"""Storage option: name of the commit handler."""

CAPABILITY_OPTIONS = frozenset(field.name for field in fields(StoreCapabilities))
"""Storage options by which a user vouches for what a store guarantees: ``yes`` or ``no``."""

MAX_LIVE_STORES = 64
"""Stores that stay open in a process; the least recently used goes first."""

Options = Mapping[str, str | Secret]


class LiveStores:
    """The open stores of this process, by what opened them; bounded, and safe for threads."""

    def __init__(self, capacity: int = MAX_LIVE_STORES) -> None:
        self._capacity = capacity
        self._stores: OrderedDict[Hashable, ObjectStore] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._stores)

    def get(self, key: Hashable) -> ObjectStore | None:
        """The store of ``key``, if it is open."""
        with self._lock:
            store = self._stores.get(key)
            if store is not None:
                self._stores.move_to_end(key)
            return store

    def keep(self, key: Hashable, store: ObjectStore) -> ObjectStore:
        """Keep ``store``, or what another thread kept for ``key`` in the meantime."""
        with self._lock:
            store = self._stores.setdefault(key, store)
            self._stores.move_to_end(key)
            while len(self._stores) > self._capacity:
                self._stores.popitem(last=False)
            return store

    def reset(self) -> None:
        """Forget all stores; a child process must not use the connections of its parent."""
        self._lock = threading.Lock()
        self._stores = OrderedDict()


live_stores = LiveStores()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=live_stores.reset)


def open_store(
    uri: str | os.PathLike[str] | StoreUrl, storage_options: Options | None = None
) -> ObjectStore:
    """The store rooted at ``uri``; the same object as long as URL and options are the same.

    Raises `InvalidInputError` for a URI or options that cannot be used, and `PluginNotFoundError`
    if nothing serves the scheme.
    """
    url = uri if isinstance(uri, StoreUrl) else parse_uri(uri)
    spec = get_manager().object_store(url.scheme)
    options = _for_the_store(storage_options or {})
    given = frozenset(spec.canonical_options(options).items())
    query = frozenset((name, Secret(value)) for name, value in url.query.items())
    key = (spec, url, query, given)
    store = live_stores.get(key)
    if store is None:
        store = live_stores.keep(key, spec.open(url, options))
    return store


def _for_the_store(options: Options) -> dict[str, str | Secret]:
    """``options`` without those that are about commits."""
    given: Iterable[tuple[object, object]] = options.items()
    for name, value in given:
        if not isinstance(name, str) or not isinstance(value, str | Secret):
            raise InvalidInputError(f"storage option {name!r} is {type(value).__name__}, not text")
    return {
        name: value
        for name, value in options.items()
        if name != HANDLER_OPTION and name not in CAPABILITY_OPTIONS
    }
