"""Streaming reads: which rows each micro-batch has, and which versions are errors."""

from __future__ import annotations

import shutil
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import lance_core
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from pyspark_lance import DefaultSource
from tests.each_case import each_case
from tests.spark.stream.micro_batches import Stream, append
from tests.spark.write.jobs import planned, run


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    return tmp_path / "t.lance"


def test_a_stream_delivers_the_table_and_then_appended_rows(uri: Path) -> None:
    append(uri, 1, 2)
    append(uri, 3).delete("id = 1")
    stream = Stream(uri)
    assert stream.ids() == [2, 3]
    assert stream.ids() == []
    append(uri, 4)
    append(uri, 5, 6)
    assert stream.ids() == [4, 5, 6]
    # A query that restarts has only the offset in its checkpoint.
    append(uri, 7)
    assert Stream(uri, {}, stream.offset).ids() == [7]


def test_changes_that_keep_all_rows_are_skipped(uri: Path) -> None:
    append(uri, 1)
    stream = Stream(uri)
    assert stream.ids() == [1]
    dataset = append(uri, 2)
    dataset.optimize.compact_files()
    dataset.update_config({"a": "b"})
    dataset.delete("id = 99")
    append(uri, 3)
    assert stream.ids() == [2, 3]
    merge = lance_core.dataset(uri).merge_insert("id").when_not_matched_insert_all()
    merge.execute(pa.table({"id": [3, 4], "value": [1, 1]}))
    assert stream.ids() == [4]


def test_limits_divide_versions_between_micro_batches(uri: Path) -> None:
    for first in range(0, 40, 10):
        append(uri, *range(first, first + 10), max_rows_per_file=7)
    everything = list(range(40))

    def batches(**options: Any) -> list[list[int]]:
        return Stream(uri, options).batches()

    by_rows = batches(max_rows_per_trigger=9, starting_version="earliest")
    assert [len(one) for one in by_rows] == [9, 9, 9, 9, 4]
    assert list(chain(*by_rows)) == everything
    assert list(chain(*batches(max_rows_per_trigger=9))) == everything
    assert [len(one) for one in batches(max_versions_per_trigger=3, starting_version=1)] == [30, 10]
    by_bytes = batches(max_bytes_per_trigger=1, starting_version="earliest")
    assert by_bytes == [[one] for one in everything]
    small_tasks = Stream(uri, {"rows_per_partition": 3, "starting_version": "earliest"})
    assert small_tasks.all() == everything
    assert Stream(uri, {"max_rows_per_trigger": 1}).all() == everything


def test_available_now_ends_at_the_version_of_its_start(uri: Path) -> None:
    append(uri, 1)
    stream = Stream(uri, {"max_versions_per_trigger": 1, "starting_version": 1})
    reader = stream.reader()
    append(uri, 2)
    reader.prepareForTriggerAvailableNow()
    append(uri, 3)
    assert [[row["id"] for row in stream.next(reader)] for _ in range(3)] == [[1], [2], []]
    assert stream.ids() == [3]


@each_case(
    ("options", "expected"),
    [({}, [1, 2, 3]), ({"starting_version": "latest"}, [3]), ({"max_rows_per_trigger": 1}, [1])],
)
def test_the_first_micro_batch_has_the_same_rows_when_it_is_repeated(
    tmp_path: Path, options: dict[str, Any], expected: list[int]
) -> None:
    """Spark asks for the initial offset again, also after a crash and other commits."""
    uri = tmp_path / "t.lance"
    append(uri, 1, 2)
    stream = Stream(uri, options)
    start, reader = stream.reader().initialOffset(), stream.reader()
    append(uri, 3)
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    append(uri, 4)
    again = stream.reader().initialOffset()
    assert again != start
    for first in (start, again):
        assert [row["id"] for row in stream.rows(first, end)] == expected
    stream.offset = end
    assert [*expected, *chain(*stream.batches())] == list(range(expected[0], 5))


