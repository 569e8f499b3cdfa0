"""Commits under a lease, which may be kept in another store: ``scheme+lease://…``.

The options, each of them also a query parameter of the URL: ``lease_uri``, the URI of the store
with the table's leases, by default the folder ``_leases`` of the table; ``lease_duration``,
``lease_request_lifetime`` and ``lease_patience``, see `LeaseTerms`. Case and underscores do not
matter. All writers of a table must use the same values.
"""

from __future__ import annotations

import contextlib

from lance_core.errors import InvalidInputError, NoSafeCommitHandlerError
from lance_core.hookspecs.commits import CommitHandler, Environment, ReadOnlyCommitHandler
from lance_core.hookspecs.options import Secret, hint, plain, shortened
from lance_core.hookspecs.stores import DeclaredStore, Guarantee, ObjectStore, StoreUrl, parse_uri
from lance_core.plugins import (
    CAPABILITY_OPTIONS,
    Options,
    UnprovenCommitHandler,
    apply_user_overrides,
    open_store,
    plain_name,
    probe_store,
)
from lance_core_lease.handler import LeaseCommitHandler, LeaseTerms
from lance_core_lease.plugin import LEASE_URI, OPTIONS
from lance_core_lease.store_leases import StoreLeases

_TERMS = {
    "lease_duration": "duration",
    "lease_request_lifetime": "request_lifetime",
    "lease_patience": "patience",
}


def lease_handler(
    store: ObjectStore, url: StoreUrl, options: Options, environment: Environment
) -> CommitHandler:
    """The handler of a table whose commits need a lease.

    The first commit opens the store of the leases, and probes it if its put-if-absent guarantee is
    unknown. Raises `InvalidInputError` for invalid options.
    """
    values = _given(url, options)
    terms = LeaseTerms(
        **{_TERMS[name]: _seconds(name, values[name]) for name in _TERMS if name in values}
    )
    uri = values.get(LEASE_URI)
    url_of_leases = None if uri is None else parse_uri(plain(uri))
    known = DeclaredStore(store, apply_user_overrides(store.capabilities, options))

    def prove() -> CommitHandler:
        lease_store = known
        if url_of_leases is not None:
            # Options that override capabilities apply to the table's store only.
            said = {k: value for k, value in options.items() if k not in CAPABILITY_OPTIONS}
            lease_store = _proven(open_store(url_of_leases, said), url_of_leases, said, environment)
        elif known.capabilities.put_if_absent is Guarantee.UNKNOWN:
            lease_store = _proven(store, url, options, environment)
        try:
            leases = StoreLeases(lease_store, terms, environment)
        except NoSafeCommitHandlerError as error:
            raise NoSafeCommitHandlerError(
                f"{error}. Keep the leases in a store that guarantees it: option lease_uri"
            ) from error
        return LeaseCommitHandler(known, leases, terms, environment)

    return UnprovenCommitHandler(ReadOnlyCommitHandler(store), prove)


def _proven(
    store: ObjectStore, url: StoreUrl, options: Options, environment: Environment
) -> DeclaredStore:
    """The store with its guarantees; probes it if its put-if-absent guarantee is unknown."""
    known = store.capabilities
    if known.put_if_absent is Guarantee.UNKNOWN:
        known = probe_store(store, url, options, environment)
    return DeclaredStore(store, known)


def _seconds(name: str, value: str | Secret) -> float:
    # The error of `float` repeats the value, so it must not be the context of the raised one.
    with contextlib.suppress(ValueError):
        return float(plain(value))
    raise InvalidInputError(f"option {name!r} must be a number of seconds")


def _given(url: StoreUrl, options: Options) -> dict[str, str | Secret]:
    """The options of leases by canonical name; a storage option overrides a query parameter."""
    names = {plain_name(name): name for name in OPTIONS}
    for name in url.query:
        if plain_name(name) not in names:
            raise InvalidInputError(
                f"{url}: commits under a lease have no parameter {shortened(name)}"
                f"{hint(name, OPTIONS)}"
            )
    values: dict[str, str | Secret] = {
        names[plain_name(name)]: value for name, value in url.query.items()
    }
    for name, option in options.items():
        if plain_name(name) in names:
            values[names[plain_name(name)]] = option
    return values
