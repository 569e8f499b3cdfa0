"""Commit without any guarantee, for callers who ensure that there is one writer at a time."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.errors import ObjectExistsError, ObjectNotFoundError, warn_caller


class UnsafeCommitHandler(DirectoryCommitHandler):
    """Checks that the version does not exist, then writes it.

    If two writers do so at the same time, both report success and one commit is lost. Used only if
    it is selected by name.
    """

    keeps_contract = True

    def commit(self, candidate: Candidate) -> ManifestLocation:
        warn_caller(
            "the commit handler 'unsafe' loses commits if two writers commit at the same time"
        )
        try:
            self.store.head(candidate.path)
        except ObjectNotFoundError:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        raise ObjectExistsError(candidate.path)
