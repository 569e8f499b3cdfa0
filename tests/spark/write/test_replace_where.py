"""Rows that satisfy a condition are replaced by the rows of a job, in one version."""

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
    LanceError,
)
from lance_core_spark.write.writer import LanceWriter
from tests.spark.write.jobs import copied, data_files, planned, rows, run, written

MONDAY = "day = 'mon'"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    uri = tmp_path / "t.lance"
    run(planned(uri), rows("mon", 1, 2), rows("tue", 3, 4))
    return uri


def ids(table: Path) -> list[int]:
    return sorted(pylance.dataset(table).to_table()["id"].to_pylist())


def test_it_is_one_version(table: Path) -> None:
    job = planned(table, True, replace_where=MONDAY, commit_message="monday again")
    run(job, rows("mon", 10), rows("mon", 11, 12), rows("mon"))
    assert (lance_core.dataset(table).version, ids(table)) == (2, [3, 4, 10, 11, 12])
    made_by = lance_core.dataset(table).read_transaction(2)
    assert made_by is not None
    assert "monday again" in made_by.transaction_properties.values()
    run(planned(table, True, replace_where="id > 3"), rows("mon"))
    assert ids(table) == [3]


def test_a_table_that_does_not_exist_is_made(tmp_path: Path) -> None:
    run(planned(tmp_path / "new", True, replace_where=MONDAY), rows("mon", 1))
    assert ids(tmp_path / "new") == [1]
    job = planned(tmp_path / "other", True, replace_where=MONDAY)
    with pytest.raises(InvalidInputError, match="do not satisfy"):
        written(job, rows("tue", 1))


@pytest.mark.parametrize("day", ["tue", None])
def test_rows_that_do_not_satisfy_it_fail_the_task(table: Path, day: str | None) -> None:
    before = data_files(table)
    job = planned(table, True, replace_where=MONDAY)
    reason = rf"1 of 1 new rows do not satisfy .*{MONDAY}.*'day': {day!r}.*replace_where_check"
    with pytest.raises(InvalidInputError, match=reason):
        written(job, rows("mon", 9), rows(day, 10))
    assert data_files(table) == before
    run(planned(table, True, replace_where=MONDAY, replace_where_check="false"), rows(day, 10))
    assert ids(table) == [3, 4, 10]


def test_columns_that_are_left_out_are_null_in_the_condition(table: Path) -> None:
    job = planned(table, True, st.StructType().add("id", "long"), replace_where="day is null")
    run(job, rows("x", 9).select(["id"]))
    assert ids(table) == [1, 2, 3, 4, 9]


