"""The public names about commits."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core import commit, errors
from lance_core.errors import (
    CommitUnknownError,
    InvalidInputError,
)


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


def test_an_unknown_outcome_is_looked_for_in_its_own_table_only(tmp_path: Path) -> None:
    row = pa.table({"x": [1]})
    uri, other = str(tmp_path / "t.lance"), str(tmp_path / "other.lance")
    for place in (uri, other):
        lance.write_dataset(row, place)

    dataset = lance.dataset(uri)
    dataset.insert(row)
    transaction = dataset.read_transaction(2)
    assert transaction is not None
    unknown = CommitUnknownError("no answer", transaction.uuid, 2)
    unknown.table = dataset.uri
    error = pickle.loads(pickle.dumps(unknown))
    with pytest.raises(InvalidInputError, match=r"not to .*other"):
        commit.resolve(other, error)
    for target in (uri, f"file+lease://{uri}", dataset):
        found = commit.resolve(target, error)
        assert found is not None
        assert found.version == 2


def test_what_may_still_land_stays_unknown(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"x": [1]}), tmp_path / "t.lance")
    with pytest.raises(CommitUnknownError):
        commit.resolve(dataset, CommitUnknownError("?", "anything", 2))


def test_a_lock_goes_with_whatever_a_table_is_written_by(tmp_path: Path) -> None:
    uri, versions = str(tmp_path / "t.lance"), []

    @contextlib.contextmanager
    def lock(version: int) -> Iterator[None]:
        versions.append(version)
        yield

    row = pa.table({"x": [1]})
    lance.write_dataset(row, uri, commit_lock=lock)
    lance.write_dataset(row, uri, mode="append", commit_lock=lock)
    lance.dataset(uri, commit_lock=lock).delete("x = 1")
    append = lance.LanceOperation.Append([])
    lance.LanceDataset.commit(uri, append, read_version=3, commit_lock=lock)
    lance.write_dataset(row, uri, mode="append")
    assert versions == [1, 2, 3, 4]
    assert lance.dataset(uri).version == 5


def test_a_lock_that_refuses_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    uri, row = str(tmp_path / "t.lance"), pa.table({"x": [1]})
    lance.write_dataset(row, uri)
    before = sorted(tmp_path.rglob("*.*"))

    def lock(version: int) -> contextlib.AbstractContextManager[None]:
        raise commit.CommitConflictError(f"version {version} is taken")

    with pytest.raises(commit.CommitConflictError, match="version 2 is taken"):
        lance.write_dataset(row, uri, mode="append", commit_lock=lock)
    assert sorted(tmp_path.rglob("*.*")) == before
    with pytest.raises(TypeError, match="commit_lock must be a function"):
        lance.write_dataset(row, uri, mode="append", commit_lock=5)


def test_only_an_unknown_outcome_can_be_resolved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="CommitUnknownError, got ValueError"):
        commit.resolve(str(tmp_path), ValueError("?"))  # type: ignore[arg-type]


def test_the_module_is_there_without_an_import_of_its_own() -> None:
    assert lance.commit is commit
