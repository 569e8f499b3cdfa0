"""Writing: modes, how files are cut, what a failure leaves behind."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import (
    DatasetExistsError,
    DatasetNotFoundError,
    InvalidInputError,
    LanceError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.file import LanceFileReader
from lance_core.fragment import write_fragments
from lance_core.progress import FragmentWriteProgress
from tests.table_surgery import edit_manifest

Rows = Callable[..., pa.Table]


def files_of(uri: str) -> list[str]:
    root = Path(uri)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_creating_makes_version_one(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(10), uri)
    assert (dataset.version, dataset.count_rows()) == (1, 10)
    assert dataset.to_table().equals(some_rows(10))
    transaction = dataset.read_transaction(1)
    assert transaction is not None
    assert transaction.read_version == 0
    assert isinstance(transaction.operation, lance.LanceOperation.Overwrite)


ROWS_ONLY = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))


@pytest.mark.parametrize("version", ["legacy", "2.0", "2.1", "2.2"])
def test_rows_without_columns_are_refused(uri: str, some_rows: Rows, version: str) -> None:
    schema = ROWS_ONLY.schema
    given: list[Callable[[], Any]] = [
        lambda: ROWS_ONLY,
        lambda: some_rows(5).select([]),
        lambda: pa.RecordBatchReader.from_batches(schema, [ROWS_ONLY]),
        lambda: iter([ROWS_ONLY]),
        lambda: [{}] * 5,
    ]
    for rows in given:
        for write in (lance.write_dataset, write_fragments, lance.fragment.LanceFragment.create):
            arguments = (uri, rows()) if write.__name__ == "create" else (rows(), uri)
            with pytest.raises(SchemaMismatchError, match="5 rows without columns"):
                write(*arguments, data_storage_version=version)
    assert files_of(uri) == []
    dataset = lance.write_dataset(some_rows(3), uri, data_storage_version=version)
    before = files_of(uri)
    for mode in ("append", "overwrite"):
        with pytest.raises(SchemaMismatchError):
            lance.write_dataset(ROWS_ONLY, uri, mode=mode)
    with pytest.raises(SchemaMismatchError):
        dataset.insert(ROWS_ONLY)
    assert files_of(uri) == before
    assert lance.write_dataset(schema.empty_table(), uri, mode="overwrite").count_rows() == 0


def test_creating_over_a_table_is_refused(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(10), uri)
    before = files_of(uri)
    for target in (uri, Path(uri), dataset):
        with pytest.raises(DatasetExistsError):
            lance.write_dataset(some_rows(5), target)
    assert files_of(uri) == before


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_table_that_is_not_there_is_made(uri: str, some_rows: Rows, mode: str) -> None:
    assert lance.write_dataset(some_rows(3), uri, mode=mode).version == 1
    assert lance.dataset(uri).to_table().equals(some_rows(3))


def test_appending_adds_rows_and_keeps_fragments(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(10), uri, max_rows_per_file=4)
    dataset = lance.write_dataset(some_rows(5, 10), uri, mode="append")
    assert dataset.to_table().equals(some_rows(15))
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [0, 1, 2, 3]
    assert lance.dataset(uri, version=1).to_table().equals(some_rows(10))


def test_overwriting_replaces_rows_and_schema(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(10), uri)
    dataset = lance.write_dataset({"z": [1]}, uri, mode="overwrite")
    assert dataset.to_table().to_pydict() == {"z": [1]}
    assert [fragment.fragment_id for fragment in dataset.get_fragments()] == [1]
    assert lance.dataset(uri, version=1).to_table().equals(some_rows(10))


def test_no_rows_make_a_version_without_new_files(uri: str, some_rows: Rows) -> None:
    empty = some_rows(0)
    dataset = lance.write_dataset(empty, uri)
    assert (dataset.version, dataset.get_fragments()) == (1, [])
    dataset = lance.write_dataset(some_rows(3), uri, mode="append")
    files = list(Path(uri, "data").iterdir())
    dataset = lance.write_dataset(empty, uri, mode="append")
    assert (dataset.version, dataset.count_rows(), len(dataset.get_fragments())) == (3, 3, 1)
    dataset = lance.write_dataset(empty, uri, mode="overwrite")
    assert dataset.to_table().equals(empty)
    assert list(Path(uri, "data").iterdir()) == files


def test_a_handle_moves_with_its_inserts(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(2), uri)
    dataset.insert(some_rows(3, 2))
    assert (dataset.version, dataset.to_table()) == (2, some_rows(5))
    dataset.insert(some_rows(1), mode="overwrite")
    assert (dataset.version, dataset.count_rows()) == (3, 1)


@pytest.mark.parametrize(("limit", "cut"), [(1, [1] * 10), (3, [3, 3, 3, 1]), (10, [10])])
@pytest.mark.parametrize("chunk", [1, 4, 10])
def test_files_have_at_most_so_many_rows(
    uri: str, some_rows: Rows, limit: int, cut: list[int], chunk: int
) -> None:
    batches = some_rows(10).to_batches(max_chunksize=chunk)
    dataset = lance.write_dataset(iter(batches), uri, max_rows_per_file=limit)
    assert [fragment.physical_rows for fragment in dataset.get_fragments()] == cut
    assert dataset.to_table().equals(some_rows(10))


@pytest.mark.parametrize("chunk", [10, 1000, 8000])
def test_files_end_when_they_are_large_enough(uri: str, chunk: int) -> None:
    table = pa.table({"n": np.random.default_rng(1).integers(0, 1 << 62, 8000)})
    dataset = lance.write_dataset(
        iter(table.to_batches(max_chunksize=chunk)),
        uri,
        max_bytes_per_file=16_000,
        data_cache_bytes=1,
    )
    sizes = [file.file_size_bytes for f in dataset.get_fragments() for file in f.data_files()]
    assert 3 <= len(sizes) <= 10
    assert dataset.to_table().equals(table)


def test_a_small_limit_of_bytes_does_not_split_pages(uri: str) -> None:
    # A file is full when its first page is written, here with the last rows of a batch.
    batch = pa.record_batch({"a": ["0" * 1024] * (8 << 10)})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    dataset = lance.write_dataset(reader, uri, max_bytes_per_file=1024)
    assert [fragment.physical_rows for fragment in dataset.get_fragments()] == [8 << 10] * 2


def test_one_byte_per_file_still_makes_progress(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(5), uri, max_bytes_per_file=1, data_cache_bytes=1)
    assert dataset.to_table().equals(some_rows(5))


@pytest.mark.parametrize("limit", [{"data_cache_bytes": 1}, {"max_page_bytes": 64}])
def test_pages_can_be_made_small(uri: str, limit: dict[str, Any]) -> None:
    table = pa.table({"n": pa.array(range(1000)), "s": [f"s{n}" for n in range(1000)]})
    batches = iter(table.to_batches(max_chunksize=100))
    dataset = lance.write_dataset(batches, uri, **limit)
    (file,) = Path(uri, "data").iterdir()
    columns = LanceFileReader(str(file)).metadata().columns
    assert [len(column.pages) >= 10 for column in columns] == [True, True]
    assert dataset.to_table().equals(table)


class Log(FragmentWriteProgress):
    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.complete_rows: list[int] = []

    def begin(self, fragment: Any, **kwargs: Any) -> None:
        self.begun.append(fragment)

    def complete(self, fragment: Any, **kwargs: Any) -> None:
        assert len(fragment.files) == 1
        assert fragment.files[0].file_size_bytes > 0
        self.complete_rows.append(fragment.physical_rows)


def test_progress_is_told_of_each_fragment(uri: str, some_rows: Rows) -> None:
    log = Log()
    lance.write_dataset(some_rows(10), uri, max_rows_per_file=4, progress=log)
    assert len(log.begun) == 3
    assert log.complete_rows == [4, 4, 2]


class Failing(Log):
    def complete(self, fragment: Any, **kwargs: Any) -> None:
        if len(self.complete_rows) == 1:
            raise RuntimeError("stop")
        super().complete(fragment)


def failing_batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=3)
    raise RuntimeError("stop")


def with_null(table: pa.Table) -> pa.Table:
    """The last value of a column without nulls is null after all."""
    values = [*table["i"].to_pylist()[:-1], None]
    place = table.schema.get_field_index("i")
    return table.set_column(place, "i", [values])


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
@pytest.mark.parametrize("failure", ["input", "progress", "null", "interrupt"])
def test_a_failure_leaves_nothing_behind(
    uri: str, some_rows: Rows, mode: str, failure: str
) -> None:
    not_null = pa.schema([field.with_nullable(field.name != "i") for field in some_rows(1).schema])
    expected = some_rows(2).cast(not_null)
    if mode != "create":
        lance.write_dataset(expected, uri)
    before = files_of(uri)
    options: dict[str, Any] = {"mode": mode, "max_rows_per_file": 2}
    table = some_rows(10)

    def write() -> None:
        if failure == "input":
            schema = not_null
            reader = pa.RecordBatchReader.from_batches(
                schema, (batch.cast(schema) for batch in failing_batches(table))
            )
            lance.write_dataset(reader, uri, **options)
        elif failure == "progress":
            lance.write_dataset(table, uri, progress=Failing(), **options)
        elif failure == "interrupt":
            stop = itertools.chain(table.to_batches(max_chunksize=3), map(interrupt, [1]))
            lance.write_dataset(stop, uri, **options)
        else:
            reader = pa.RecordBatchReader.from_batches(not_null, with_null(table).to_batches())
            lance.write_dataset(reader, uri, **options)

    with pytest.raises((RuntimeError, KeyboardInterrupt, InvalidInputError)):
        write()
    assert files_of(uri) == before
    if mode == "create":
        with pytest.raises(LanceError):
            lance.dataset(uri)
    else:
        assert lance.dataset(uri).to_table().equals(expected)


@pytest.mark.parametrize("how", ["removed", "dropped"])
def test_changing_a_table_that_is_gone_leaves_no_folder_behind(
    uri: str, some_rows: Rows, how: str
) -> None:
    changes: list[Callable[[lance.LanceDataset], object]] = [
        lambda dataset: lance.write_dataset(some_rows(3), dataset, mode="append"),
        lambda dataset: lance.write_dataset(some_rows(3), dataset, mode="overwrite"),
        lambda dataset: dataset.insert(some_rows(3)),
        lambda dataset: dataset.delete("true"),
        lambda dataset: dataset.update_config({"a": "b"}),
        lambda dataset: dataset.cleanup_old_versions(),
        lambda dataset: dataset.explain_cleanup_old_versions(),
    ]
    for change in changes:
        dataset = lance.write_dataset(some_rows(3), uri)
        if how == "removed":
            shutil.rmtree(uri)
        else:
            lance.LanceDataset.drop(uri)
        with pytest.raises(DatasetNotFoundError):
            change(dataset)
        assert not Path(uri).exists()


def interrupt(_: object) -> pa.RecordBatch:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"mode": "nonsense"}, InvalidInputError),
        ({"max_rows_per_file": 0}, InvalidInputError),
        ({"max_rows_per_file": -1}, InvalidInputError),
        ({"max_rows_per_file": 1.5}, InvalidInputError),
        ({"max_bytes_per_file": 0}, InvalidInputError),
        ({"data_cache_bytes": -1}, InvalidInputError),
        ({"data_cache_bytes": 1.5}, InvalidInputError),
        ({"max_page_bytes": -1}, InvalidInputError),
        ({"data_storage_version": "9.9"}, InvalidInputError),
        ({"data_storage_version": 2.0}, InvalidInputError),
        ({"data_storage_version": "2.3"}, UnsupportedFeatureError),
        ({"data_storage_version": "next"}, UnsupportedFeatureError),
        ({"commit_message": 1}, InvalidInputError),
        ({"transaction_properties": {"a": 1}}, InvalidInputError),
        ({"transaction_properties": {1: "a"}}, InvalidInputError),
        ({"transaction_properties": 5}, InvalidInputError),
        ({"storage_options": {"a": 1}}, InvalidInputError),
        ({"storage_options": {"durability": "nonsense"}}, InvalidInputError),
        ({"progress": 5}, InvalidInputError),
        ({"commit_lock": 5}, TypeError),
        ({"auto_cleanup_options": {"interval": -1}}, InvalidInputError),
        ({"initial_bases": ["somewhere"]}, TypeError),
        ({"target_bases": ["none"]}, InvalidInputError),
        ({"namespace_client": object()}, InvalidInputError),
        ({"nonsense": 1}, TypeError),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(
    uri: str, some_rows: Rows, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        lance.write_dataset(some_rows(3), uri, **options)
    assert files_of(uri) == []


def test_options_without_an_effect_here_are_accepted(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(
        some_rows(3),
        uri,
        max_rows_per_group=2,
        session=None,
        commit_lock=None,
        initial_bases=None,
        use_legacy_format=False,
        target_all_bases=False,
    )
    assert dataset.count_rows() == 3


@pytest.mark.parametrize("target", [None, 5, "", "nonsense://bucket/x"])
def test_places_that_nothing_can_write_to_are_refused(some_rows: Rows, target: Any) -> None:
    with pytest.raises((LanceError, TypeError)):
        lance.write_dataset(some_rows(3), target)


ONE = pa.array([1], pa.int64())


@pytest.mark.parametrize(
    "table",
    [
        pa.table([ONE, ONE], names=["a", "a"]),
        pa.table([ONE], names=[""]),
        pa.table([ONE], names=["a.b"]),
        pa.table([ONE], names=["_rowid"]),
        pa.table([ONE], names=["_rowaddr"]),
        pa.table({"p": pa.StructArray.from_arrays([ONE, ONE], names=["x", "x"])}),
        pa.table({"p": pa.StructArray.from_arrays([ONE], names=[""])}),
        pa.table({"e": pa.array([[{}]], pa.list_(pa.struct([])))}),
        pa.table({"u": pa.array([None], pa.month_day_nano_interval())}),
    ],
)
@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_schemas_that_cannot_be_stored_are_refused(uri: str, table: pa.Table, mode: str) -> None:
    with pytest.raises((InvalidInputError, UnsupportedFeatureError)):
        lance.write_dataset(table, uri, mode=mode)
    assert files_of(uri) == []


def test_a_table_may_have_no_columns(uri: str) -> None:
    dataset = lance.write_dataset(pa.table({}), uri)
    assert dataset.schema.names == []
    assert dataset.to_table().num_rows == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1], "b": ["x"], "z": [1]}, "z is not in the table"),
        ({"a": ["x"], "b": ["x"]}, "field a"),
        ({"a": pa.array([1], pa.int32()), "b": ["x"]}, "int32"),
        ({"a": [1], "b": pa.array(["x"], pa.large_string())}, "large_string"),
        ({"A": [1], "b": ["x"]}, "A is not in the table"),
        ({"a": pa.nulls(1), "b": ["x"]}, "null"),
    ],
)
def test_data_that_does_not_fit_is_not_appended(
    uri: str, data: dict[str, Any], message: str
) -> None:
    lance.write_dataset({"a": [1], "b": ["x"]}, uri)
    before = files_of(uri)
    with pytest.raises(SchemaMismatchError, match=message):
        lance.write_dataset(pa.table(data), uri, mode="append")
    assert files_of(uri) == before


def test_columns_may_be_appended_in_another_order(uri: str) -> None:
    lance.write_dataset({"a": [1], "b": ["x"]}, uri)
    dataset = lance.write_dataset({"b": ["y"], "a": [2]}, uri, mode="append")
    assert dataset.to_table().to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_columns_that_are_not_appended_are_null(uri: str) -> None:
    table = pa.table({"a": [1], "b": ["x"], "p": pa.array([{"x": 1, "y": 2}])})
    lance.write_dataset(table, uri)
    dataset = lance.write_dataset({"b": ["y"]}, uri, mode="append")
    part = pa.table({"p": pa.array([{"y": 5}])})
    dataset = lance.write_dataset(part, uri, mode="append")
    found = dataset.to_table()
    found.validate(full=True)
    assert found["a"].to_pylist() == [1, None, None]
    assert found["b"].to_pylist() == ["x", "y", None]
    assert found["p"].to_pylist()[2] == {"x": None, "y": 5}
    assert dataset.to_table(["a", "p.y"], filter="a IS NULL").num_rows == 2
    assert dataset.take([2, 1, 0], ["a"])["a"].to_pylist() == [None, None, 1]
    assert dataset.count_rows("p.y = 5") == 1


def test_a_column_that_must_not_be_null_cannot_be_left_out(uri: str) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), False), pa.field("b", pa.int64())])
    lance.write_dataset(pa.table([[1], [2]], schema=schema), uri)
    with pytest.raises(SchemaMismatchError, match="a is missing"):
        lance.write_dataset({"b": [1]}, uri, mode="append")
    nullable = pa.table({"a": [2], "b": pa.array([None], pa.int64())})
    assert lance.write_dataset(nullable, uri, mode="append").count_rows() == 2


def test_an_appended_schema_keeps_the_metadata_of_the_table(uri: str) -> None:
    field = pa.field("a", pa.int64(), metadata={"unit": "m"})
    table = pa.table([[1]], schema=pa.schema([field], {"k": "table"}))
    lance.write_dataset(table, uri)
    other = table.replace_schema_metadata({"k": "other"})
    dataset = lance.write_dataset(other, uri, mode="append")
    assert dataset.schema.equals(table.schema, check_metadata=True)


def test_the_file_version_of_a_table_stays(uri: str, some_rows: Rows) -> None:
    lance.write_dataset(some_rows(1), uri, data_storage_version="2.0")
    for version in (None, "2.0", "0.3"):
        lance.write_dataset(some_rows(1), uri, mode="append", data_storage_version=version)
    dataset = lance.write_dataset(some_rows(1), uri, mode="overwrite")
    assert dataset.data_storage_version == "2.0"


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "stable"])
@pytest.mark.parametrize("base", ["2.0", "2.1", "2.2"])
def test_an_append_may_name_another_version_and_an_overwrite_changes_that_of_the_table(
    uri: str, some_rows: Rows, base: str, version: str
) -> None:
    lance.write_dataset(some_rows(3), uri, data_storage_version=base)
    named = version.replace("stable", "2.2")
    lance.write_dataset(some_rows(1, 3), uri, mode="append", data_storage_version=version)
    lance.dataset(uri).insert(some_rows(1))
    mixed = lance.dataset(uri)
    assert mixed.data_storage_version == base
    minors = [f.data_files()[0].file_minor_version for f in mixed.get_fragments()]
    assert minors == [int(name[-1]) for name in (base, named, base)]
    again = lance.write_dataset(some_rows(2), uri, mode="overwrite", data_storage_version=version)
    assert again.data_storage_version == named
    assert again.to_table() == some_rows(2)


def test_new_tables_are_of_version_2_2(uri: str, some_rows: Rows) -> None:
    assert lance.write_dataset(some_rows(1), uri).data_storage_version == "2.2"
    empty = lance.write_dataset(some_rows(0), uri + "-empty")
    assert empty.data_storage_version == "2.2"
    (made,) = write_fragments(some_rows(1), uri + "-made")
    assert made.files[0].file_minor_version == 2


def test_writing_needs_every_feature_that_the_table_uses(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(3), uri)

    def ask_for_more(manifest: Any) -> None:
        manifest.writer_feature_flags |= 1 << 40

    edit_manifest(dataset, ask_for_more)
    before = files_of(uri)
    assert lance.dataset(uri).to_table().equals(some_rows(3))
    for mode in ("append", "overwrite"):
        with pytest.raises(UnsupportedFeatureError, match="bit 40"):
            lance.write_dataset(some_rows(3), uri, mode=mode)
        with pytest.raises(UnsupportedFeatureError, match="bit 40"):
            write_fragments(some_rows(3), uri, mode=mode)
    assert files_of(uri) == before


def test_options_of_the_store_reach_it(uri: str, some_rows: Rows) -> None:
    dataset = lance.write_dataset(some_rows(3), uri, storage_options={"durability": "durable"})
    again = lance.dataset(uri, storage_options={"durability": "fast"})
    assert again.to_table().equals(dataset.to_table())
