"""Part of the contract of commit handlers: etags are those of the manifests in the table.

An etag that belongs to a staged file, to a request or to an earlier object makes readers take one
manifest for two, or two for one. A handler that may write a manifest again reads the etag when it
has to return a location, or returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lance_core.errors import ObjectExistsError, OutcomeUnknownError
from lance_core.hookspecs.commits import CommitHandler, ManifestLocation
from lance_core.hookspecs.stores import ObjectStore, list_paths
from lance_core_testing.commit_handlers.races import MakeHandler, Overtaken
from lance_core_testing.sample_transactions import first_candidate


class EtagTests:
    """Etags that handlers return, without writers."""

    def test_an_etag_is_that_of_the_manifest(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        handler = make_handler(store)
        for version in (1, 2, 3):
            committed = handler.commit(first_candidate(version=version))
            _check_etags(store, (handler, make_handler(store)), committed, "after a commit")

    def test_an_etag_is_that_of_the_manifest_though_readers_come_in_between(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        # A reader looks right before the nth call of the writer, and may complete the commit.
        version, was_overtaken = 0, True
        while was_overtaken:
            version += 1
            reader = make_handler(store)
            with ThreadPoolExecutor(1) as pool:

                def look(reader: CommitHandler = reader) -> bool:
                    return reader.latest() is not None

                overtaken = Overtaken(store, version, lambda: pool.submit(look))
                try:
                    committed = make_handler(overtaken).commit(first_candidate(version=version))
                except (ObjectExistsError, OutcomeUnknownError):  # the reader completed it
                    committed = make_handler(store).locate(version)
                was_overtaken = overtaken.rival is not None
            when = f"when a reader looked right before call {version} of the commit"
            _check_etags(store, (reader, make_handler(store)), committed, when)

    def test_the_etag_of_a_table_that_was_dropped_is_forgotten(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        handler = make_handler(store)
        handler.commit(first_candidate())
        handler.latest()
        for path in list_paths(store):
            store.delete(path)
        handler.forget()
        committed = handler.commit(first_candidate())
        when = "of a table that was dropped and made again"
        _check_etags(store, (handler, make_handler(store)), committed, when)


def _check_etags(
    store: ObjectStore,
    handlers: tuple[CommitHandler, ...],
    committed: ManifestLocation,
    when: str,
) -> None:
    """Check every etag that is returned for the version at ``committed``, the newest one."""
    _check_etag(store, committed, f"commit {when}")
    for handler in handlers:
        looks: dict[str, Callable[[], ManifestLocation | None]] = {
            "latest": handler.latest,
            "locate": lambda handler=handler: handler.locate(committed.version),  # type: ignore[misc]  # bound by its default
            "list_versions": lambda handler=handler: handler.list_versions()[-1],  # type: ignore[misc]
        }
        for name, look in looks.items():
            location = look()
            assert location is not None, f"{name} gave None {when}"
            _check_etag(store, location, f"{name} {when}")


def _check_etag(store: ObjectStore, location: ManifestLocation, doing: str) -> None:
    etag = store.head(location.path).etag
    assert location.etag in (None, etag), (
        f"{doing} returned the etag {location.etag!r} of version {location.version}, whose "
        f"manifest has {etag!r}; a handler must return the etag of the present manifest, or None"
    )
