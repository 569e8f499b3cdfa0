"""Committing by one conditional write, on stores that guarantee it."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.store.base import PutMode


class PutIfAbsentCommitHandler(DirectoryCommitHandler):
    """The manifest is written under its final name, where nothing may be.

    Requires ``put_if_absent``.
    """

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put(candidate.path, candidate.data, PutMode.create)
        return candidate.location