def test_a_query_starts_at_a_version_or_a_time(uri: Path) -> None:
    for number in range(1, 5):
        append(uri, number)
    times = [version["timestamp"] for version in lance_core.dataset(uri).versions()]
    for options, expected in (
        ({}, [1, 2, 3, 4]),
        ({"starting_version": 1}, [1, 2, 3, 4]),
        ({"starting_version": 3}, [3, 4]),
        ({"starting_version": 5}, []),
        ({"starting_version": "latest"}, []),
        ({"starting_timestamp": "latest"}, []),
        ({"starting_timestamp": times[0] - timedelta(days=1)}, [1, 2, 3, 4]),
        ({"starting_timestamp": times[2]}, [3, 4]),
        ({"starting_timestamp": times[2] - timedelta(microseconds=1)}, [3, 4]),
        ({"starting_timestamp": times[3]}, [4]),
    ):
        assert Stream(uri, options).all() == expected, options
    lance_core.dataset(uri).cleanup_old_versions(timedelta(0), delete_unverified=True)
    assert Stream(uri, {"starting_version": "earliest"}).all() == [1, 2, 3, 4]
    with pytest.raises(DatasetNotFoundError, match=r"version 2 of .* was removed by a cleanup"):
        Stream(uri, {"starting_version": 2}).ids()


def change(uri: Path, operation: str) -> None:
    dataset = lance_core.dataset(uri)
    rows = pa.table({"id": [2, 9], "value": [5, 5]})
    spared = rows.append_column("spare", pa.array([5, 5]))
    if operation == "delete":
        dataset.delete("id = 1")
    elif operation == "update":
        dataset.update({"value": "5"}, "id = 2")
    elif operation == "merge":
        merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(spared if "spare" in dataset.schema.names else rows)
    elif operation == "columns":
        merge = dataset.merge_insert("id").when_matched_update_all()
        merge.write_mode("rewrite_columns").execute(rows)
    elif operation == "overwrite":
        new = spared if "spare" in dataset.schema.names else rows
        lance_core.write_dataset(new, uri, mode="overwrite")
    else:
        dataset.checkout_version(1).restore()


SKIP = "skip_change_commits"
DELIVERED = {
    "delete": {None: "Delete", SKIP: [], "ignore_deletes": [], "ignore_changes": []},
    "update": {None: "Update", SKIP: [], "ignore_deletes": "Update", "ignore_changes": [2]},
    "merge": {None: "Update", SKIP: [], "ignore_deletes": "Update", "ignore_changes": [2, 9]},
    "columns": {None: "Update", SKIP: [], "ignore_changes": "Update"},
    "overwrite": {None: "Overwrite", SKIP: [], "ignore_changes": [2, 9]},
    "restore": {None: "Restore", SKIP: [], "ignore_changes": "Restore"},
}
"""What a stream delivers after a change, by option; or the operation that the error names."""


@each_case("operation", list(DELIVERED))
def test_an_option_decides_about_changed_rows(tmp_path: Path, operation: str) -> None:
    uri = tmp_path / "t.lance"
    append(uri, 1, 2, 3, spare=[0] * 3)
    start = Stream(uri)
    start.ids()
    change(uri, operation)
    append(uri, 4)
    for option, expected in DELIVERED[operation].items():
        stream = Stream(uri, {option: "true"} if option else {}, start.offset)
        if isinstance(expected, str):
            with pytest.raises(UnsupportedFeatureError, match=f"version 2 .* by {expected}") as e:
                stream.ids()
            assert SKIP in str(e.value)
        else:
            assert sorted(stream.ids()) == [*sorted([*expected, 4])], option


def test_a_change_feed_delivers_each_change(uri: Path) -> None:
    append(uri, 1, 2, 3, enable_stable_row_ids=True)
    stream = Stream(uri, {"read_change_feed": "true", "max_versions_per_trigger": 1})

    def changes() -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in stream.next())

    assert changes() == [(n, 0, "insert", 1) for n in (1, 2, 3)]
    for operation in ("delete", "merge"):
        change(uri, operation)
    append(uri, 4)
    change(uri, "overwrite")
    assert changes() == [(1, 0, "delete", 2)]
    assert changes() == [
        (2, 0, "update_preimage", 3),
        (2, 5, "update_postimage", 3),
        (9, 5, "insert", 3),
    ]
    assert changes() == [(4, 0, "insert", 4)]
    new = [(2, 5, "insert", 5), (9, 5, "insert", 5)]
    old = [(2, 5, "delete", 5), (3, 0, "delete", 5), (4, 0, "delete", 5), (9, 5, "delete", 5)]
    assert changes() == sorted(new + old)
    change(uri, "restore")
    with pytest.raises(UnsupportedFeatureError, match="version 6 was committed by Restore"):
        changes()