@pytest.mark.parametrize(
    ("overwrite", "options", "error", "reason"),
    [
        (False, {"replace_where": MONDAY}, InvalidInputError, "needs the mode 'overwrite'"),
        (True, {"replace_where": "dya = 'mon'"}, InvalidInputError, "'replace_where'.*dya"),
        (True, {"replace_where": "id"}, InvalidInputError, "'replace_where'"),
        (True, {"replace_where": "id = ("}, InvalidInputError, "'replace_where'"),
        (True, {"replace_were": MONDAY}, InvalidInputError, "did you mean 'replace_where'"),
        (True, {"replace_wher": MONDAY}, InvalidInputError, "did you mean 'replace_where'"),
    ],
    ids=str,
)
def test_bad_conditions_are_errors_before_any_task(
    table: Path, overwrite: bool, options: dict[str, str], error: type[LanceError], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        planned(table, overwrite, **options)


def test_two_jobs_for_the_same_rows_conflict(table: Path) -> None:
    """Also if there was no such row before: otherwise the rows of both would be there."""
    for where, day in ((MONDAY, "mon"), ("day = 'sun'", "sun")):
        jobs = [planned(table, True, replace_where=where) for _ in range(2)]
        messages = [written(job, rows(day, 20 + number)) for number, job in enumerate(jobs)]
        copied(jobs[0]).commit([messages[0]])
        before = data_files(table)
        with pytest.raises(CommitConflictError):
            copied(jobs[1]).commit([messages[1]])
        copied(jobs[1]).abort([messages[1]])
        assert len(data_files(table)) == len(before) - 1
    assert ids(table) == [3, 4, 20, 20]


def test_jobs_for_other_rows_do_not(table: Path) -> None:
    job = planned(table, True, replace_where="id = 1")
    message = written(job, rows("mon", 1))
    lance_core.dataset(table).delete("id = 2")
    run(planned(table), rows("wed", 5))
    copied(job).commit([message])
    assert ids(table) == [1, 3, 4, 5]


def test_committing_twice_makes_one_version(table: Path) -> None:
    job = planned(table, True, replace_where="id = 1", replace_where_check="false")
    message = written(job, rows("mon", 7))
    copied(job).commit([message])
    with pytest.raises(CommitConflictError):
        copied(job).commit([message])
    copied(job).abort([message, None])
    assert (lance_core.dataset(table).version, ids(table)) == (2, [2, 3, 4, 7])


def test_columns_of_every_type_can_be_in_a_condition(tmp_path: Path) -> None:
    lance_core.write_dataset(
        pa.table({"k": pa.array([1, 2], pa.uint8()), "s": [{"x": 1}, {"x": 2}]}), tmp_path / "t"
    )
    schema = st.StructType().add("k", "byte").add("s", st.StructType().add("x", "long"))
    batch = pa.record_batch({"k": pa.array([9], pa.int8()), "s": [{"x": 1}]})
    run(planned(tmp_path / "t", True, schema, replace_where="k = 9 or s.x = 1"), batch)
    assert pylance.dataset(tmp_path / "t").to_table()["k"].to_pylist() == [2, 9]


WIDER = st.StructType().add("id", "long").add("day", "string").add("n", "long")


def wider(day: str, *ids: int) -> pa.RecordBatch:
    return rows(day, *ids).append_column("n", pa.array(ids, pa.int64()))


def wider_job(table: Path, **options: str) -> LanceWriter:
    return planned(table, True, WIDER, replace_where=MONDAY, merge_schema="true", **options)


@pytest.mark.parametrize("stable", ["true", "false"])
def test_columns_are_added_in_the_same_version(tmp_path: Path, stable: str) -> None:
    """The fragment of the first task has no row left."""
    table = tmp_path / "t.lance"
    run(planned(table, enable_stable_row_ids=stable), rows("mon", 1, 2), rows("tue", 3, 4))
    run(wider_job(table, txn_app_id="a", txn_version="1"), wider("mon", 10, 11))
    run(wider_job(table, txn_app_id="a", txn_version="1"), wider("mon", 12))
    dataset = lance_core.dataset(table)
    assert dataset.version == 2
    dataset.validate()
    expected = [(3, None), (4, None), (10, 10), (11, 11)]
    for found in (dataset, pylance.dataset(table)):
        read = found.to_table(columns=["id", "n"])
        assert list(zip(*read.to_pydict().values(), strict=True)) == expected
    # No column is new any more.
    run(wider_job(table), wider("mon", 5))
    assert ids(table) == [3, 4, 5]
    assert lance_core.dataset(table).version == 3
    dataset = lance_core.dataset(table)
    dataset.optimize.compact_files()
    assert (ids(table), len(dataset.get_fragments())) == ([3, 4, 5], 1)


def test_other_rows_may_change_while_columns_are_added(table: Path) -> None:
    for change, conflict in (
        (lambda: lance_core.dataset(table).delete("id = 3"), False),
        (lambda: run(planned(table), rows("wed", 8)), False),
        (lambda: run(planned(table), rows("mon", 9)), True),
        (lambda: lance_core.dataset(table).delete("id = 1"), True),
        (lambda: lance_core.dataset(table).update({"id": "7"}, "id = 2"), True),
    ):
        lance_core.dataset(table).checkout_version(1).restore()
        job = wider_job(table)
        message = written(job, wider("mon", 10))
        change()
        if not conflict:
            copied(job).commit([message])
            assert 10 in ids(table)
            continue
        before = data_files(table)
        with pytest.raises(CommitConflictError, match="'replace_where'"):
            copied(job).commit([message])
        assert len(data_files(table)) == len(before) - 1
