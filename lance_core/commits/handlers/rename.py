"""Committing by an atomic rename, on stores that never replace what is at its target."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.errors import ObjectNotFoundError, OutcomeUnknownError, StoreError
from lance_core.table.paths import VERSIONS


class RenameCommitHandler(DirectoryCommitHandler):
    """The manifest is written under a name that readers pass over and moved into place.

    Requires ``rename_if_absent``.
    """

    def commit(self, candidate: Candidate) -> ManifestLocation:
        staging = staging_path(candidate)
        try:
            self.store.put(staging, candidate.data)
        except StoreError as error:
            # Whatever became of the staging file: nothing was published.
            raise StoreError(f"the manifest could not be staged: {error}") from error
        try:
            self.store.rename_if_absent(staging, candidate.path)
        except ObjectNotFoundError as error:
            # An earlier sending of the same rename may have moved the staging file away.
            raise OutcomeUnknownError(f"{staging!r} vanished before its rename") from error
        return candidate.location

    def discard(self, candidate: Candidate) -> None:
        self.store.delete(staging_path(candidate))


def staging_path(candidate: Candidate) -> str:
    """Where a candidate waits: a name that no listing of versions shows."""
    return f"{VERSIONS}/.tmp_{candidate.version}_{candidate.transaction_uuid}"