def test_rows_that_are_replaced_together_with_new_columns_are_changes(uri: Path) -> None:
    append(uri, 1, 2, 3, enable_stable_row_ids=True)
    schema = StructType().add("id", "long").add("new", "long")
    options = {"replace_where": "id = 2", "merge_schema": "true", "replace_where_check": "false"}
    run(planned(uri, True, schema, **options), pa.record_batch({"id": [9], "new": [7]}))
    with pytest.raises(UnsupportedFeatureError, match="version 2 was committed by Merge"):
        Stream(uri, {"starting_version": "2"}).ids()
    for option, expected in (
        ("skip_change_commits", []),
        ("ignore_changes", [(9, None, 7)]),
        ("read_change_feed", [(2, 0, None, "delete", 2), (9, None, 7, "insert", 2)]),
    ):
        stream = Stream(uri, {"starting_version": "2", option: "true"})
        assert [tuple(row.values()) for row in stream.next()] == expected


def test_a_change_feed_needs_stable_row_ids(uri: Path) -> None:
    append(uri, 1)
    with pytest.raises(UnsupportedFeatureError, match="enable_stable_row_ids"):
        Stream(uri, {"read_change_feed": "true"}).ids()


def test_a_version_that_was_removed_or_replaced_is_an_error(uri: Path) -> None:
    append(uri, 1)
    stream = Stream(uri)
    stream.ids()
    append(uri, 2)
    append(uri, 3).cleanup_old_versions(timedelta(0), delete_unverified=True)
    with pytest.raises(DatasetNotFoundError, match=r"version 2 of .* was removed by a cleanup"):
        stream.ids()
    stream = Stream(uri)
    assert stream.ids() == [1, 2, 3]
    append(uri, 4)
    assert stream.ids() == [4]
    for versions in (1, 4, 5):
        shutil.rmtree(uri)
        for number in range(versions):
            append(uri, number)
        with pytest.raises(DatasetNotFoundError, match="was replaced: its version 4 is not"):
            stream.ids()


def test_a_change_of_the_schema_is_an_error(uri: Path) -> None:
    append(uri, 1)
    all_columns, one_column = Stream(uri), Stream(uri, {"columns": "id"})
    reader = all_columns.reader()
    for stream in (all_columns, one_column):
        assert stream.ids() == [1]
    dataset = append(uri, 2)
    dataset.add_columns({"extra": "id + 1"})
    append(uri, 3)
    with pytest.raises(SchemaMismatchError, match=r"version 3 .* other columns .*\(extra\)"):
        all_columns.next(reader)
    assert one_column.ids() == [2, 3]
    # After a restart the stream has the new column, which the rows of version 2 lack.
    with pytest.raises(SchemaMismatchError, match=r"version 2 of .* does not fit"):
        all_columns.ids()
    reader = one_column.reader()
    lance_core.dataset(uri).alter_columns({"path": "id", "data_type": pa.int32()})
    with pytest.raises(SchemaMismatchError, match=r"version 5 of .*'id'.* bigint"):
        one_column.next(reader)


