"""The public names about commits."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core import commit, errors
from lance_core.errors import CommitUnknownError


def test_a_lock_written_for_pylance_finds_its_error() -> None:
    assert commit.CommitConflictError is errors.CommitConflictError
    assert issubclass(commit.CommitConflictError, OSError)
    assert commit.CommitConflictError().retryable is False
    assert commit.CommitConflictError("busy", retryable=True).retryable is True
    assert errors.RetryableCommitConflictError("busy").retryable is True


def unknown(dataset: lance.LanceDataset, version: int) -> CommitUnknownError:
    transaction = dataset.read_transaction(dataset.version)
    assert transaction is not None
    return CommitUnknownError("?", transaction.uuid, version)


def test_an_unknown_outcome_is_resolved_by_looking(tmp_path: Path) -> None:
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"x": [1]}), uri)
    second = lance.write_dataset(pa.table({"x": [2]}), uri, mode="append")
    lance.write_dataset(pa.table({"x": [3]}), uri, mode="append")
    committed = unknown(second, 2)
    for target in (uri, second):
        found = commit.resolve(target, committed)
        assert found is not None
        assert found.version == 2
        assert found.count_rows() == 2
    assert commit.resolve(uri, CommitUnknownError("?", "of somebody else", 2)) is None


def test_what_may_still_land_stays_unknown(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"x": [1]}), tmp_path / "t.lance")
    with pytest.raises(CommitUnknownError):
        commit.resolve(dataset, CommitUnknownError("?", "anything", 2))
