"""Tables of namespaces while they are open: their credentials are renewed before they expire."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import lance_namespace as names
from lance_namespace import errors

from lance_core.errors import StoreError
from lance_core.hookspecs.commits import CommitHandler
from lance_core.hookspecs.namespaces import TableProvider
from lance_core.hookspecs.options import Secret, hide_secrets, plain
from lance_core.hookspecs.stores import (
    ObjectStore,
    ObjectWriter,
    StoreCall,
    StoreUrl,
    StoreWrapper,
)
from lance_core.plugins import open_store
from lance_core_namespace.managed import LostNamespaceCommitHandler, NamespaceCommitHandler

T = TypeVar("T")
Options = Mapping[str, str | Secret]

_LOG = logging.getLogger("lance_core")

EXPIRY = "expires_at_millis"
OFFSET = "refresh_offset_millis"
_OWN = frozenset({EXPIRY, OFFSET})
"""Vended options that are for this module, not for stores."""

DEFAULT_OFFSET = 60.0
"""Seconds before their end at which options are renewed, unless the namespace says otherwise."""

_clock: Callable[[], float] = time.time


def table_provider(
    client: Any, table_id: Sequence[str], vended: Options, is_managed: bool
) -> TableProvider:
    """What keeps the options of a table valid that ``client`` vended, and commits its versions."""
    return NamespaceTable(client, tuple(table_id), vended, is_managed=is_managed)


class NamespaceTable(TableProvider):
    """A table of a namespace: vended options, until their end, and then new ones.

    Pickling keeps the client if it can be pickled, and drops secrets: the process that unpickles
    asks the namespace for new options. Without a client the old options stay.
    """

    def __init__(
        self, client: Any, table_id: tuple[str, ...], vended: Options, *, is_managed: bool
    ) -> None:
        self._client, self._id, self._is_managed = client, table_id, is_managed
        self._lock = threading.Lock()
        self._vended: Options = hide_secrets(vended)
        self._until = 0.0 if _misses(self._vended) else _renewal(self._vended)
        parts = ", ".join(f'"{part}"' for part in table_id)
        named = "none" if client is None else client.namespace_id()
        self._text = (
            f"LanceNamespaceStorageOptionsProvider {{ namespace_client: {named}, "
            f"table_id: [{parts}] }}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        client = self._client if _can_be_sent(self._client) else None
        return _restored, (client, self._id, self._vended, self._is_managed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamespaceTable) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"NamespaceTable({self.provider_id()})"

    def provider_id(self) -> str:
        """The namespace and the name of the table, as pylance's provider writes them."""
        return self._text

    def storage_options(self) -> Options:
        """The options that are valid now.

        If the namespace does not answer, the old ones serve until their end; then raises
        `StoreError`.
        """
        with self._lock:
            if self._client is not None and _clock() >= self._until:
                self._renew()
            return self._vended

    def open_store(self, url: StoreUrl, options: Options) -> ObjectStore:
        """A store that is opened again when the options are renewed."""
        return RenewingStore(self, url, options)

    def commit_handler(
        self, store: ObjectStore, url: StoreUrl, folder: str
    ) -> CommitHandler | None:
        """The handler that commits by the namespace, None if that does not manage versions."""
        if not self._is_managed:
            return None
        if self._client is None:
            return LostNamespaceCommitHandler(store)
        branch = folder.removeprefix("tree/") or None
        path = "/".join(filter(None, (url.path.strip("/"), folder)))
        return NamespaceCommitHandler(store, self._client, self._id, path, branch)

    def _renew(self) -> None:
        request = names.DescribeTableRequest(id=list(self._id), vend_credentials=True)
        try:
            response = self._client.describe_table(request)
            vended = hide_secrets(response.storage_options)
            until = _renewal(vended or {})
        except Exception as error:
            if _clock() < _end(self._vended) and not _misses(self._vended):
                _LOG.warning("storage options are not renewed yet (%s)", type(error).__name__)
                return
            text = str(error) if isinstance(error, errors.LanceNamespaceError) else ""
            raise StoreError(
                f"the namespace gave no new storage options for table {list(self._id)}: "
                f"{type(error).__name__}{': ' if text else ''}{text}"
            ) from error
        if not isinstance(vended, Mapping) or not vended:
            raise StoreError(f"the namespace gave no storage options for table {list(self._id)}")
        self._vended, self._until = vended, until

    def _key(self) -> tuple[str, bool]:
        return self._text, self._is_managed


class RenewingStore(StoreWrapper):
    """The store at ``url``, with the options that are valid at each call."""

    def __init__(self, table: NamespaceTable, url: StoreUrl, options: Options) -> None:
        self._table, self._url = table, url
        self._options = {name: value for name, value in options.items() if name not in _OWN}
        self._vended: Options | None = None
        self._store: ObjectStore | None = None
        store = self.inner
        self.coalesce_gap, self.read_ahead = store.coalesce_gap, store.read_ahead
        self.has_views = store.has_views

    def __repr__(self) -> str:
        return f"RenewingStore({str(self._url)!r})"

    def __eq__(self, other: object) -> bool:
        """Equal if both have the same files, so that caches are shared."""
        return isinstance(other, RenewingStore) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def inner(self) -> ObjectStore:  # type: ignore[override]  # an attribute of other wrappers
        """The store with the options that are valid now."""
        vended = self._table.storage_options()
        store = self._store
        if store is None or vended is not self._vended:
            valid = {name: value for name, value in vended.items() if name not in _OWN}
            store = open_store(self._url, {**self._options, **valid})
            self._store, self._vended = store, vended
        return store

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        return run()

    @property
    def guarantor(self) -> str | None:
        return self.inner.guarantor

    def check_can_write(self) -> None:
        self.inner.check_can_write()

    def within(self, seconds: float) -> ObjectStore:
        return self.inner.within(seconds)

    def open_writer(self, path: str) -> ObjectWriter:
        """A writer with the options that are valid now: an upload ends before they do."""
        return self.inner.open_writer(path)

    def existing(self, paths: Sequence[str]) -> list[str]:
        return self.inner.existing(paths)

    def _key(self) -> tuple[NamespaceTable, StoreUrl]:
        return self._table, self._url


def _restored(
    client: Any, table_id: tuple[str, ...], vended: Options, is_managed: bool
) -> NamespaceTable:
    return NamespaceTable(client, table_id, vended, is_managed=is_managed)


def _can_be_sent(client: Any) -> bool:
    """True unless the client or what it holds, such as an object of compiled code, refuses."""
    try:
        for value in (client, *vars(client).values()):
            if not callable(value):
                value.__reduce_ex__(4)
    except Exception:  # a client of another author raises anything
        return False
    return True


def _misses(options: Options) -> bool:
    """True if pickling dropped one of the options."""
    return any(isinstance(value, Secret) and value.is_missing for value in options.values())


def _end(options: Options) -> float:
    """The time at which options expire, infinite if they do not; raises `StoreError`."""
    text = options.get(EXPIRY)
    if text is None:
        return float("inf")
    try:
        return int(plain(text)) / 1000
    except ValueError:
        raise StoreError(f"the namespace's {EXPIRY} is not a number of milliseconds") from None


def _renewal(options: Options) -> float:
    """The time from which new options are asked for: some time before their end.

    This is at most half of what is left of their life, so that options of a short life are used.
    """
    end, offset = _end(options), DEFAULT_OFFSET
    text = options.get(OFFSET)
    if text is not None and plain(text).isdigit():
        offset = int(plain(text)) / 1000
    return end - min(offset, max(end - _clock(), 0.0) / 2)
