"""Adding columns: from SQL, functions, rows and fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    CommitConflictError,
    InvalidInputError,
    RetryableCommitConflictError,
    SchemaMismatchError,
    UnsupportedFeatureError,
    UserFunctionError,
)
from tests.each_case import each_case

ROWS = 20
VERSIONS = ["0.1", "2.0", "2.1", "2.2"]
TABLE = pa.table(
    {
        "a": pa.array(range(ROWS), pa.int64()),
        "s": pa.array([{"x": n, "y": f"y{n}"} for n in range(ROWS)]),
    }
)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(uri: str, version: str) -> lance.LanceDataset:
    """With deleted rows at the begin, in the middle and at the end of fragments."""
    made = lance.write_dataset(TABLE, uri, max_rows_per_file=8, data_storage_version=version)
    made.delete("a IN (0, 1, 10, 15, 19)")
    return made


def files(dataset: lance.LanceDataset) -> set[str]:
    return {path.name for path in Path(dataset.uri, "data").iterdir()}


def column(dataset: lance.LanceDataset, name: str) -> list[Any]:
    return lance.dataset(dataset.uri).to_table([name]).column(0).to_pylist()


def live(dataset: lance.LanceDataset) -> np.ndarray[Any, Any]:
    return np.asarray(dataset.to_table(["a"]).column(0))


def test_sql_is_computed_for_live_rows_in_new_files(table: lance.LanceDataset) -> None:
    before = files(table)
    # a / (a - 10) fails in the deleted row 10.
    table.add_columns({"b": "a * 2", "c": "100 / (a - 10)", "t": "s.y", "st": "s", "one": "1"})
    rows = live(table)
    assert column(table, "b") == (rows * 2).tolist()
    assert column(table, "t") == [f"y{n}" for n in rows]
    assert column(table, "st") == table.to_table(["s"]).column(0).to_pylist()
    assert before < files(table)
    assert len(files(table)) == 2 * len(before)
    assert [len(f.data_files()) for f in table.get_fragments()] == [2, 2, 2]
    assert not table.schema.field("one").nullable
    for fragment in table.get_fragments():
        fragment.validate()


def test_filters_and_takes_use_new_columns(table: lance.LanceDataset) -> None:
    table.add_columns({"b": "a * 2"})
    assert table.to_table(filter="b > 30").column("a").to_pylist() == [16, 17, 18]
    assert table.to_table(["b"], filter="b IS NULL").num_rows == 0
    assert table.take([0, 5], ["b"]).column(0).to_pylist() == [4, 14]


def test_a_function_gets_live_rows_in_batches_of_one_fragment(table: lance.LanceDataset) -> None:
    seen: list[int] = []

    @lance.batch_udf(pa.schema([("b", pa.int64())]))
    def double(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert batch.schema.names == ["a", "_rowaddr"]
        seen.append(batch.num_rows)
        return pa.record_batch({"b": pa.array(np.asarray(batch["a"]) * 2)})

    table.add_columns(double, read_columns=["a", "_rowaddr"], batch_size=4)
    assert column(table, "b") == (live(table) * 2).tolist()
    assert seen == [4, 2, 4, 2, 3]


def test_a_plain_function_is_accepted(table: lance.LanceDataset) -> None:
    table.add_columns(lambda batch: pa.record_batch({"b": batch["a"]}))
    assert column(table, "b") == live(table).tolist()


@pytest.mark.parametrize("rows_per_batch", [1, 4, 100])
def test_rows_are_given_for_all_live_rows_in_order(
    table: lance.LanceDataset, rows_per_batch: int
) -> None:
    rows = pa.table({"r": range(15)})
    table.add_columns(iter(rows.to_batches(rows_per_batch)), reader_schema=rows.schema)
    assert column(table, "r") == list(range(15))


@pytest.mark.parametrize("count", [0, 14, 16])
def test_too_few_or_many_rows_are_refused(table: lance.LanceDataset, count: int) -> None:
    before, version = files(table), table.version
    with pytest.raises(SchemaMismatchError, match="Stream"):
        table.add_columns(pa.table({"r": pa.array(range(count), pa.int64())}).to_reader())
    assert (files(table), lance.dataset(table.uri).version) == (before, version)


def test_fields_add_null_columns_without_files(table: lance.LanceDataset, version: str) -> None:
    before = files(table)
    fields = [pa.field("n", pa.int32(), metadata={"k": "v"}), pa.field("t", pa.list_(pa.string()))]
    if version == "0.1":
        with pytest.raises(UnsupportedFeatureError):
            table.add_columns(fields)
        return
    table.add_columns(fields)
    table.add_columns(pa.field("m", pa.int8()))
    table.add_columns(pa.schema([pa.field("q", pa.json_())], metadata={"own": "1"}))
    assert files(table) == before
    assert column(table, "n") == column(table, "q") == [None] * 15
    assert table.schema.field("n").metadata == {b"k": b"v"}
    assert table.schema_metadata == {"own": "1"}
    assert table.to_table(filter="m IS NULL").num_rows == 15
    with pytest.raises(SchemaMismatchError, match="must be nullable"):
        table.add_columns(pa.field("r", pa.int8(), nullable=False))


@each_case(
    "transforms, error",
    [
        ({"a": "1"}, SchemaMismatchError),
        ({"_rowid": "a"}, InvalidInputError),
        ({"b": "nope"}, InvalidInputError),
        ({"b": "a +"}, InvalidInputError),
        ({"b": "100 / (a - 5)"}, InvalidInputError),
        ({"b.c": "a"}, InvalidInputError),
        ({"": "a"}, InvalidInputError),
        ({3: "a"}, TypeError),
        ({"b": 3}, TypeError),
        (3, TypeError),
        ([], InvalidInputError),
        (lambda batch: 1 / 0, TypeError),
        (pa.table({"a": range(15)}), SchemaMismatchError),
    ],
)
def test_bad_input_commits_nothing(tmp_path: Path, transforms: Any, error: type) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"), max_rows_per_file=8)
    before = files(table)
    with pytest.raises(error):
        table.add_columns(transforms)
    assert lance.dataset(table.uri).version == 1
    assert files(table) == before


def fails_at(number: int) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    calls = iter(range(100))

    def function(batch: pa.RecordBatch) -> pa.RecordBatch:
        if next(calls) == number:
            raise KeyError("boom")
        return pa.record_batch({"b": batch["a"]})

    return function


@each_case(
    "function",
    [
        fails_at(1),
        lambda batch: pa.record_batch({"b": [1]}),
        lambda batch: pa.record_batch({"b": pa.array([1] * 30)}),
        lambda batch: pa.record_batch({"b": ["text"] * batch.num_rows}),
        lambda batch: pa.record_batch({"c": batch["a"]}),
        lambda batch: 3,
        lambda batch: None,
    ],
)
def test_a_wrong_function_commits_nothing(tmp_path: Path, function: Any) -> None:
    table = lance.write_dataset(TABLE, str(tmp_path / "t"), max_rows_per_file=8)
    before = files(table)
    with pytest.raises(UserFunctionError):
        table.add_columns(lance.batch_udf(pa.schema([("b", pa.int64())]))(function))
    assert lance.dataset(table.uri).version == 1
    assert files(table) == before


def test_nulls_of_a_function_in_a_required_column_are_refused(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri)
    schema = pa.schema([pa.field("b", pa.int64(), nullable=False)])
    nulls = lance.batch_udf(schema)(
        lambda batch: pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, "int64")], schema=schema)
    )
    with pytest.raises(InvalidInputError, match="not nullable"):
        table.add_columns(nulls)


def test_a_checkpoint_resumes_and_is_removed(table: lance.LanceDataset, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    schema = pa.schema([("b", pa.int64())])
    function = fails_at(4)
    with pytest.raises(UserFunctionError):
        table.add_columns(lance.batch_udf(schema, checkpoint)(function), batch_size=3)
    assert checkpoint.exists()
    calls: list[int] = []

    def counted(batch: pa.RecordBatch) -> pa.RecordBatch:
        calls.append(batch.num_rows)
        return pa.record_batch({"b": batch["a"]})

    table.add_columns(lance.batch_udf(schema, checkpoint)(counted), batch_size=3)
    assert calls == [3]  # the file of fragments 0 and 1 is complete
    assert column(table, "b") == live(table).tolist()
    assert not checkpoint.exists()
    assert len(files(table)) == 6


def test_a_checkpoint_whose_files_are_gone_is_computed_again(uri: str, tmp_path: Path) -> None:
    table = lance.write_dataset({"a": range(6)}, uri, max_rows_per_file=3)
    before = set(Path(uri, "data").iterdir())
    checkpoint, schema = tmp_path / "checkpoint", pa.schema([("b", pa.int64())])
    with pytest.raises(UserFunctionError):
        table.add_columns(lance.batch_udf(schema, checkpoint)(fails_at(1)), batch_size=3)
    (written,) = set(Path(uri, "data").iterdir()) - before
    written.unlink()
    copy = lance.batch_udf(schema, checkpoint)(lambda batch: pa.record_batch({"b": batch["a"]}))
    table.add_columns(copy, batch_size=3)
    assert table.to_table()["b"].to_pylist() == list(range(6))


def test_a_checkpoint_of_other_columns_is_not_used(uri: str, tmp_path: Path) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8)
    checkpoint = tmp_path / "checkpoint"
    schema = pa.schema([("b", pa.int64())])
    with pytest.raises(UserFunctionError):
        table.add_columns(lance.batch_udf(schema, checkpoint)(fails_at(2)))
    table.add_columns({"c": "a"})
    table.add_columns(
        lance.batch_udf(schema, checkpoint)(lambda batch: pa.record_batch({"b": batch["a"]}))
    )
    assert column(table, "b") == column(table, "c") == list(range(ROWS))


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(InvalidInputError, match="not a checkpoint file"):
        lance.batch_udf(checkpoint_file=path)(lambda batch: batch)


def test_members_are_added_to_structs(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8)
    table.delete("a IN (3, 9)")
    table.add_columns(pa.table({"s": pa.array([{"w": n} for n in range(18)])}))
    table.add_columns(pa.field("s", pa.struct([("v", pa.struct([("k", pa.int8())]))])))
    rows = table.to_table(["s"]).column(0).to_pylist()
    assert rows[3] == {"x": 4, "y": "y4", "w": 3, "v": None}
    assert table.to_table(["s.w"], filter="s.w >= 16").column(0).to_pylist() == [16, 17]
    assert table.take([1, 17], ["s.w"]).column(0).to_pylist() == [{"w": 1}, {"w": 17}]


def test_members_are_added_to_structs_in_lists(uri: str) -> None:
    lists = [None, [], [{"p": 1}], [{"p": 2}, {"p": 3}]]
    more = [None, [], [{"q": "1"}], [{"q": "2"}, {"q": "3"}]]
    table = lance.write_dataset(pa.table({"l": lists}), uri, max_rows_per_file=3)
    table.add_columns(pa.table({"l": more}))
    item = pa.struct([("n", pa.int8())])
    table.add_columns(pa.field("l", pa.list_(item)))
    expected = [
        None,
        [],
        [{"p": 1, "q": "1", "n": None}],
        [{"p": 2, "q": "2", "n": None}, {"p": 3, "q": "3", "n": None}],
    ]
    assert column(table, "l") == expected
    assert table.take([3, 0]).column(0).to_pylist() == [expected[3], None]


def test_field_ids_continue_after_those_in_files(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri)
    table.add_columns({"b": "a"})
    table.drop_columns(["s"])
    table.add_columns({"c": "a"})
    assert {f.name(): f.id() for f in table.lance_schema.fields()} == {"a": 0, "b": 4, "c": 5}


def test_rows_that_were_added_meanwhile_are_a_conflict(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri)
    lance.write_dataset(TABLE, uri, mode="append")
    before = files(table)
    with pytest.raises(RetryableCommitConflictError):
        table.add_columns({"b": "a"})
    assert files(table) == before
    lance.dataset(uri).drop_columns(["s"])
    other = lance.dataset(uri, version=2)
    with pytest.raises(CommitConflictError):
        other.add_columns({"b": "a"})
    assert files(table) == before


def test_stable_row_ids_are_kept(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8, enable_stable_row_ids=True)
    table.delete("a < 3")
    before = table.to_table([], with_row_id=True)
    table.add_columns({"b": "a"})
    assert table.to_table([], with_row_id=True) == before


def test_extension_json_and_blob_columns_are_added_and_kept(uri: str) -> None:
    table = lance.write_dataset(pa.table({"a": [1, 2]}), uri)
    json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"k":1}', None]))
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"1" * 16, b"2" * 16], pa.binary(16)))
    blobs = lance.blob_array([b"one", None])
    schema = pa.schema([("j", json.type), ("u", ids.type), lance.blob_field("b")])
    table.add_columns(pa.Table.from_arrays([json, ids, blobs], schema=schema))
    table.add_columns({"j2": "j", "d": "a"})
    assert table.schema.field("u").type == pa.uuid()
    assert table.to_table(["j"]).column(0).to_pylist() == ['{"k":1}', None]
    assert table.take_blobs("b", indices=[0])[0].read() == b"one"
    table.alter_columns({"path": "b", "name": "renamed"}, {"path": "a", "data_type": pa.int8()})
    assert table.take_blobs("renamed", indices=[0])[0].read() == b"one"


def test_a_table_without_rows_gets_columns(uri: str, version: str) -> None:
    table = lance.write_dataset(TABLE.slice(0, 0), uri, data_storage_version=version)
    table.add_columns({"b": "a"})
    assert table.schema.names == ["a", "s", "b"]
    assert table.to_table().num_rows == 0


def test_an_interrupted_stream_leaves_no_files(uri: str) -> None:
    table = lance.write_dataset(TABLE, uri, max_rows_per_file=8)
    before = files(table)

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"b": list(range(9))})
        raise OSError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("b", pa.int64())]), batches())
    with pytest.raises(OSError, match="the source is gone"):
        table.add_columns(reader)
    assert files(table) == before
