"""Commit by an atomic rename, on stores whose rename never replaces an existing target."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.errors import ObjectNotFoundError, OutcomeUnknownError, StoreError
from lance_core.table.paths import VERSIONS


class RenameCommitHandler(DirectoryCommitHandler):
    """Writes the manifest to a staging path that readers ignore, then renames it.

    Requires ``rename_if_absent``.
    """

    keeps_contract = True

    def commit(self, candidate: Candidate) -> ManifestLocation:
        staging = staging_path(candidate)
        try:
            self.store.put(staging, candidate.data)
        except StoreError as error:
            # Nothing was published, whether or not the staging file exists.
            raise StoreError(f"the manifest could not be staged: {error}") from error
        try:
            self.store.rename_if_absent(staging, candidate.path)
        except ObjectNotFoundError as error:
            # An earlier request for the same rename may have moved the staging file.
            raise OutcomeUnknownError(f"{staging!r} vanished before its rename") from error
        return candidate.location

    def discard(self, candidate: Candidate) -> None:
        self.store.delete(staging_path(candidate))


def staging_path(candidate: Candidate) -> str:
    """The staging path of a candidate, which listings of versions ignore."""
    return f"{VERSIONS}/.tmp_{candidate.version}_{candidate.transaction_uuid}"
