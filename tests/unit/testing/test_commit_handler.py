"""The contract of commit handlers finds what breaks it."""

from __future__ import annotations

import pytest

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.directory import DirectoryCommitHandler
from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.store.memory import MemoryStore
from lance_core.testing import CommitHandlerTests


class LooksThenWrites(DirectoryCommitHandler):
    """Right as long as nobody commits between its two calls."""

    def commit(self, candidate: Candidate) -> ManifestLocation:
        try:
            self.store.head(candidate.path)
        except ObjectNotFoundError:
            self.store.put(candidate.path, candidate.data)
            return candidate.location
        raise ObjectExistsError(candidate.path)


def test_a_handler_that_looks_before_it_writes_fails_every_time() -> None:
    contract = CommitHandlerTests()
    with pytest.raises(AssertionError):
        contract.test_of_two_writers_one_wins_whenever_one_overtakes_the_other(
            MemoryStore(), LooksThenWrites
        )
