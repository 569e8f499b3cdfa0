"""New files are removed if their change certainly fails, and stay if it may have been committed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.options import CommitOptions
from lance_core.datafile.file_output import FileOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write import deletions, fragment_writer
from lance_core.dataset.write import discard_on_failure as discarding
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.errors import (
    CommitConflictError,
    CommitError,
    CommitUnknownError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.schema import Schema
from lance_core.store.functions import list_paths
from lance_core.table.transactions.operations import Append, Delete
from lance_core.table.transactions.transaction import Transaction

ROWS = pa.table({"i": range(10)})


@pytest.fixture
def snapshot(uri: str) -> Snapshot:
    return lance.write_dataset(ROWS, uri).snapshot


def write_data(snapshot: Snapshot, files: NewFiles) -> None:
    files.data += fragment_writer.write_fragments(
        snapshot.root,
        ROWS.to_reader(),
        Schema.from_arrow(ROWS.schema),
        fragment_writer.WriteOptions(FileOptions()),
    )


def write_both(snapshot: Snapshot, files: NewFiles) -> None:
    """A new fragment, and a deletion file of the old one, as an update writes them."""
    write_data(snapshot, files)
    found = deletions.find(snapshot, deletions.plan_of(snapshot, "i < 3"))
    files.deletions += deletions.write_deletions(snapshot, found).updated


def write_and_commit(snapshot: Snapshot) -> None:
    with discard_on_failure(snapshot.root) as files:
        write_both(snapshot, files)
        files.commit(snapshot, append(files), CommitOptions())


def new_files(uri: str) -> int:
    data = len(list(Path(uri, "data").glob("*"))) - 1
    return data + len(list(Path(uri, "_deletions").glob("*")))


def failing(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


def test_whatever_fails_before_the_commit_removes_the_files(snapshot: Snapshot, uri: str) -> None:
    def change(error: BaseException) -> NoReturn:
        with discard_on_failure(snapshot.root) as files:
            write_both(snapshot, files)
            assert new_files(uri) == 2
            raise error

    for error in (ValueError("x"), KeyboardInterrupt(), CommitError("x"), MemoryError()):
        with pytest.raises(type(error)):
            change(error)
        assert new_files(uri) == 0


@pytest.mark.parametrize(
    "error", [CommitConflictError("x"), RetryableCommitConflictError("x"), LanceError("x")]
)
def test_a_definite_failure_of_the_commit_removes_the_files(
    snapshot: Snapshot, uri: str, monkeypatch: pytest.MonkeyPatch, error: LanceError
) -> None:
    monkeypatch.setattr(discarding, "commit", failing(error))
    with pytest.raises(type(error)):
        write_and_commit(snapshot)
    assert new_files(uri) == 0


@pytest.mark.parametrize(
    "error", [CommitUnknownError("lost", "uuid", 2), KeyboardInterrupt(), RuntimeError("defect")]
)
def test_files_that_may_be_part_of_a_version_stay(
    snapshot: Snapshot, uri: str, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(discarding, "commit", failing(error))
    with pytest.raises(type(error)):
        write_and_commit(snapshot)
    assert new_files(uri) == 2


def test_committed_files_stay(snapshot: Snapshot, uri: str) -> None:
    with discard_on_failure(snapshot.root) as files:
        write_data(snapshot, files)
        made = files.commit(snapshot, append(files), CommitOptions())
    assert made.version == 2
    assert lance.dataset(uri).count_rows() == 20


def test_an_error_after_the_commit_removes_nothing(snapshot: Snapshot, uri: str) -> None:
    def change() -> NoReturn:
        with discard_on_failure(snapshot.root) as files:
            write_data(snapshot, files)
            files.commit(snapshot, append(files), CommitOptions())
            raise LanceError("later")

    with pytest.raises(LanceError, match="later"):
        change()
    assert lance.dataset(uri).to_table().num_rows == 20


def commit_deletion(snapshot: Snapshot) -> Snapshot:
    found = deletions.find(snapshot, deletions.plan_of(snapshot, "i < 3"))
    with discard_on_failure(snapshot.root) as files:
        files.deletions += deletions.write_deletions(snapshot, found).updated
        operation = Delete(tuple(files.deletions), (), "i < 3", affected_rows=found)
        transaction = Transaction(1, "4c2b6e4e-0000-4000-8000-000000000001", operation)
        return files.commit(snapshot, transaction, CommitOptions())


def test_other_files_are_removed_unless_the_version_names_them(snapshot: Snapshot) -> None:
    store = snapshot.root.store

    def write(files: NewFiles) -> None:
        files.others += ["_indices/a/page", "_indices/b/page"]
        for path in files.others:
            store.put(path, b"page")

    def change() -> NoReturn:
        with discard_on_failure(snapshot.root) as files:
            write(files)
            raise LanceError("full")

    with pytest.raises(LanceError, match="full"):
        change()
    assert list_paths(store, "_indices") == []
    files = NewFiles(snapshot.root)
    write(files)
    files.discard_others(lambda path: "/a/" in path)
    assert list_paths(store, "_indices") == ["_indices/b/page"]


def test_a_deletion_file_that_the_version_names_stays(snapshot: Snapshot, uri: str) -> None:
    commit_deletion(snapshot)
    assert new_files(uri) == 1
    assert lance.dataset(uri).count_rows() == 7


def test_a_deletion_file_that_was_merged_with_that_of_another_writer_is_removed(
    snapshot: Snapshot, uri: str
) -> None:
    lance.dataset(uri).delete("i >= 8")
    commit_deletion(snapshot)
    assert new_files(uri) == 2  # that of the other writer, and the merged one
    assert lance.dataset(uri).count_rows() == 5


def test_a_deletion_file_of_a_fragment_that_is_gone_is_removed(
    snapshot: Snapshot, uri: str
) -> None:
    lance.dataset(uri).delete("i >= 3")
    assert len(commit_deletion(snapshot).manifest.fragments) == 0
    assert new_files(uri) == 1  # that of the other writer


def append(files: NewFiles) -> Transaction:
    return Transaction(1, "4c2b6e4e-0000-4000-8000-000000000000", Append(tuple(files.data)))
