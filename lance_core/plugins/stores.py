"""Opening stores: from a URI and options to a live store, at most one per table and process."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields

from lance_core.errors import InvalidInputError
from lance_core.plugins.manager import get_manager
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.bounded import Bounded
from lance_core.store.config import Secret
from lance_core.store.uri import StoreUrl, parse_uri

HANDLER_OPTION = "commit_handler"
"""Storage option: name of the commit handler."""

ALLOW_OPTION = "allow_base_paths"
"""Storage option: which places outside of a table its files may be read from."""

CAPABILITY_OPTIONS = frozenset(field.name for field in fields(StoreCapabilities))
"""Storage options by which a user vouches for what a store guarantees: ``yes`` or ``no``."""

LEASE_OPTIONS = frozenset(
    {"lease_uri", "lease_duration", "lease_request_lifetime", "lease_patience"}
)
"""Storage options of commits under a lease, see `lance_core.plugins.leases`."""

MAX_LIVE_STORES = 64
"""Stores that stay open in a process; the least recently used goes first."""

Options = Mapping[str, str | Secret]

_OF_THE_TABLE = CAPABILITY_OPTIONS | LEASE_OPTIONS | {ALLOW_OPTION, HANDLER_OPTION}


live_stores: Bounded[Hashable, ObjectStore] = Bounded(MAX_LIVE_STORES, parents_only=True)
"""The open stores of this process, by what opened them."""


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
    return live_stores.get(key, lambda: spec.open(url, options))


def _for_the_store(options: Options) -> dict[str, str | Secret]:
    """``options`` without those that are about the table on it."""
    given: Iterable[tuple[object, object]] = options.items()
    for name, value in given:
        if not isinstance(name, str) or not isinstance(value, str | Secret):
            raise InvalidInputError(f"storage option {name!r} is {type(value).__name__}, not text")
    return {name: value for name, value in options.items() if name not in _OF_THE_TABLE}
