"""Commit through an external manifest store, for object stores without conditional writes.

A commit takes these steps; the second one decides:

1. Write the manifest to a staging path that no other writer uses.
2. Add a row that names the staged file to the external store, if the version has no row.
3. Copy the staged file to the final path of the version's manifest.
4. Replace the row by one that names the final path.
5. Remove the staged file.

A reader or writer that finds a row with a staged file first performs steps 3 to 5. Every process
copies the same bytes, so their number and the point where one stops do not matter. If the copy
fails, the version is not loaded. So every version that was ever read is in the table's folder, and
a copy of this folder is a complete table that needs no external store.

The newest version is the newest one that the rows or the folder contain. So a table may be older
than the external store, and rows may get lost. If the rows name a newer version than the folder can
provide, this is an error; readers do not fall back to an older version.

Cleanup keeps rows: the row of a removed version prevents slow writers from publishing it again.
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
"""Capabilities that the object store must guarantee; the external store guarantees the rest."""

LOOKS = 5
"""Attempts to find the newest version if a cleanup removes it between lookup and read."""


class ExternalManifestCommitHandler(CommitHandler):
    """Serves the table at the root of ``store``, whose rows have the key ``base_uri``.

    Has no state except its arguments. Detached versions have no row: their numbers are random, so
    no two writers compete for one.
    """

    keeps_contract = True

    def __init__(self, store: ObjectStore, rows: ExternalManifestStore, base_uri: str) -> None:
        self.store = store
        self.rows = rows
        self.base_uri = base_uri

    def latest(self) -> ManifestLocation | None:
        """The newest version; completes its commit if it is half-finished.

        Raises `CorruptFileError` if the rows name a newer version than can be found, and
        `StoreError` if the version cannot be completed.
        """
        return self._latest(lambda: newest_manifest(self.store))

    def _latest(self, look: Callable[[], ManifestLocation | None]) -> ManifestLocation | None:
        """The newest version; ``look`` returns the newest one in the folder."""
        for _ in range(LOOKS):
            entry = self.rows.get_latest(self.base_uri)
            listed = look()
            if entry is None:
                return listed
            row = row_of(self.base_uri, entry)
            with contextlib.suppress(DatasetNotFoundError):  # cleaned up after a newer commit
                return self._newer(row, listed)
        raise CorruptFileError(
            f"the external manifest store has a row for version {row.version}, but this manifest "
            "does not exist: the folder is incomplete, a table of the same path in another bucket "
            "has the rows, or the table was removed without its rows (LanceDataset.drop with "
            "ignore_not_found=True removes them)",
            path=row.final,
        )

    def _newer(self, row: Row, listed: ManifestLocation | None) -> ManifestLocation:
        """The newer of the newest versions in the rows and in the folder."""
        if listed is None or listed.version < row.version:
            return self._follow(row, listed)
        if listed.version > row.version:
            if not row.is_staged:  # before adding a row of this folder to another table's rows
                with contextlib.suppress(DatasetNotFoundError):
                    self._follow(row)
            return self.locate(listed.version)
        if row.is_staged:
            return self._follow(row, listed)
        check_same(row, listed.path, listed.size)
        return listed

    def locate(self, version: int) -> ManifestLocation:
        """The location of a version; completes its commit if it is half-finished.

        Adds a row for a version that has none.
        """
        if version & DETACHED:
            return locate_manifest(self.store, version)
        entry = self.rows.get(self.base_uri, version)
        if entry is not None:
            return self._follow(row_of(self.base_uri, entry))
        location = locate_manifest(self.store, version)
        # The row serves clients that read only rows. A reader may lack permission to add one.
        with contextlib.suppress(Exception):
            self.rows.put_if_absent(self.base_uri, self._entry(location))
        return location

    def list_versions(self) -> Sequence[ManifestLocation]:
        """All attached versions, oldest first; completes the newest one if it is half-finished.

        Older versions are in the folder: writers never build on an incomplete version.
        """
        locations: Sequence[ManifestLocation] = ()

        def look() -> ManifestLocation | None:
            nonlocal locations
            locations = list_manifests(self.store)
            return locations[-1] if locations else None

        newest = self._latest(look)
        if newest is not None and (not locations or locations[-1].version != newest.version):
            return list_manifests(self.store)
        return locations

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
        """Remove the rows; called after the files are removed."""
        self.rows.delete("/".join(filter(None, (self.base_uri, folder))))

    def _stage(self, candidate: Candidate, staging: str) -> None:
        try:
            taken = exists(self.store, candidate.path)
            if not taken:
                self.store.put(staging, candidate.data)
        except (StoreError, ExistsError) as error:
            # No row names the staged file, whether or not it exists.
            raise StoreError(f"the manifest could not be staged: {error}") from error
        if taken:  # perhaps by a writer that does not use the external store
            raise ObjectExistsError(candidate.path)

    def _follow(self, row: Row, listed: ManifestLocation | None = None) -> ManifestLocation:
        """The location of the version of ``row``; `DatasetNotFoundError` if it was removed.

        ``listed`` is a version that is known to be in the folder.
        """
        if not row.is_staged:
            with contextlib.suppress(ObjectNotFoundError):
                meta = self.store.head(row.final)
                check_same(row, row.final, meta.size)
                return ManifestLocation(row.version, row.final, row.naming, meta.size, meta.etag)
            # The manifests may have been renamed to the other scheme after the row was written.
            return locate_manifest(self.store, row.version)
        if listed is not None and listed.naming is not row.naming:
            raise CorruptFileError(
                f"manifests are named by two schemes ({listed.path}, {row.path})", path=VERSIONS
            )
        location = self._in_place(row)
        self._settle(row, location)
        return location

    def _in_place(self, row: Row) -> ManifestLocation:
        """The final location of a staged row's manifest; copies the manifest there if needed."""
        with contextlib.suppress(DatasetNotFoundError):
            return locate_manifest(self.store, row.version)
        failure: StoreError | None = None
        try:
            self._copy(row.path, row.final)
        except (ObjectNotFoundError, ExistsError):
            pass  # another process completed it, or even cleaned it up
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
        # If the store can, do not replace the manifest of a writer without the external store.
        careful = self.store.capabilities.copy_if_absent is Guarantee.YES
        self.store.copy(staging, final, PutMode.create if careful else PutMode.overwrite)

    def _settle(self, row: Row, location: ManifestLocation) -> None:
        """Update the row to the final location, and remove the staged file.

        The version is complete without this, so errors are ignored; the next process repeats it.
        The file is removed last, so a row that names a missing file means that the manifest is in
        place.
        """
        with contextlib.suppress(Exception):
            self.rows.put_if_present(self.base_uri, self._entry(location))
            self.store.delete(row.path)

    def _entry(self, location: ManifestLocation) -> ManifestEntry:
        return entry_of(self.base_uri, location.version, location.path, location.size)
