"""Appends that add columns, and those that cast values to the types of the table."""

from __future__ import annotations

from pathlib import Path

import lance as pylance
import pyarrow as pa
import pytest
from pyspark.sql import types as st

import lance_core
from lance_core.errors import (
    CommitConflictError,
    InvalidInputError,
    SchemaMismatchError,
)
from lance_core_spark.source import LanceSource
from tests.spark.write.jobs import copied, data_files, planned, run, written

MEMBERS = st.StructType().add("y", "string").add("x", "integer")
WIDER = st.StructType().add("n", "long", False).add("id", "long").add("s", MEMBERS)
NEW = pa.record_batch(
    {
        "n": [5],
        "id": [9],
        "s": pa.array([{"y": "q", "x": 1}], pa.struct({"y": pa.string(), "x": pa.int32()})),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lance_core.write_dataset(pa.table({"id": [1, 2], "s": [{"x": 1}, None]}), tmp_path / "t.lance")
    return tmp_path / "t.lance"


def test_columns_and_members_are_added_in_the_same_version(table: Path) -> None:
    options = {"merge_schema": "true", "n.arrow.type": "uint32"}
    run(planned(table, schema=WIDER, **options), NEW, NEW)
    dataset = lance_core.dataset(table)
    assert dataset.version == 2
    assert dataset.schema.field("n") == pa.field("n", pa.uint32())
    assert pylance.dataset(table).to_table().to_pylist() == [
        {"id": 1, "s": {"x": 1, "y": None}, "n": None},
        {"id": 2, "s": None, "n": None},
        *(2 * [{"id": 9, "s": {"x": 1, "y": "q"}, "n": 5}]),
    ]
    run(planned(table, schema=WIDER, merge_schema="true", casts="checked"), NEW)
    assert lance_core.dataset(table).count_rows() == 5


def test_rows_that_others_append_or_delete_in_between_are_kept(table: Path) -> None:
    job = planned(table, schema=WIDER, merge_schema="true")
    messages = [written(job, NEW)]
    lance_core.write_dataset(pa.table({"id": [3]}), table, mode="append")
    lance_core.dataset(table).delete("id = 1")
    copied(job).commit(messages)
    found = pylance.dataset(table)
    assert found.version == 4
    assert found.to_table(columns=["id", "n"]).to_pylist() == [
        {"id": 2, "n": None},
        {"id": 3, "n": None},
        {"id": 9, "n": 5},
    ]


@pytest.mark.parametrize("change", ["columns", "overwrite", "same"])
def test_other_changes_in_between_are_conflicts(table: Path, change: str) -> None:
    job = planned(table, schema=WIDER, merge_schema="true")
    messages = [written(job, NEW)]
    if change == "columns":
        lance_core.dataset(table).add_columns({"m": "id + 1"})
    elif change == "same":
        run(planned(table, schema=WIDER, merge_schema="true"), NEW)
    else:
        content = pa.table({"id": [1, 2], "s": [{"x": 1}, None]})
        lance_core.write_dataset(content, table, mode="overwrite")
    files = data_files(table)
    with pytest.raises(CommitConflictError):
        copied(job).commit(messages)
    assert len(data_files(table)) == len(files) - 1
    assert lance_core.dataset(table).version == 2


def test_another_run_of_the_same_write_is_found_at_each_attempt(table: Path) -> None:
    options = {"merge_schema": "true", "txn_app_id": "load", "txn_version": "1"}
    jobs = [planned(table, schema=WIDER, **options) for _ in range(2)]
    messages = [written(job, NEW) for job in jobs]
    for job, message in zip(jobs, messages, strict=True):
        copied(job).commit([message])
    dataset = lance_core.dataset(table)
    assert (dataset.version, dataset.count_rows()) == (2, 3)


@pytest.mark.parametrize(
    ("schema", "overwrite", "error", "reason"),
    [
        (WIDER, False, SchemaMismatchError, "no column 'n'.*'merge_schema' adds columns"),
        (st.StructType().add("ids", "long"), False, SchemaMismatchError, "did you mean 'id'"),
        (st.StructType().add("Id", "long"), False, SchemaMismatchError, "case matters"),
        (st.StructType().add("id", "string"), False, SchemaMismatchError, "'id' is string"),
        (st.StructType().add("id", "double"), False, SchemaMismatchError, "'casts' to 'checked'"),
        (
            st.StructType().add("s", st.StructType().add("z", "long")),
            False,
            SchemaMismatchError,
            "column 's' of the table has no member 'z'",
        ),
    ],
    ids=str,
)
def test_columns_that_do_not_fit_are_refused_at_once(
    table: Path, schema: st.StructType, overwrite: bool, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        planned(table, overwrite, schema)


def test_an_overwrite_has_the_schema_of_its_rows(table: Path) -> None:
    with pytest.raises(InvalidInputError, match="an overwrite replaces the schema"):
        planned(table, True, merge_schema="true")
    wrong_case = st.StructType().add("ID", "long")
    with pytest.raises(SchemaMismatchError, match="case matters"):
        planned(table, False, wrong_case, merge_schema="true")


def test_an_overwrite_may_be_told_to_keep_the_schema(table: Path) -> None:
    stored = LanceSource({"path": str(table)}).schema()
    planned(table, True, stored, overwriteSchema="false")
    narrower = st.StructType(stored.fields[:1])
    with pytest.raises(SchemaMismatchError, match=f"'{stored.names[1]}' must be"):
        planned(table, True, narrower, overwriteSchema="false")
    with pytest.raises(SchemaMismatchError, match="no column 'more'"):
        planned(table, True, stored.add("more", "long"), overwriteSchema="false")


def test_values_are_cast_to_the_types_of_the_table(table: Path) -> None:
    narrow = st.StructType().add("id", "byte")
    run(planned(table, schema=narrow), pa.record_batch({"id": pa.array([7], pa.int8())}))
    doubles = st.StructType().add("id", "double")
    job = planned(table, schema=doubles, casts="checked")
    run(job, pa.record_batch({"id": [8.0]}))
    with pytest.raises(InvalidInputError, match=r"column id: Float value 1\.5"):
        written(job, pa.record_batch({"id": [1.5]}))
    assert pylance.dataset(table).to_table()["id"].to_pylist() == [1, 2, 7, 8]
