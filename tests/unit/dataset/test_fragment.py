"""Fragments: what they are, reading one of them, making one."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, SchemaMismatchError, UnsupportedFeatureError
from lance_core.fragment import DataFile, DeletionFile, FragmentMetadata, LanceFragment
from tests.each_case import each_case
from tests.table_surgery import delete_rows
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]


def test_fragments_come_in_the_order_of_a_scan(sample: Sample) -> None:
    fragments = sample.dataset.get_fragments()
    assert [fragment.fragment_id for fragment in fragments] == [0, 1, 2, 3]
    tables = [fragment.to_table() for fragment in fragments]
    assert pa.concat_tables(tables).equals(sample.live)
    with pytest.raises(InvalidInputError, match="filter"):
        sample.dataset.get_fragments(filter="i > 3")


def test_a_fragment_that_is_not_there_is_none(sample: Sample) -> None:
    assert sample.dataset.get_fragment(4) is None
    assert sample.dataset.get_fragment(-1) is None
    with pytest.raises(InvalidInputError, match="no fragment 4"):
        LanceFragment(sample.dataset, 4)


def test_a_fragment_counts_its_rows(sample: Sample) -> None:
    fragments = sample.dataset.get_fragments()
    assert [fragment.physical_rows for fragment in fragments] == [30, 30, 30, 10]
    assert [fragment.num_deletions for fragment in fragments] == [3, 0, 7, 1]
    assert [fragment.count_rows() for fragment in fragments] == [27, 30, 23, 9]
    assert [fragment.count_rows("i % 2 = 0") for fragment in fragments] == [14, 15, 11, 5]
    assert sum(fragment.metadata.num_rows for fragment in fragments) == 89


def test_a_fragment_scans_as_a_table_does(sample: Sample) -> None:
    fragment = sample.dataset.get_fragment(2)
    options = {"columns": ["i"], "filter": "i > 70", "limit": 3, "offset": 2}
    assert fragment.to_table(**options).to_pydict() == {"i": [73, 74, 75]}
    assert fragment.head(2)["i"].to_pylist() == [65, 66]
    assert [batch.num_rows for batch in fragment.to_batches(batch_size=10)] == [10, 10, 3]
    found = fragment.scanner(columns=["i"], with_row_address=True).to_table()
    assert found["_rowaddr"].to_pylist()[0] == (2 << 32) | 5
    with pytest.raises(TypeError, match="nonsense"):
        fragment.to_table(nonsense=1)


def test_a_fragment_names_its_files(sample: Sample) -> None:
    root = Path(sample.dataset.uri)
    fragment = sample.dataset.get_fragment(0)
    (file,) = fragment.data_files()
    assert (root / "data" / file.path).stat().st_size == file.file_size_bytes
    assert (file.file_major_version, file.file_minor_version) == (2, 2)
    leaves = [field.id for field in sample.dataset.snapshot.schema.walk() if not field.children]
    assert file.field_ids() == leaves
    assert fragment.deletion_file() is not None
    assert (root / str(fragment.deletion_file())).is_file()
    assert sample.dataset.get_fragment(1).deletion_file() is None
    assert file.path in repr(fragment)
    assert "deletion_file" in repr(fragment)
    assert "deletion_file" not in repr(sample.dataset.get_fragment(1))


def test_a_fragment_has_the_schema_of_the_table_and_that_of_its_files(uri: str) -> None:
    lance.write_dataset({"a": [1], "b": ["x"]}, uri)
    dataset = lance.write_dataset({"b": ["y"]}, uri, mode="append")
    first, second = dataset.get_fragments()
    assert second.schema == first.schema == dataset.schema
    assert first.physical_schema.names == ["a", "b"]
    assert second.physical_schema.names == ["b"]


def test_metadata_survives_json_and_pickle(sample: Sample) -> None:
    for fragment in sample.dataset.get_fragments():
        metadata = fragment.metadata
        assert FragmentMetadata.from_json(json.dumps(metadata.to_json())) == metadata
        assert pickle.loads(pickle.dumps(metadata)) == metadata
        assert FragmentMetadata.of(metadata.to_fragment(), metadata.physical_rows) == metadata


def test_what_is_done_to_the_json_form_does_not_reach_the_metadata(sample: Sample) -> None:
    metadata = sample.dataset.get_fragments()[0].metadata
    path = metadata.files[0].path
    metadata.to_json()["files"][0]["path"] = "other"
    assert metadata.files[0].path == path


@each_case(
    "text", ["", "{", "[]", "5", "{}", '{"id": "x", "files": [], "physical_rows": 1}', "null"]
)
def test_json_that_is_no_fragment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="fragment"):
        FragmentMetadata.from_json(text)


def test_json_of_fragments_with_overlays_is_unsupported(sample: Sample) -> None:
    tree = sample.dataset.get_fragment(0).metadata.to_json()
    tree["overlays"] = [{}]
    with pytest.raises(UnsupportedFeatureError, match="overlays"):
        FragmentMetadata.from_json(json.dumps(tree))


def test_a_fragment_can_be_pickled(sample: Sample) -> None:
    fragment = pickle.loads(pickle.dumps(sample.dataset.get_fragment(2)))
    assert fragment.to_table().equals(sample.dataset.get_fragment(2).to_table())


def test_a_fragment_keeps_the_version_that_it_is_of(uri: str) -> None:
    dataset = lance.write_dataset({"i": range(5)}, uri)
    fragment = dataset.get_fragment(0)
    delete_rows(dataset, {0: [1]})
    dataset.checkout_latest()
    assert (fragment.count_rows(), dataset.get_fragment(0).count_rows()) == (5, 4)


def test_a_fragment_can_be_made_and_committed(uri: str, some_rows: Rows) -> None:
    made = LanceFragment.create(uri, some_rows(10), fragment_id=7)
    assert (made.id, made.physical_rows, len(made.files)) == (7, 10, 1)
    operation = lance.LanceOperation.Overwrite(some_rows(0).schema, [made])
    dataset = lance.LanceDataset.commit(uri, operation)
    assert dataset.to_table().equals(some_rows(10))
    more = LanceFragment.create(dataset, some_rows(3, 10))
    append = lance.LanceOperation.Append([more])
    dataset = lance.LanceDataset.commit(dataset, append, dataset.version)
    assert dataset.to_table().equals(some_rows(13))
    with pytest.raises(InvalidInputError, match="no rows"):
        LanceFragment.create(uri, some_rows(0))
    with pytest.raises(SchemaMismatchError):
        LanceFragment.create(uri, {"z": [1]})


@pytest.mark.parametrize(
    "file", [DeletionFile(1, 2, "nonsense", 3), DeletionFile(1, 2, "array", 30)]
)
def test_fragments_with_deleted_rows_cannot_be_new(uri: str, file: DeletionFile) -> None:
    dataset = lance.write_dataset({"i": range(5)}, uri)
    metadata = dataset.get_fragment(0).metadata
    metadata.deletion_file = file
    with pytest.raises(InvalidInputError):
        lance.LanceOperation.Overwrite(dataset.schema, [metadata])
    with pytest.raises(InvalidInputError):
        lance.LanceDataset.commit(dataset, lance.LanceOperation.Append([metadata]), 1)
    assert dataset.latest_version == 1


@pytest.mark.parametrize(
    "file",
    [
        DataFile("../x.lance", [0], [0], 2, 0),
        DataFile("/x.lance", [0], [0], 2, 0),
        DataFile("", [0], [0], 2, 0),
        DataFile("x.lance", [0, 1], [0], 2, 0),
        DataFile("x.lance", [0, 1], [0, 0], 2, 0),
        DataFile("x.lance", [0], [0], 0, 2),
        DataFile("x.lance", [0], [0], 2, 3),
        DataFile("x.lance", [0], [0], 7, 7),
    ],
)
def test_files_that_no_table_can_have_are_not_committed(uri: str, file: DataFile) -> None:
    dataset = lance.write_dataset({"i": range(5)}, uri)
    fragment = FragmentMetadata(0, [file], 5)
    with pytest.raises(InvalidInputError):
        lance.LanceDataset.commit(dataset, lance.LanceOperation.Append([fragment]), 1)
    assert dataset.latest_version == 1


@each_case("fragments", [["x"], [None], [{}]])
def test_operations_take_fragments_only(fragments: list[FragmentMetadata]) -> None:
    with pytest.raises(TypeError, match="FragmentMetadata"):
        lance.LanceOperation.Append(fragments)
    with pytest.raises(TypeError, match="FragmentMetadata"):
        lance.LanceOperation.Overwrite(pa.schema([]), fragments)


def test_a_session_takes_the_same_columns(tmp_path: Path) -> None:
    dataset = lance.write_dataset({"a": range(10), "b": range(10, 20)}, tmp_path)
    dataset.delete("a = 0")
    fragment = dataset.get_fragments()[0]
    session = fragment.open_session(["b"], with_row_address=True)
    assert session.take([3, 0]).to_pydict() == {"b": [14, 11], "_rowaddr": [4, 1]}
    assert fragment.open_session().take([0]).to_pydict() == {"a": [1], "b": [11]}
    with pytest.raises(InvalidInputError, match="No field named c"):
        fragment.open_session(["c"])


def test_a_fragment_has_its_dataset_by_the_name_that_libraries_use(tmp_path: Path) -> None:
    table = lance.write_dataset(pa.table({"x": [1, 2]}), tmp_path / "t")
    (fragment,) = table.get_fragments()
    assert fragment._ds is table
    assert fragment._ds.schema == table.schema
