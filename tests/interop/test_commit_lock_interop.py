"""Locks of the caller are used as pylance uses them."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import lance.commit as pylance_commit
import pyarrow as pa
import pytest

from lance_core.commits.handlers.lock import LockCommitHandler
from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.store.memory import MemoryStore
from lance_core_testing.sample_transactions import first_candidate
from tests.unit.commits.handlers.test_lock import Lock


def test_the_calls_are_those_of_pylance(tmp_path: Path) -> None:
    ours, theirs = Lock(), Lock()
    pylance.write_dataset(pa.table({"x": [1]}), str(tmp_path / "t.lance"), commit_lock=theirs)
    LockCommitHandler(MemoryStore(), ours).commit(first_candidate())
    assert ours.calls == theirs.calls


@pytest.mark.parametrize("is_retryable", [True, False])
def test_the_conflict_error_of_pylance_counts_as_ours(is_retryable: bool) -> None:
    def lock(version: int) -> Lock:
        raise pylance_commit.CommitConflictError("busy", retryable=is_retryable)

    with pytest.raises(CommitConflictError, match="busy") as conflict:
        LockCommitHandler(MemoryStore(), lock).commit(first_candidate())
    assert conflict.value.retryable is is_retryable
    assert isinstance(conflict.value, RetryableCommitConflictError) is is_retryable
