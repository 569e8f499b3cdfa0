"""Commit by one conditional write, on stores that guarantee put-if-absent."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.store.base import PutMode


class PutIfAbsentCommitHandler(DirectoryCommitHandler):
    """Writes the manifest to its final path, only if no object exists there.

    Requires ``put_if_absent``.
    """

    keeps_contract = True

    def commit(self, candidate: Candidate) -> ManifestLocation:
        self.store.put(candidate.path, candidate.data, PutMode.create)
        return candidate.location
