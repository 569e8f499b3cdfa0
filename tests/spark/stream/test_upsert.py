"""Upserts of micro-batches, without Spark: each one is merged exactly once."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import lance_core
from lance_core.dataset.merge_insert import MergeInsertBuilder
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    MergeError,
    RetryableCommitConflictError,
    SchemaMismatchError,
)
from lance_core_spark import upsert_batches
from tests.each_case import each_case


@dataclass
class Batch:
    """The part of a data frame that an upsert uses."""

    rows: dict[int | None, int]
    extra: tuple[tuple[int | None, int], ...] = ()

    @property
    def schema(self) -> StructType:
        return StructType([StructField("id", LongType()), StructField("value", LongType())])

    def toArrow(self) -> pa.Table:  # noqa: N802  # the name is Spark's
        pairs = [*self.rows.items(), *self.extra]
        ids, values = zip(*pairs, strict=True) if pairs else ((), ())
        return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array(values, pa.int64())})


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    uri = tmp_path / "t.lance"
    lance_core.write_dataset(pa.table({"id": [1, 2], "value": pa.array([0, 0], pa.int32())}), uri)
    return uri


def content(uri: Path) -> list[tuple[int, int]]:
    rows = lance_core.dataset(uri).to_table().to_pylist()
    return sorted((row["id"] or 0, row["value"]) for row in rows)


def upsert(uri: Path, number: int, batch: Any, query_id: str = "q", **options: Any) -> None:
    write = pickle.loads(pickle.dumps(upsert_batches(uri, "id", query_id=query_id, **options)))
    write(batch, number)


@pytest.fixture
def ints(uri: Path) -> Path:
    """A table whose values have the type of the batches."""
    lance_core.write_dataset(pa.table({"id": [1, 2], "value": [0, 0]}), uri, mode="overwrite")
    return uri


def test_rows_with_known_keys_are_replaced_and_others_inserted(ints: Path) -> None:
    upsert(ints, 0, Batch({2: 7, 3: 8}))
    assert content(ints) == [(1, 0), (2, 7), (3, 8)]
    upsert(ints, 1, Batch({}))
    upsert(ints, 2, Batch({3: 9, None: 1}))
    assert content(ints) == [(0, 1), (1, 0), (2, 7), (3, 9)]


def test_a_repeated_batch_changes_nothing(ints: Path) -> None:
    for number in (0, 1):
        upsert(ints, number, Batch({None: number}))
    upsert(ints, 1, Batch({None: 5}))
    upsert(ints, 0, Batch({None: 5}))
    assert content(ints) == [(0, 0), (0, 1), (1, 0), (2, 0)]
    upsert(ints, 0, Batch({None: 6}), query_id="another")
    assert len(content(ints)) == 5


def test_two_drivers_of_one_query_merge_a_batch_once(
    ints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = MergeInsertBuilder.execute

    def late(self: Any, *args: Any) -> Any:
        monkeypatch.setattr(MergeInsertBuilder, "execute", execute)
        upsert(ints, 0, Batch({None: 5, 1: 5}))
        return execute(self, *args)

    monkeypatch.setattr(MergeInsertBuilder, "execute", late)
    upsert(ints, 0, Batch({None: 5, 1: 5}))
    assert content(ints) == [(0, 5), (1, 5), (2, 0)]


def test_a_conflict_with_another_writer_is_resolved(
    ints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = MergeInsertBuilder.execute
    attempts = []

    def beaten(self: Any, *args: Any) -> Any:
        attempts.append(1)
        if len(attempts) > 9 or patience == 1:
            monkeypatch.setattr(MergeInsertBuilder, "execute", execute)
        lance_core.dataset(ints).update({"value": "value + 1"}, "id = 1")
        return execute(self, *args)

    patience = 1
    monkeypatch.setattr(MergeInsertBuilder, "execute", beaten)
    upsert(ints, 0, Batch({1: 5, 3: 3}))
    assert content(ints) == [(1, 5), (2, 0), (3, 3)]
    patience = 99
    attempts.clear()
    monkeypatch.setattr(MergeInsertBuilder, "execute", beaten)
    with pytest.raises(RetryableCommitConflictError):
        upsert(ints, 1, Batch({1: 6}))
    assert len(attempts) == 10


def test_a_batch_with_several_rows_of_a_key_is_an_error(ints: Path) -> None:
    with pytest.raises(MergeError, match=r"several rows with the key \{'id': 9\}, and 1 such"):
        upsert(ints, 0, Batch({9: 1, 8: 1, None: 1}, extra=((9, 2), (None, 2))))
    key = pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"})
    schema = pa.schema([key, pa.field("value", pa.int64())])
    rows = pa.table({"id": [1, 2], "value": [0, 0]}, schema)
    lance_core.write_dataset(rows, ints, mode="overwrite")
    for on in (None, "ID"):  # the primary key, and a name in another case
        with pytest.raises(MergeError, match="several rows with the key"):
            upsert_batches(ints, on, query_id="q")(Batch({9: 1}, extra=((9, 2),)), 0)  # type: ignore[arg-type]
    assert len(content(ints)) == 2


@each_case(
    ("on", "options", "error", "message"),
    [
        ("idd", {"query_id": "q"}, InvalidInputError, "idd"),
        ((), {"query_id": "q"}, InvalidInputError, "requires join keys"),
        ("id", {"query_id": " "}, InvalidInputError, "query_id must be a text"),
        ("id", {"query_id": "q", "look_back": 0}, InvalidInputError, "look_back must be"),
    ],
)
def test_arguments_are_checked_before_the_query_starts(
    uri: Path, on: Any, options: dict[str, Any], error: type[LanceError], message: str
) -> None:
    with pytest.raises(error) as refused:
        upsert_batches(uri, on, **options)
    assert message in str(refused.value)


def test_a_table_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError):
        upsert_batches(tmp_path / "none.lance", "id", query_id="q")


def test_columns_of_other_types_are_an_error(uri: Path) -> None:
    with pytest.raises(SchemaMismatchError, match="column 'value' is bigint"):
        upsert(uri, 0, Batch({1: 1}))
