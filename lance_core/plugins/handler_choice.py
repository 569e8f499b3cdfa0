"""Choose a table's commit handler: the requested one, or else the best that the store supports.

A handler is requested by (in this order) an explicit argument, the URL's suffix, the storage option
``commit_handler``, or the marker in the table's config. Without a request, the handler with the
highest rank is chosen among those whose requirements the store guarantees
(`lance_core.plugins.capability_evidence`).

The choice never writes and never fails because of missing guarantees, so reading works on every
store. The first commit probes unknown guarantees and fails if they are not sufficient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lance_core.commits.base import (
    Candidate,
    CommitHandler,
    CommitHandlerSpec,
    ManifestLocation,
)
from lance_core.commits.checked_handler import checked
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.handlers.directory import ReadOnlyCommitHandler
from lance_core.error_texts.plugin_calls import wrong_result
from lance_core.errors import InvalidInputError, PluginLoadError, StoreError, warn_caller
from lance_core.plugins.capability_evidence import (
    apply_user_overrides,
    confirm,
    is_from_record,
    is_worth_probing,
    missing,
    no_safe_handler_error,
    probe_store,
    probes,
    refute,
    verdict_key,
)
from lance_core.plugins.factories import call_factory
from lance_core.plugins.manager import get_manager
from lance_core.plugins.store_cache import HANDLER_OPTION, Options
from lance_core.store.base import ObjectStore
from lance_core.store.secret import plain
from lance_core.store.secret_detection import looks_secret
from lance_core.store.spec import resolve_factory
from lance_core.store.uri import StoreUrl

MARKER = "lance_core.commit_handler"
"""Key of a table's config: the name of the commit handler that all its writers must use."""

Wish = str | CommitHandler | CommitHandlerSpec | None


def select_commit_handler(
    store: ObjectStore,
    url: StoreUrl,
    options: Options,
    explicit: Wish = None,
    table_marker: str | None = None,
    environment: Environment = SYSTEM,
) -> CommitHandler:
    """The commit handler of the table at the root of ``store``; see the module for the rules.

    ``table_marker`` is the value of `MARKER` in the table's config. Raises `PluginNotFoundError`
    if the requested handler is not installed. If the guarantees are not sufficient, ``commit`` of
    the result raises `NoSafeCommitHandlerError`.
    """
    if explicit is not None and isinstance(explicit, CommitHandler):
        return checked(explicit, store)
    requested = _asked_for(url, options, explicit, table_marker)
    candidates = get_manager().automatic_handlers if requested is None else [requested]
    known = apply_user_overrides(store.capabilities, options)
    for spec in candidates:
        if not missing(spec, known):
            return _open(spec, store, url, options, environment)

    def make(spec: CommitHandlerSpec) -> CommitHandler:
        return _open(spec, store, url, options, environment)

    key = verdict_key(store, url, options)

    def prove() -> CommitHandler:
        if not is_worth_probing(candidates, known):
            raise no_safe_handler_error(url, candidates, known)
        while True:
            is_record = is_from_record(key)
            shown = probe_store(store, url, options, environment)
            for spec in candidates:
                if not missing(spec, shown):
                    confirm(key)
                    return make(spec)
            refute(key)
            if not is_record:
                raise no_safe_handler_error(url, candidates, shown)

    reader = ReadOnlyCommitHandler(store) if requested is None else make(requested)
    return UnprovenCommitHandler(reader, prove, lambda: key in probes)


def _asked_for(
    url: StoreUrl,
    options: Options,
    explicit: str | CommitHandlerSpec | None,
    table_marker: str | None,
) -> CommitHandlerSpec | None:
    """The requested handler, None without a request; warns if it contradicts the marker."""
    if isinstance(explicit, CommitHandlerSpec):
        requested = explicit
    elif explicit is not None:
        requested = get_manager().commit_handler(explicit)
    elif url.commit_scheme is not None:
        requested = get_manager().url_suffix(url.commit_scheme)
    elif HANDLER_OPTION in options:
        if looks_secret(plain(options[HANDLER_OPTION])):
            raise InvalidInputError(
                f"storage option {HANDLER_OPTION!r} must be the name of a commit handler, but its "
                "value, which is not shown, looks like a secret"
            )
        requested = get_manager().commit_handler(plain(options[HANDLER_OPTION]))
    elif table_marker is not None and get_manager().commit_handler(table_marker).multi_writer:
        requested = get_manager().commit_handler(table_marker)
    else:  # only a caller, not a table, can request a handler that may lose commits
        return None
    if table_marker is not None and requested.name != table_marker:
        warn_caller(
            f"the table asks for the commit handler {table_marker!r} and not for "
            f"{requested.name!r}: writers that use different handlers may lose each other's commits"
        )
    return requested


def _open(
    spec: CommitHandlerSpec,
    store: ObjectStore,
    url: StoreUrl,
    options: Options,
    environment: Environment,
) -> CommitHandler:
    """Create the handler of ``spec``; errors name the plugin and the table."""
    what = f"commit handler {spec.name!r}"
    factory = resolve_factory(spec.factory, what)
    what = f"{what} of {get_manager().provider_of(spec)}"
    handler: object = call_factory(
        what, url, options, lambda: factory(store, url, options, environment)
    )
    if not isinstance(handler, CommitHandler):
        raise PluginLoadError(
            wrong_result(what, "the factory", handler, "a CommitHandler of the table")
        )
    return checked(handler, store, what)


class UnprovenCommitHandler(CommitHandler):
    """Reads through ``reader``, and commits through the handler that ``prove`` returns.

    The first commit calls ``prove``, which raises `NoSafeCommitHandlerError` if no handler is safe.
    Concurrent first commits may each call it, with the same result; there is no lock, because a
    fork could leave it locked.
    """

    keeps_contract = True

    def __init__(
        self,
        reader: CommitHandler,
        prove: Callable[[], CommitHandler],
        is_still_proven: Callable[[], bool] = lambda: True,
    ) -> None:
        self._reader = reader
        self._prove = prove
        self._is_still_proven = is_still_proven
        self._proven: CommitHandler | None = None

    def latest(self) -> ManifestLocation | None:
        return self._reader.latest()

    def locate(self, version: int) -> ManifestLocation:
        return self._reader.locate(version)

    def list_versions(self) -> Sequence[ManifestLocation]:
        return self._reader.list_versions()

    def commit(self, candidate: Candidate) -> ManifestLocation:
        return self._proof().commit(candidate)

    def check_can_commit(self) -> None:
        self._proof().check_can_commit()

    def discard(self, candidate: Candidate) -> None:
        if self._proven is not None:
            self._proven.discard(candidate)

    def forget(self, folder: str = "") -> None:
        self._reader.forget(folder)

    def _proof(self) -> CommitHandler:
        proven = self._proven
        if proven is None or not self._is_still_proven():
            try:
                proven = self._proven = self._prove()
            except StoreError as error:
                # Even if the outcome of the probe is unknown, nothing of the commit was sent.
                raise StoreError(f"the store could not be probed: {error}") from error
        return proven
