"""Defects of commit handlers: renames, external stores, leases, and how versions are found."""

from __future__ import annotations

import contextlib
from typing import Any

from lance_core.commits import latest
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.catch_up import CatchUp
from lance_core.commits.handlers import directory, exclusive
from lance_core.commits.handlers.exclusive import ExclusiveWriter
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_row import entry_of, row_of, staging_path
from lance_core.commits.handlers.lock import LockCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.commits.handlers.rename import staging_path as renamed_from
from lance_core.commits.newest import NewestVersion
from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    DatasetNotFoundError,
    LanceError,
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.functions import exists
from lance_core_lease import handler as lease
from lance_core_lease import store_leases
from tests.explore import checks, places
from tests.explore.seed import REFUSALS_COUNT, Failure, Seed, put_in, together

_commit = ExternalManifestCommitHandler.commit


def _up_to_a_gap(self: NewestVersion) -> ManifestLocation | None:
    if self._known is None:
        return None
    newest = self._known[0]
    with contextlib.suppress(DatasetNotFoundError):
        while True:
            newest = latest.locate_manifest(self._store, newest.version + 1)
    return newest


def _replacing_rename(self: RenameCommitHandler, candidate: Candidate) -> ManifestLocation:
    staging = renamed_from(candidate)
    self.store.put(staging, candidate.data)
    if exists(self.store, candidate.path):
        raise ObjectExistsError(candidate.path)
    self.store.copy(staging, candidate.path)
    self.store.delete(staging)
    return candidate.location


def _any_error_is_a_conflict(
    self: ExternalManifestCommitHandler, candidate: Candidate
) -> ManifestLocation:
    try:
        return _commit(self, candidate)
    except Exception as error:
        self.discard(candidate)
        raise CommitConflictError(str(error)) from error


def _row_before_copy(self: ExternalManifestCommitHandler, candidate: Candidate) -> ManifestLocation:
    staging = staging_path(candidate)
    self._stage(candidate, staging)
    entry = entry_of(self.base_uri, candidate.version, candidate.path, len(candidate.data))
    self.rows.put_if_absent(self.base_uri, entry)
    self._copy(staging, candidate.path)
    self.store.delete(staging)
    return candidate.location


def _copy_before_row(self: ExternalManifestCommitHandler, candidate: Candidate) -> ManifestLocation:
    staging = staging_path(candidate)
    self._stage(candidate, staging)
    self._copy(staging, candidate.path)
    entry = entry_of(self.base_uri, candidate.version, staging, len(candidate.data))
    self.rows.put_if_absent(self.base_uri, entry)
    self._settle(row_of(self.base_uri, entry), candidate.location)
    return candidate.location


def _staged_file_goes_first(
    self: ExternalManifestCommitHandler, candidate: Candidate
) -> ManifestLocation:
    staging = staging_path(candidate)
    self._stage(candidate, staging)
    entry = entry_of(self.base_uri, candidate.version, staging, len(candidate.data))
    try:
        self.rows.put_if_absent(self.base_uri, entry)
    except Exception:
        self.store.delete(staging)
        raise
    self._copy(staging, candidate.path)
    self._settle(row_of(self.base_uri, entry), candidate.location)
    return candidate.location


def _insisting(self: ExternalManifestCommitHandler, row: Any) -> ManifestLocation:
    with contextlib.suppress(DatasetNotFoundError):
        return latest.locate_manifest(self.store, row.version)
    try:
        self._copy(row.path, row.final)
    except LanceError as error:
        raise StoreError(f"version {row.version} cannot be completed: {error}") from error
    return latest.locate_manifest(self.store, row.version)


def _leaving_early(self: LockCommitHandler, candidate: Candidate) -> ManifestLocation:
    with self._lock(candidate.version):
        pass
    return self._writer.write(candidate, lambda: None)


def _newest_by_hint(store: Any) -> ManifestLocation | None:
    listed = latest.list_manifests(store)
    if not listed:
        return None
    with contextlib.suppress(FileNotFoundError):
        hinted = int(store.get("_versions/latest_version_hint.json").to_pybytes()[11:-1])
        return latest.locate_manifest(store, hinted)
    return listed[-1]


def _first_of_the_list(store: Any) -> ManifestLocation | None:
    return next(latest._locations(store.list("_versions")), None)


def _newest_of_any(locations: Any) -> ManifestLocation | None:
    return max(locations, key=lambda location: location.version, default=None)


def _settling_at_once(self: ExclusiveWriter, candidate: Any, permit: Any, cause: Any) -> Any:
    raise OutcomeUnknownError(str(cause))


