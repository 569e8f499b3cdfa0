"""Appends that add columns to the table, in the same commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core
from lance_core import LanceOperation
from lance_core.errors import (
    InvalidInputError,
    RetryableCommitConflictError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)

OLD = pa.table({"id": [1, 2], "s": [{"x": 1}, None], "l": [[{"a": 1}], []]})
NEW = pa.table({"s": [{"x": 2, "y": "q"}], "l": [[{"a": 2, "b": True}]], "v": [[1.5]], "id": [3]})


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "t.lance")


def merged(rows: pa.Table, uri: str, **options: Any) -> lance_core.LanceDataset:
    return lance_core.write_dataset(rows, uri, mode="append", merge_schema=True, **options)


@pytest.mark.parametrize("stable", [False, True])
def test_columns_and_members_are_added_in_one_commit(uri: str, stable: bool) -> None:
    table = lance_core.write_dataset(OLD, uri, enable_stable_row_ids=stable)
    table.delete("id = 2")
    table = merged(NEW, uri)
    assert (table.version, table.max_fragment_id) == (3, 1)
    expected = [
        {"id": 1, "s": {"x": 1, "y": None}, "l": [{"a": 1, "b": None}], "v": None},
        {"id": 3, "s": {"x": 2, "y": "q"}, "l": [{"a": 2, "b": True}], "v": [1.5]},
    ]
    assert table.to_table().to_pylist() == expected
    made_by = table.read_transaction(3)
    assert made_by is not None
    assert isinstance(made_by.operation, LanceOperation.Merge)
    again = merged(pa.table({"id": [4]}), uri).read_transaction(4)
    assert again is not None
    assert isinstance(again.operation, LanceOperation.Append)
    assert lance_core.dataset(uri).to_table()["id"].to_pylist() == [1, 3, 4]


def test_new_columns_are_nullable(uri: str) -> None:
    lance_core.write_dataset(OLD, uri)
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("n", pa.int64(), False)])
    table = merged(pa.table({"id": [3], "n": [1]}, schema=schema), uri)
    assert table.schema.field("n").nullable
    table = merged(pa.table({"id": pa.array([], pa.int64()), "w": pa.array([], pa.int8())}), uri)
    assert table.to_table(columns=["n", "w"])["w"].null_count == 3


def test_an_empty_table_and_a_new_one(uri: str) -> None:
    table = merged(OLD, uri)
    table.delete("true")
    table = merged(NEW, uri)
    assert table.to_table()["id"].to_pylist() == [3]
    assert lance_core.dataset(uri).to_table()["v"].to_pylist() == [[1.5]]


def test_another_change_in_between_is_a_conflict(uri: str) -> None:
    lance_core.write_dataset(OLD, uri)
    base = lance_core.dataset(uri)
    lance_core.write_dataset(OLD, uri, mode="append")
    files = set(Path(uri, "data").iterdir())
    with pytest.raises(RetryableCommitConflictError):
        base.insert(NEW, merge_schema=True)
    assert set(Path(uri, "data").iterdir()) == files


@pytest.mark.parametrize("merges", [True, False])
def test_a_table_that_another_writer_makes_in_the_meantime(uri: str, merges: bool) -> None:
    first = pa.table({"id": [1]})

    def rows() -> Iterator[pa.RecordBatch]:
        lance_core.write_dataset(first, uri)
        yield from NEW.to_batches()

    reader = pa.RecordBatchReader.from_batches(NEW.schema, rows())
    error = RetryableCommitConflictError if merges else SchemaMismatchError
    with pytest.raises(error):
        lance_core.write_dataset(reader, uri, mode="append", merge_schema=merges)
    assert lance_core.dataset(uri).to_table() == first
    assert len(list(Path(uri, "data").iterdir())) == 1


@pytest.mark.parametrize(
    ("rows", "options", "error"),
    [
        (NEW, {"mode": "overwrite"}, InvalidInputError),
        (pa.table({"id": ["x"], "more": [1]}), {}, SchemaMismatchError),
        (pa.table({"id": [1], "s": [1]}), {}, SchemaMismatchError),
        (pa.table({"id": [1], "_rowid": [1]}), {}, InvalidInputError),
    ],
)
def test_what_cannot_be_added_is_refused(
    uri: str, rows: pa.Table, options: dict[str, str], error: type[Exception]
) -> None:
    lance_core.write_dataset(OLD, uri)
    with pytest.raises(error):
        lance_core.write_dataset(rows, uri, merge_schema=True, **{"mode": "append", **options})
    assert lance_core.dataset(uri).version == 1


@pytest.mark.parametrize("version", ["0.1", "2.0"])
def test_older_files_have_limits(uri: str, version: str) -> None:
    lance_core.write_dataset(OLD.select(["id"]), uri, data_storage_version=version)
    rows = pa.table({"id": [3], "n": [1]})
    if version == "0.1":
        with pytest.raises(UnsupportedFeatureError, match=r"'n' cannot be added .* 0\.1"):
            merged(rows, uri)
    else:
        assert merged(rows, uri).to_table()["n"].to_pylist() == [None, None, 1]
