"""Moving rows: what is written, which ids and versions the rows get, and what a failure leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.environment import SYSTEM
from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import discard_on_failure
from lance_core.dataset.write.row_rewrite import move_rows, write_rows
from lance_core.errors import InvalidInputError, SchemaMismatchError
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.transactions.operations import Update
from lance_core.table.transactions.transaction import Transaction

VERSIONS = ["0.1", "2.0", "2.1", "2.2"]


def table_of(uri: str, version: str = "2.2", *, stable: bool = False) -> lance.LanceDataset:
    """The numbers 0 to 29 in fragments of 10."""
    rows = pa.table({"i": np.arange(30), "s": [f"text {n}" for n in range(30)]})
    return lance.write_dataset(
        rows,
        uri,
        max_rows_per_file=10,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )


def rewritten(
    snapshot: Snapshot,
    rows: Mapping[int, Sequence[int]],
    new: pa.Table,
    row_ids: Sequence[int] | None = None,
) -> Snapshot:
    """The version in which ``new`` stands in place of ``rows``."""
    with discard_on_failure(snapshot.root) as files:
        operation = operation_of(snapshot, rows, new, row_ids, files)
        transaction = Transaction(snapshot.version, str(SYSTEM.new_uuid()), operation)
        return files.commit(snapshot, transaction, CommitOptions())


def operation_of(snapshot, rows, new, row_ids, files) -> Update:  # type: ignore[no-untyped-def]
    fragments = write_rows(snapshot, files, new.to_batches())
    offsets = {id_: np.array(each, np.uint32) for id_, each in rows.items()}
    ids = None if row_ids is None else np.array(row_ids, np.uint64)
    return move_rows(snapshot, files, offsets, fragments, row_ids=ids)


def new_rows(*numbers: int) -> pa.Table:
    return pa.table({"s": ["new"] * len(numbers), "i": numbers})


@pytest.mark.parametrize("version", VERSIONS)
def test_new_rows_are_at_the_end_and_the_old_ones_are_gone(uri: str, version: str) -> None:
    dataset = table_of(uri, version)
    rewritten(dataset.snapshot, {0: [3, 5], 2: list(range(10))}, new_rows(103, 105, *range(20, 30)))
    dataset.checkout_latest()
    numbers = [n for n in range(20) if n not in (3, 5)]
    assert dataset.to_table()["i"].to_pylist() == [*numbers, 103, 105, *range(20, 30)]
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [0, 1, 3]
    dataset.validate()


def test_moved_rows_keep_their_ids_and_inserted_rows_get_new_ones(uri: str) -> None:
    dataset = table_of(uri, stable=True)
    made = rewritten(
        dataset.snapshot, {0: [3], 1: [5, 7]}, new_rows(117, 103, 115, 200, 201), [17, 3, 15]
    )
    last = made.manifest.fragments[-1]
    assert isinstance(last.row_ids, bytes)
    assert RowIdSequence.from_bytes(last.row_ids).slice(0, 5).tolist() == [17, 3, 15, 30, 31]
    assert made.manifest.next_row_id == 32
    assert isinstance(last.created_at_versions, bytes)
    assert isinstance(last.last_updated_at_versions, bytes)
    every = np.arange(5)
    created = RowVersions.from_bytes(last.created_at_versions, 5)
    updated = RowVersions.from_bytes(last.last_updated_at_versions, 5)
    assert created.take(every).tolist() == [1, 1, 1, 2, 2]
    assert updated.take(every).tolist() == [2] * 5


def test_without_given_ids_rows_are_moved_in_their_order(uri: str) -> None:
    dataset = table_of(uri, stable=True)
    made = rewritten(dataset.snapshot, {0: [3], 2: [5, 7]}, new_rows(103, 125, 127))
    row_ids = made.manifest.fragments[-1].row_ids
    assert isinstance(row_ids, bytes)
    assert RowIdSequence.from_bytes(row_ids).slice(0, 3).tolist() == [3, 25, 27]


def test_rows_may_only_be_deleted_or_only_be_inserted(uri: str) -> None:
    dataset = table_of(uri, stable=True)
    made = rewritten(dataset.snapshot, {1: [0]}, new_rows(), [])
    made = rewritten(made, {}, new_rows(100))
    assert (made.num_rows, made.manifest.next_row_id) == (30, 31)


@pytest.mark.parametrize("stable", [False, True])
def test_a_failure_removes_the_new_files(uri: str, stable: bool) -> None:
    dataset = table_of(uri, stable=stable)
    before = sorted(Path(uri).rglob("*"))
    with pytest.raises(SchemaMismatchError, match="field i"):
        rewritten(dataset.snapshot, {0: [3]}, pa.table({"i": ["a"], "s": ["b"]}))
    with pytest.raises(KeyboardInterrupt):
        interrupted(dataset.snapshot)
    if stable:
        with pytest.raises(InvalidInputError, match="2 rows are moved, but only 1 are written"):
            rewritten(dataset.snapshot, {0: [3, 4]}, new_rows(1))
    assert [path for path in sorted(Path(uri).rglob("*")) if path.name != "_deletions"] == before


def interrupted(snapshot: Snapshot) -> None:
    with discard_on_failure(snapshot.root) as files:
        operation_of(snapshot, {0: [3]}, new_rows(1), None, files)
        assert len(files.data) == len(files.deletions) == 1
        raise KeyboardInterrupt