def test_rows_that_are_appended_together_with_columns_are_delivered(uri: Path) -> None:
    append(uri, 1)
    all_columns, one_column = Stream(uri), Stream(uri, {"columns": "id"})
    reader = all_columns.reader()
    for stream in (all_columns, one_column):
        assert stream.ids() == [1]
    append(uri, 2, 3, spare=[7, 8], merge_schema=True, max_rows_per_file=1)
    with pytest.raises(SchemaMismatchError, match=r"version 2 .* other columns .*\(spare\)"):
        all_columns.next(reader)
    assert [row["spare"] for row in all_columns.next()] == [7, 8]
    assert one_column.ids() == [2, 3]
    lance_core.dataset(uri).add_columns({"extra": "id + 1"})
    assert one_column.ids() == []
    behind = Stream(uri, {"columns": "id", "starting_version": 3})
    lance_core.dataset(uri).cleanup_old_versions(timedelta(0), delete_unverified=True)
    with pytest.raises(DatasetNotFoundError, match="version 2 was removed by a cleanup, so"):
        behind.ids()


@each_case(
    ("options", "message"),
    [
        ({"starting_version": "0"}, "'starting_version' must be a number of at least 1"),
        ({"starting_version": "newest"}, "'latest' or 'earliest', not 'newest'"),
        ({"starting_version": "9"}, "version 9 does not exist; the newest version is 1"),
        ({"starting_timestamp": "soon"}, "'soon' is not a date and time"),
        ({"starting_timestamp": "2999-01-01"}, "after the newest version, 1"),
        ({"starting_version": "1", "starting_timestamp": "2020-01-01"}, "give one of the options"),
        ({"max_rows_per_trigger": "0"}, "'max_rows_per_trigger' must be a whole number"),
        ({"max_bytes_per_trigger": "1g"}, "'max_bytes_per_trigger' must be a whole number"),
        ({"max_versions_per_trigger": "-1"}, "'max_versions_per_trigger' must be"),
        ({"ignore_deletes": "yes"}, "'ignore_deletes' must be 'true' or 'false'"),
        ({"ignore_deletes": "true", "ignore_changes": "true"}, "give one of the options"),
        ({"version": "1"}, "'version'; use 'starting_version'"),
        ({"timestamp": "2999-01-01"}, "'timestamp'; use 'starting_timestamp'"),
        ({"limit": "1"}, "'limit'"),
        ({"fragments": "1"}, "'fragments'"),
        ({"branch": "main"}, "'branch'"),
        ({"read_change_feed": "true", "filter": "id = 1"}, "'read_change_feed' together"),
        ({"starting_verison": "1"}, "unknown option 'starting_verison'"),
    ],
)
def test_options_that_a_stream_cannot_have(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    uri = tmp_path / "t.lance"
    append(uri, 1, enable_stable_row_ids=True)
    with pytest.raises(InvalidInputError) as refused:
        Stream(uri, options).ids()
    assert message in str(refused.value)


@each_case(
    "offset",
    [
        {},
        {"version": "1", "timestamp": "", "rows": -1, "snapshot": False},
        {"version": -1, "timestamp": "", "rows": -1, "snapshot": False},
        {"version": 1, "timestamp": "2024-01-01", "rows": -1, "snapshot": False},
        {"version": 1, "timestamp": "", "rows": -2, "snapshot": False},
        {"version": 1, "timestamp": "", "rows": 0, "snapshot": 0},
        {"version": True, "timestamp": "", "rows": 0, "snapshot": True},
        {"version": 1, "timestamp": "", "rows": 0, "snapshot": True},
        {"version": 1, "timestamp": "", "rows": 0, "snapshot": True, "first": {}},
    ],
)
def test_a_checkpoint_of_another_source_is_an_error(tmp_path: Path, offset: dict[str, Any]) -> None:
    uri = tmp_path / "t.lance"
    append(uri, 1)
    with pytest.raises(LanceError, match="none of a Lance table"):
        Stream(uri, {}, offset or {"offset": 3}).ids()


def test_a_table_that_does_not_exist_is_an_error(uri: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="no table exists at"):
        Stream(uri).ids()


@each_case("name", ["starting_version", "starting_timestamp", "max_rows_per_trigger"])
def test_options_of_a_stream_are_an_error_elsewhere(tmp_path: Path, name: str) -> None:
    append(tmp_path / "t.lance", 1)
    source = DefaultSource({"path": str(tmp_path / "t.lance"), name: "1"})
    with pytest.raises(InvalidInputError, match=rf"'{name}' is for spark.readStream"):
        source.reader(source.schema())
