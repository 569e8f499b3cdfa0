"""Defects of commit handlers: each a good handler with one thing wrong."""

from __future__ import annotations

import contextlib
import functools
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import (
    DatasetNotFoundError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.functions import exists
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import DETACHED
from lance_core_testing.commit_handlers.races import OpenTable
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.service import InProcessService
from tests.conformance.planted.runner import Defect, defects_of


class LooksThenWrites(DirectoryCommitHandler):
    """Right as long as nobody commits between its two calls."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if exists(self.store, candidate.path):
            raise ObjectExistsError(candidate.path)
        self.store.put(candidate.path, candidate.data)
        return candidate.location


class Replaces(DirectoryCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put(candidate.path, candidate.data)
        return candidate.location


class LostIsRefused(PutIfAbsentCommitHandler):
    """Takes a lost answer for "not applied"."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except OutcomeUnknownError as error:
            raise StoreError(str(error)) from error


class LostIsApplied(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except OutcomeUnknownError:
            return candidate.location


class LostIsMine(PutIfAbsentCommitHandler):
    """Takes whatever is there for what it has written."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except ObjectExistsError:
            return candidate.location


class RefusedIsApplied(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except ObjectExistsError:
            raise
        except StoreError:
            return candidate.location


class MarksFirst(PutIfAbsentCommitHandler):
    """Marks a version as taken, and nobody can take it once its writer has died."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            self.store.put(f"_marks/{candidate.version}", b"", PutMode.create)
        except ObjectExistsError:
            raise ObjectExistsError(candidate.path) from None
        self.store.put(candidate.path, candidate.data)
        return candidate.location


class WritesInParts(PutIfAbsentCommitHandler):
    """The manifest is replaced by a longer one while it is visible."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put(candidate.path, candidate.data[:-1], PutMode.create)
        return candidate.location


class LeavesStaging(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put(f"_staging/{candidate.transaction_uuid}", candidate.data)
        return super().commit(candidate)


class OutageIsNoTable(PutIfAbsentCommitHandler):
    def latest(self) -> ManifestLocation | None:
        try:
            return super().latest()
        except StoreError:
            return None


class OutageIsNoVersion(PutIfAbsentCommitHandler):
    def locate(self, version: int) -> ManifestLocation:
        try:
            return super().locate(version)
        except StoreError as error:
            raise DatasetNotFoundError(str(error)) from error


class OutageIsNoHistory(PutIfAbsentCommitHandler):
    def list_versions(self) -> Sequence[ManifestLocation]:
        try:
            return super().list_versions()
        except StoreError:
            return []


class CachesTheLatest(PutIfAbsentCommitHandler):
    def __init__(self, store: ObjectStore) -> None:
        super().__init__(store)
        self.known: ManifestLocation | None = None

    def latest(self) -> ManifestLocation | None:
        self.known = self.known or super().latest()
        return self.known


class LatestIsTheFirst(PutIfAbsentCommitHandler):
    def latest(self) -> ManifestLocation | None:
        versions = super().list_versions()
        return versions[0] if versions else None


class LatestOfAnyFile(PutIfAbsentCommitHandler):
    def latest(self) -> ManifestLocation | None:
        names = sorted(self.store.list_names("_versions"))
        found = super().latest()
        if found is None and names:
            return ManifestLocation(1, f"_versions/{names[0]}", next(iter(_NAMINGS)))
        return found


class LatestIsDetached(PutIfAbsentCommitHandler):
    """Keeps the number of the last commit, whatever kind of version that was."""

    last: dict[int, int]

    def commit(self, candidate: Candidate) -> ManifestLocation:
        location = super().commit(candidate)
        self.newest = location
        return location

    def latest(self) -> ManifestLocation | None:
        return getattr(self, "newest", None) or super().latest()


class NewestFirst(PutIfAbsentCommitHandler):
    def list_versions(self) -> Sequence[ManifestLocation]:
        return list(reversed(super().list_versions()))


class ListsAPageOfVersions(PutIfAbsentCommitHandler):
    def list_versions(self) -> Sequence[ManifestLocation]:
        return super().list_versions()[:10]


class ListsLazily(PutIfAbsentCommitHandler):
    def list_versions(self) -> Any:
        return iter(super().list_versions())


class LocatesAnything(PutIfAbsentCommitHandler):
    def locate(self, version: int) -> ManifestLocation:
        try:
            return super().locate(version)
        except DatasetNotFoundError:
            latest = self.latest()
            return ManifestLocation(version, "_versions/x", latest.naming) if latest else _raised()


class RefusesDetached(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        if candidate.version >= DETACHED:
            raise OverflowError("too large")
        return super().commit(candidate)


class WrongSizeOfManifest(PutIfAbsentCommitHandler):
    def latest(self) -> ManifestLocation | None:
        found = super().latest()
        return replace(found, size=1) if found is not None else None


class OneNamingOnly(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        return super().commit(replace(candidate, naming=next(iter(_NAMINGS))))


class ReturnsNothing(PutIfAbsentCommitHandler):
    """Forgets its ``return``."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        super().commit(candidate)
        return None  # type: ignore[return-value]


class ReturnsTrue(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        super().commit(candidate)
        return True  # type: ignore[return-value]


class RefusedIsUnknown(PutIfAbsentCommitHandler):
    """Calls every failure of the store unknown."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except ObjectExistsError:
            raise
        except StoreError as error:
            raise OutcomeUnknownError(str(error)) from error


class RefusedIsUntyped(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except ObjectExistsError:
            raise
        except StoreError as error:
            raise TimeoutError(str(error)) from error


class ExistsIsUnknown(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            return super().commit(candidate)
        except ObjectExistsError as error:
            raise OutcomeUnknownError(str(error)) from error


class EtagOfTheStagedFile(PutIfAbsentCommitHandler):
    """Tells the etag of another object."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put("_staged", candidate.data)
        etag = self.store.head("_staged").etag
        self.store.delete("_staged")
        return replace(super().commit(candidate), etag=etag)


class EtagOfTheTransaction(PutIfAbsentCommitHandler):
    def commit(self, candidate: Candidate) -> ManifestLocation:
        return replace(super().commit(candidate), etag=candidate.transaction_uuid)


class EtagsOfDroppedTables(PutIfAbsentCommitHandler):
    """Keeps what it has once learnt of a path."""

    def __init__(self, store: ObjectStore) -> None:
        super().__init__(store)
        self.known: dict[str, str | None] = {}

    def latest(self) -> ManifestLocation | None:
        found = super().latest()
        if found is None:
            return None
        return replace(found, etag=self.known.setdefault(found.path, found.etag))


class EtagsOfReplacedManifests(PutIfAbsentCommitHandler):
    """Readers put a manifest in place that its writer puts in place again."""

    def latest(self) -> ManifestLocation | None:
        for staged in list(self.store.list("_staged")):
            final = staged.path.removeprefix("_staged/")
            if not exists(self.store, final):
                self._put_in_place(final)
        found = super().latest()
        if found is None:
            return None
        return replace(found, etag=bytes(self.store.get(f"_etags/{found.path}")).decode())

    def commit(self, candidate: Candidate) -> ManifestLocation:
        path = candidate.path
        self.store.put(f"_staged/{path}", candidate.data, PutMode.create)
        self._put_in_place(path)
        return candidate.location

    def _put_in_place(self, path: str) -> None:
        self.store.copy(f"_staged/{path}", path)
        etag = str(self.store.head(path).etag).encode()
        with contextlib.suppress(ObjectExistsError):
            self.store.put(f"_etags/{path}", etag, PutMode.create)


def _raised() -> ManifestLocation:
    raise DatasetNotFoundError("no table")


def _namings() -> list[Any]:
    from lance_core.table.paths import NamingScheme

    return list(NamingScheme)


_NAMINGS = _namings()


class Log:
    """A service that enters the versions of tables in a log; a good handler asks it first."""

    def __init__(self) -> None:
        self.service = InProcessService()
        self.lock = threading.Lock()
        self.entries: dict[tuple[str, int], bytes] = {}
        self.stores: list[ObjectStore] = []

    def enter(self, table: str, candidate: Candidate) -> None:
        """Add an entry for a version, or `ObjectExistsError`."""
        with self.lock:
            if (
                self.entries.setdefault((table, candidate.version), candidate.data)
                != candidate.data
            ):
                raise ObjectExistsError(candidate.path)

    def of(self, table: str) -> list[tuple[int, bytes]]:
        """All entries of a table."""
        with self.lock:
            return sorted((n, data) for (name, n), data in self.entries.items() if name == table)


class LogHandler(DirectoryCommitHandler):
    """The log decides; whoever comes next puts the manifests in place. Without a defect."""

    def __init__(self, store: ObjectStore, log: Log, table: str) -> None:
        super().__init__(store)
        self.log, self.table = log, table

    def latest(self) -> ManifestLocation | None:
        self.finish()
        return super().latest()

    def locate(self, version: int) -> ManifestLocation:
        self.finish()
        return super().locate(version)

    def list_versions(self) -> Sequence[ManifestLocation]:
        self.finish()
        return super().list_versions()

    def finish(self) -> None:
        """Put in place what is in the log only."""
        try:
            entries = self.log.service.send(lambda: self.log.of(self.table))
        except (ConnectionRefusedError, TimeoutError) as error:
            raise StoreError(str(error)) from error
        there = {location.version for location in super().list_versions()}
        for version, data in entries:
            if version not in there:
                path = _path_like(version)
                self.store.put(path, data)

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if candidate.version >= DETACHED:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        try:
            self.log.service.send(lambda: self.log.enter(self.table, candidate))
        except ConnectionRefusedError as error:
            raise self.refused(error) from error
        except TimeoutError as error:
            raise self.lost(error) from error
        try:
            self.store.put(candidate.path, candidate.data)
        except StoreError as error:
            raise OutcomeUnknownError(str(error)) from error
        return candidate.location

    def forget(self, folder: str = "") -> None:
        with self.log.lock:
            for name, number in list(self.log.entries):
                if name == self.table:
                    del self.log.entries[name, number]

    def refused(self, error: Exception) -> Exception:
        """What a refused connection is to the caller."""
        return StoreError(str(error))

    def lost(self, error: Exception) -> Exception:
        """What a lost answer is to the caller."""
        return OutcomeUnknownError(str(error))


def _path_like(version: int) -> str:
    from lance_core.table.paths import manifest_path

    return manifest_path(version)


class LogAnswerLostIsRefused(LogHandler):
    def lost(self, error: Exception) -> Exception:
        return StoreError(str(error))


class LogAnswerLostIsExists(LogHandler):
    def lost(self, error: Exception) -> Exception:
        return ObjectExistsError("a version")


class LogRefusesAndIsUnknown(LogHandler):
    def refused(self, error: Exception) -> Exception:
        return OutcomeUnknownError(str(error))


class LogOutageIsEmpty(LogHandler):
    """Reads go on without the log while it is not there."""

    def finish(self) -> None:
        try:
            super().finish()
        except StoreError:
            self.store = MemoryStore()


class LogStaysBroken(LogHandler):
    """Gives up for good after the first failure."""

    is_broken = False

    def finish(self) -> None:
        if self.is_broken:
            raise StoreError("there is no connection")
        try:
            super().finish()
        except StoreError:
            self.is_broken = True
            raise


class TablesShareALog(LogHandler):
    def __init__(self, store: ObjectStore, log: Log, table: str) -> None:
        super().__init__(store, log, "every table")


class ForgetsNothing(LogHandler):
    def forget(self, folder: str = "") -> None:
        return


class ForgetsAllTables(LogHandler):
    def __init__(self, store: ObjectStore, log: Log, table: str) -> None:
        super().__init__(store, log, table)
        log.stores.append(store)

    def forget(self, folder: str = "") -> None:
        self.log.entries.clear()
        for store in self.log.stores:
            for one in list(store.list("")):
                store.delete(one.path)


class InProcessLock(DirectoryCommitHandler):
    """Right between threads; other processes have a lock of their own."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        with _LOCK:
            if exists(self.store, candidate.path):
                raise ObjectExistsError(candidate.path)
            self.store.put(candidate.path, candidate.data)
        return candidate.location


class InProcessRows(ExternalManifestCommitHandler):
    """Its rows are those of one process."""

    def __init__(self, store: ObjectStore) -> None:
        super().__init__(store, _ROWS, "table")


_LOCK = threading.Lock()
_ROWS = MemoryManifestStore()


def fixtures(make: Callable[[ObjectStore], CommitHandler]) -> Mapping[str, object]:
    """The fixtures of `CommitHandlerTests` for a handler of a store in memory."""
    store = MemoryStore()
    return {"store": store, "make_handler": make, "handler": make(store), "make_other": None}


def fixtures_of_log(make: Callable[[ObjectStore, Log, str], CommitHandler]) -> Mapping[str, object]:
    """The same for a handler that asks a service."""
    log, store, other = Log(), MemoryStore(), MemoryStore()
    make_handler = lambda store: make(store, log, "table")  # noqa: E731
    return {
        "store": store,
        "make_handler": make_handler,
        "handler": make_handler(store),
        "failing": log.service,
        "make_other": lambda: (other, make(other, log, "other")),
    }


def fixtures_on_disk(
    make: Callable[[ObjectStore], CommitHandler], folder: Path
) -> Mapping[str, object]:
    """The same for several processes."""
    opener = functools.partial(LocalStore, folder / uuid.uuid4().hex, Durability.fast)
    return {"store": opener(), "make_handler": make, "shared_table": OpenTable(opener, make)}


_UNTRUE = "test_a_candidate_that_is_said_not_to_be_applied_is_not"
_OUTAGE = "test_an_outage_that_begins_with_a_lost_answer_is_never_called_a_failure"

IN_MEMORY: Sequence[Defect] = [
    *defects_of("test_of_two_writers_one_wins_whenever_one_overtakes_the_other", LooksThenWrites),
    *defects_of("test_of_two_writers_one_wins_whenever_one_overtakes_the_other", LostIsMine),
    *defects_of("test_of_racing_candidates_exactly_one_becomes_the_version", Replaces),
    *defects_of(_UNTRUE, LostIsRefused, LostIsApplied, RefusedIsApplied),
    Defect("LostIsRefused, then an outage", LostIsRefused, [_OUTAGE]),
    *defects_of("test_a_fault_of_one_write_never_breaks_the_outcome", MarksFirst),
    *defects_of(
        "test_what_is_committed_is_found", WritesInParts, WrongSizeOfManifest, OneNamingOnly
    ),
    *defects_of("test_what_is_committed_is_found", ReturnsNothing, ReturnsTrue),
    *defects_of(
        "test_a_commit_of_which_nothing_was_applied_is_not_called_unknown",
        RefusedIsUnknown,
        RefusedIsUntyped,
    ),
    *defects_of("test_a_version_is_never_replaced", ExistsIsUnknown),
    *defects_of("test_an_etag_is_that_of_the_manifest", EtagOfTheStagedFile, EtagOfTheTransaction),
    *defects_of(
        "test_an_etag_is_that_of_the_manifest_though_readers_come_in_between",
        EtagsOfReplacedManifests,
    ),
    *defects_of("test_the_etag_of_a_table_that_was_dropped_is_forgotten", EtagsOfDroppedTables),
    *defects_of("test_what_loses_leaves_nothing_visible", LeavesStaging),
    *defects_of("test_an_outage_of_the_store_is_an_error_and_no_answer", OutageIsNoTable),
    *defects_of("test_an_outage_of_the_store_is_an_error_and_no_answer", OutageIsNoVersion),
    *defects_of("test_an_outage_of_the_store_is_an_error_and_no_answer", OutageIsNoHistory),
    *defects_of("test_another_handler_sees_a_commit_at_once", CachesTheLatest),
    *defects_of("test_versions_are_listed_oldest_first", LatestIsTheFirst, NewestFirst),
    *defects_of("test_versions_are_listed_oldest_first", ListsAPageOfVersions, ListsLazily),
    *defects_of("test_other_files_are_no_versions", LatestOfAnyFile),
    *defects_of("test_a_detached_version_that_is_committed_is_never_the_latest", LatestIsDetached),
    *defects_of("test_a_detached_version_that_is_committed_is_never_the_latest", RefusesDetached),
    *defects_of("test_versions_are_listed_oldest_first", LocatesAnything),
]

OF_LOG: Sequence[Defect] = [
    *defects_of(
        "test_a_candidate_is_not_applied_if_that_is_said_after_a_fault_of_the_service",
        LogAnswerLostIsRefused,
        LogAnswerLostIsExists,
    ),
    Defect(
        "LogAnswerLostIsRefused, then an outage",
        LogAnswerLostIsRefused,  # type: ignore[arg-type]
        ["test_a_fault_of_the_service_never_breaks_the_outcome"],
    ),
    *defects_of(
        "test_a_commit_that_the_service_refuses_is_not_called_unknown", LogRefusesAndIsUnknown
    ),
    *defects_of("test_an_outage_of_the_service_is_an_error_and_no_answer", LogOutageIsEmpty),
    *defects_of("test_a_fault_of_the_service_never_breaks_the_outcome", LogStaysBroken),
    *defects_of("test_tables_do_not_see_each_others_versions", TablesShareALog, ForgetsAllTables),
    *defects_of("test_a_dropped_table_is_forgotten", ForgetsNothing),
]

ON_DISK: Sequence[Defect] = [
    *defects_of(
        "test_of_candidates_of_racing_processes_exactly_one_becomes_the_version",
        InProcessLock,
        InProcessRows,
    ),
]