SEEDS = (
    Seed(
        "rename-replaces",
        Failure.CREATE_ONLY,
        "A rename replaces what is at its target (iceberg#864, delta-rs#1348).",
        put_in(RenameCommitHandler, "commit", _replacing_rename),
        places.RENAMES,
    ),
    Seed(
        "any-row-error-is-a-conflict",
        Failure.EXTERNAL_STORE,
        "Any error of the external store counts as lost, and the staged manifest is removed"
        " (lance, until #7722).",
        put_in(ExternalManifestCommitHandler, "commit", _any_error_is_a_conflict),
        places.EXTERNAL_ONE,
    ),
    Seed(
        "row-before-copy",
        Failure.EXTERNAL_STORE,
        "The row says that the manifest is in place before it is (delta-rs#2446).",
        put_in(ExternalManifestCommitHandler, "commit", _row_before_copy),
        places.EXTERNAL_ONE,
    ),
    Seed(
        "copy-before-row",
        Failure.EXTERNAL_STORE,
        "The manifest is copied into place before the row has decided whose it is (delta#1410).",
        put_in(ExternalManifestCommitHandler, "commit", _copy_before_row),
        places.EXTERNAL_PLAIN,
    ),
    Seed(
        "staged-file-removed-in-doubt",
        Failure.EXTERNAL_STORE,
        "A row that may have been added names a staged manifest that is removed.",
        put_in(ExternalManifestCommitHandler, "commit", _staged_file_goes_first),
        places.EXTERNAL_ONE,
    ),
    Seed(
        "completed-by-another",
        Failure.EXTERNAL_STORE,
        "A staged manifest that another reader has just completed and removed is an error"
        " (lance#5515).",
        put_in(ExternalManifestCommitHandler, "_in_place", _insisting),
        places.SERVED_READERS,
    ),
    Seed(
        "rows-outlive-the-table",
        Failure.EXTERNAL_STORE,
        "Dropping a table leaves its rows, which decide about the next one of its name.",
        put_in(ExternalManifestCommitHandler, "forget", lambda *_: None),
        places.EXTERNAL_RECREATED,
    ),
    Seed(
        "recreated-table-accepted",
        Failure.EXTERNAL_STORE,
        "What was computed from a table that was dropped is committed to the one made in its place"
        " (lance#8738).",
        put_in(CatchUp, "_is_replaced", lambda *_: False),
        places.RECREATED,
    ),
    Seed(
        "hint-is-believed",
        Failure.FINDING,
        "The hint of the newest version is taken at its word.",
        put_in(directory, "newest_manifest", _newest_by_hint),
        places.HINTED,
    ),
    Seed(
        "names-end-at-a-gap",
        Failure.FINDING,
        "Names after a known version are looked at up to the first that is missing.",
        put_in(NewestVersion, "_by_names", _up_to_a_gap),
        places.BY_NAMES,
    ),
    Seed(
        "listing-is-thought-ordered",
        Failure.FINDING,
        "The first manifest of a listing is taken for the newest, whatever the store promises.",
        put_in(directory, "newest_manifest", _first_of_the_list),
        places.UNORDERED_PAIR,
    ),
    Seed(
        "naming-schemes-mixed",
        Failure.FINDING,
        "Manifests of two naming schemes are taken for one history.",
        put_in(latest, "_newest", _newest_of_any),
        checks.mixed_names_are_refused,
    ),
    Seed(
        "late-holder-says-failed",
        Failure.LEASE,
        "A commit that outlived its lease is reported as failed (delta-rs#268).",
        together(put_in(lease, "OutcomeUnknownError", CommitLockError), REFUSALS_COUNT),
        places.SLOW_WRITE,
    ),
    Seed(
        "expired-lease-publishes",
        Failure.LEASE,
        "Nobody looks whether the lease still lasts before the manifest is sent.",
        put_in(lease._Holding, "make_last", lambda self: None),
        places.SLOW_LOOK,
    ),
    Seed(
        "lease-taken-over-at-once",
        Failure.LEASE,
        "Who wants a lease does not wait for the one before to end.",
        put_in(store_leases._Record, "lasts", 0.0),
        places.LEASES,
    ),
    Seed(
        "lease-released-in-doubt",
        Failure.LEASE,
        "The lease is given back while a write that was not answered may still land.",
        put_in(exclusive.ExclusiveWriter, "_settle", _settling_at_once),
        places.LEASES_1,
    ),
    Seed(
        "lock-left-early",
        Failure.LEASE,
        "The commit lock is left before the manifest is written.",
        put_in(LockCommitHandler, "commit", _leaving_early),
        places.LOCKED,
    ),
    Seed(
        "unsafe-by-default",
        Failure.CREATE_ONLY,
        "Where nothing is safe, commits go the unsafe way (lance#6753, lance#8773).",
        checks.unsafe_by_default,
        checks.nothing_unsafe_is_chosen,
    ),
    Seed(
        "condition-never-tried",
        Failure.CREATE_ONLY,
        "A store that accepts several winners passes for one that does not"
        " (rustfs#1659, fake-gcs-server#994).",
        checks.probe_believes,
        checks.careless_stores_are_found_out,
    ),
    Seed(
        "name-before-content",
        Failure.DURABILITY,
        "A file gets its name before its content is on the disk (pond#110, s2#670).",
        checks.never_synced,
        checks.names_follow_content,
    ),
    Seed(
        "name-never-kept",
        Failure.DURABILITY,
        "A commit is reported although the disk may still forget the name of its manifest.",
        checks.names_never_synced,
        checks.names_follow_content,
    ),
)
