"""Committing through an external manifest store, where the object store cannot decide by itself.

A commit takes these steps, of which the second decides:

1. the manifest is staged under a name that no other writer uses;
2. a row that names the staged file is added to the external store, if the version has none;
3. the staged file is copied to where the manifest of the version belongs;
4. the row is replaced by one that names that place;
5. the staged file is removed.

Whoever meets a row that names a staged file, reader or writer, first takes the steps 3 to 5. All
who do so copy the same bytes, so it does not matter how many there are, nor where they stop. If the
copy cannot be made the version is not loaded: whatever is read is always found in the table's
folder, too, and a copy of that folder is a complete table for which no external store is needed.

The newest version is the newest that the rows or the folder know. So a table may have been made
before the external store came, or the rows may have been lost. Where the rows know more than the
folder, nobody falls back to an older version: that is an error.

Cleanup leaves rows alone: the row of a version that is gone keeps late writers from making it
again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.handlers.external_manifest_row import (
    Row,
    check_same,
    entry_of,
    row_of,
    staging_path,
)
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.commits.latest import list_manifests, locate_manifest, newest_manifest
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ExistsError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.store.functions import exists
from lance_core.table.paths import DETACHED, VERSIONS

REQUIRES = frozenset({"strong_reads"})
"""What the object store must guarantee; the external store guarantees the rest."""

LOOKS = 5
"""How often to look again if the newest version is cleaned up while it is looked at."""


class ExternalManifestCommitHandler(CommitHandler):
    """Serves the table that ``store`` is rooted at, and whose rows are those of ``base_uri``.

    Holds nothing but its arguments. Detached versions have no row: their numbers are drawn at
    random, and nobody competes for them.
    """

    def __init__(self, store: ObjectStore, rows: ExternalManifestStore, base_uri: str) -> None:
        self.store = store
        self.rows = rows
        self.base_uri = base_uri

    def latest(self) -> ManifestLocation | None:
        """The newest version, completed if it was half-finished.

        Raises `CorruptFileError` if the rows know of a newer version than can be found, and
        `StoreError` if it cannot be completed.
        """
        return self._latest(lambda: newest_manifest(self.store))

    def _latest(self, look: Callable[[], ManifestLocation | None]) -> ManifestLocation | None:
        """The newest version, where ``look`` tells the newest one of the folder."""
        for _ in range(LOOKS):
            entry = self.rows.get_latest(self.base_uri)
            listed = look()
            if entry is None:
                return listed
            row = row_of(self.base_uri, entry)
            with contextlib.suppress(DatasetNotFoundError):  # cleaned up if there is a newer one
                return self._newer(row, listed)
        raise CorruptFileError(
            f"the external manifest store has a row for version {row.version}, but there is no "
            "such manifest: the folder is incomplete, a table of the same path in another bucket "
            "has the rows, or the table was removed without its rows (LanceDataset.drop with "
            "ignore_not_found=True removes them)",
            path=row.final,
        )

    def _newer(self, row: Row, listed: ManifestLocation | None) -> ManifestLocation:
        """The newer one of what the rows and the folder say is the newest version."""
        if listed is None or listed.version < row.version:
            return self._follow(row, listed)
        if listed.version > row.version:
            if not row.is_staged:  # before a row of this folder is added to another table's
                with contextlib.suppress(DatasetNotFoundError):
                    self._follow(row)
            return self.locate(listed.version)
        if row.is_staged:
            return self._follow(row, listed)
        check_same(row, listed.path, listed.size)
        return listed

    def locate(self, version: int) -> ManifestLocation:
        """Where a version is, completed if it was half-finished.

        A version without a row is given one.
        """
        if version & DETACHED:
            return locate_manifest(self.store, version)
        entry = self.rows.get(self.base_uri, version)
        if entry is not None:
            return self._follow(row_of(self.base_uri, entry))
        location = locate_manifest(self.store, version)
        # For those who look at the rows only. Whoever just reads may lack the right to add one.
        with contextlib.suppress(Exception):
            self.rows.put_if_absent(self.base_uri, self._entry(location))
        return location

    def list_versions(self) -> Sequence[ManifestLocation]:
        """All attached versions, oldest first; the newest is completed if it was half-finished.

        The older ones are in the folder: nobody makes a version on top of an incomplete one.
        """
        found: Sequence[ManifestLocation] = ()

        def look() -> ManifestLocation | None:
            nonlocal found
            found = list_manifests(self.store)
            return found[-1] if found else None

        newest = self._latest(look)
        if newest is not None and (not found or found[-1].version != newest.version):
            return list_manifests(self.store)
        return found

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if candidate.version & DETACHED:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        staging = staging_path(candidate)
        self._stage(candidate, staging)
        entry = entry_of(self.base_uri, candidate.version, staging, len(candidate.data))
        self.rows.put_if_absent(self.base_uri, entry)
        try:
            self._copy(staging, candidate.path)
        except LanceError as error:
            raise OutcomeUnknownError(f"the commit is half-finished: {error}") from error
        self._settle(row_of(self.base_uri, entry), candidate.location)
        return candidate.location

    def discard(self, candidate: Candidate) -> None:
        self.store.delete(staging_path(candidate))

    def forget(self, folder: str = "") -> None:
        """Remove the rows; to be called once the files are removed."""
        self.rows.delete("/".join(filter(None, (self.base_uri, folder))))

    def _stage(self, candidate: Candidate, staging: str) -> None:
        try:
            taken = exists(self.store, candidate.path)
            if not taken:
                self.store.put(staging, candidate.data)
        except (StoreError, ExistsError) as error:
            # Whatever became of the staged file: no row names it.
            raise StoreError(f"the manifest could not be staged: {error}") from error
        if taken:  # also by a writer who knows nothing of the rows
            raise ObjectExistsError(candidate.path)

    def _follow(self, row: Row, listed: ManifestLocation | None = None) -> ManifestLocation:
        """Where the version of ``row`` is; `DatasetNotFoundError` if it is not there any more.

        ``listed`` is a version that is in the folder.
        """
        if not row.is_staged:
            with contextlib.suppress(ObjectNotFoundError):
                meta = self.store.head(row.final)
                check_same(row, row.final, meta.size)
                return ManifestLocation(row.version, row.final, row.naming, meta.size, meta.etag)
            # Since the row was written, manifests may have been renamed to the other scheme.
            return locate_manifest(self.store, row.version)
        if listed is not None and listed.naming is not row.naming:
            raise CorruptFileError(
                f"manifests are named by two schemes ({listed.path}, {row.path})", path=VERSIONS
            )
        location = self._in_place(row)
        self._settle(row, location)
        return location

    def _in_place(self, row: Row) -> ManifestLocation:
        """Where the manifest of a staged row belongs and is, copied if it was not yet."""
        with contextlib.suppress(DatasetNotFoundError):
            return locate_manifest(self.store, row.version)
        failure: StoreError | None = None
        try:
            self._copy(row.path, row.final)
        except (ObjectNotFoundError, ExistsError):
            pass  # somebody else completed it meanwhile; it may even have been cleaned up since
        except StoreError as error:
            failure = error
        try:
            return locate_manifest(self.store, row.version)
        except DatasetNotFoundError:
            if failure is None:
                raise
        raise StoreError(
            f"version {row.version} is committed but half-finished, and it cannot be completed: "
            f"{failure}"
        ) from failure

    def _copy(self, staging: str, final: str) -> None:
        # Where the store can do so, not even a writer who knows nothing of the rows is overwritten.
        careful = self.store.capabilities.copy_if_absent is Guarantee.YES
        self.store.copy(staging, final, PutMode.create if careful else PutMode.overwrite)

    def _settle(self, row: Row, location: ManifestLocation) -> None:
        """Say in the row that its manifest is in place, and remove the staged file.

        The version is complete without it: what fails is left to whoever comes next. The file goes
        last, so that a row that names a file which is gone means that the manifest is in place.
        """
        with contextlib.suppress(Exception):
            self.rows.put_if_present(self.base_uri, self._entry(location))
            self.store.delete(row.path)

    def _entry(self, location: ManifestLocation) -> ManifestEntry:
        return entry_of(self.base_uri, location.version, location.path, location.size)
