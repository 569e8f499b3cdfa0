"""Tables of file version 0.1: what stays, what is lost, what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lance_core.file import LanceFileReader, LanceFileWriter
from tests.table_surgery import delete_rows

LEGACY: dict[str, Any] = {"data_storage_version": "legacy"}


def words(*values: str | None) -> pa.Array:
    return pa.array(values).dictionary_encode()


@pytest.fixture
def uri(request: pytest.FixtureRequest) -> str:
    return f"memory://legacy/{request.node.name}"


@pytest.mark.parametrize(
    "chosen", [LEGACY, {"data_storage_version": "0.1"}, {"use_legacy_format": True}]
)
def test_a_table_keeps_its_version(uri: str, chosen: dict[str, Any]) -> None:
    table = pa.table({"n": [1, 2, 3]})
    lance.write_dataset(table, uri, **chosen)
    for mode in ("append", "append", "overwrite", "append"):
        dataset = lance.write_dataset(table, uri, mode=mode)
        assert dataset.snapshot.storage_version is FileVersion.V0_1
    dataset.delete("n = 2")
    assert dataset.to_table()["n"].to_pylist() == [1, 3, 1, 3]
    assert (
        lance.write_dataset(
            table, uri, mode="overwrite", data_storage_version="2.0"
        ).snapshot.storage_version
        is FileVersion.V2_0
    )


def test_deleted_rows_are_left_out_and_bounds_of_them_do_no_harm(uri: str) -> None:
    dataset = lance.write_dataset(
        pa.table({"n": range(100)}), uri, max_rows_per_group=10, max_rows_per_file=60, **LEGACY
    )
    dataset = delete_rows(dataset, {0: [3, *range(20, 30)], 1: [0]})
    assert dataset.count_rows("n < 25") == 19
    assert dataset.to_table(filter="n BETWEEN 22 AND 61")["n"].to_pylist() == [*range(30, 60), 61]
    assert dataset.to_table(filter="n = 24").num_rows == 0
    assert dataset.take([3, 10, 60])["n"].to_pylist() == [4, 11, 72]


def test_files_are_cut_exactly_and_into_groups(uri: str) -> None:
    dataset = lance.write_dataset(
        pa.table({"n": range(100)}), uri, max_rows_per_group=16, max_rows_per_file=40, **LEGACY
    )
    assert [f.physical_rows for f in dataset.get_fragments()] == [40, 40, 20]
    (fragment, *_) = dataset.snapshot.manifest.fragments
    reader = dataset.snapshot.reader(fragment.files[0])
    statistics = reader.page_statistics(list(dataset.snapshot.schema.fields))
    assert statistics is not None
    assert statistics.edges.tolist() == [0, 16, 32, 40]
    assert statistics.fields[0].highest.to_pylist() == [15, 31, 39]


def test_what_the_version_cannot_hold_is_read_as_documented(uri: str) -> None:
    table = pa.table(
        {
            "n": [1, None],
            "b": [True, None],
            "s": ["", None],
            "l": [[1], None],
            "t": [{"x": 1}, None],
            "d": words("first", None),
            "v": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        }
    )
    (_, lost) = lance.write_dataset(table, uri, **LEGACY).to_table().to_pylist()
    assert lost == {
        "n": 0, "b": False, "s": None, "l": [], "t": {"x": 0}, "d": "first", "v": [0, 0]
    }  # fmt: skip


def test_dictionaries_stay_with_the_table(uri: str) -> None:
    lance.write_dataset(pa.table({"d": words("x", "y")}), uri, **LEGACY)
    lance.write_dataset(pa.table({"d": words("x", "y", "x")}), uri, mode="append")
    lance.dataset(uri).delete("d = 'x'")
    reopened = lance.dataset(uri)
    assert reopened.to_table()["d"].to_pylist() == ["y", "y"]
    assert reopened.to_table(filter="d = 'y'").num_rows == 2
    lance.write_dataset(pa.table({"d": words("z")}), uri, mode="overwrite")
    assert lance.dataset(uri).to_table()["d"].to_pylist() == ["z"]
    assert lance.dataset(uri, version=2).to_table()["d"].to_pylist() == ["x", "y", "x", "y", "x"]


@pytest.mark.parametrize("values", [("y", "x"), ("x", "y", "z"), ("x",)])
def test_rows_with_another_dictionary_are_refused(uri: str, values: tuple[str, ...]) -> None:
    lance.write_dataset(pa.table({"d": words("x", "y")}), uri, **LEGACY)
    with pytest.raises(SchemaMismatchError, match="'d'"):
        lance.write_dataset(pa.table({"d": words(*values)}), uri, mode="append")
    assert lance.dataset(uri).count_rows() == 2


def test_single_files_of_this_version_are_refused(tmp_path: Any) -> None:
    batch = pa.record_batch({"n": [1]})
    writer = LanceFileWriter(tmp_path / "x.lance", version="legacy")
    with pytest.raises(UnsupportedFeatureError, match=r"0\.1"):
        writer.write_batch(batch)
    lance.write_dataset(pa.table([batch["n"]], names=["n"]), tmp_path / "table", **LEGACY)
    (path,) = (tmp_path / "table" / "data").iterdir()
    with pytest.raises(UnsupportedFeatureError, match="part of a table"):
        LanceFileReader(path)


@pytest.mark.parametrize("groups", [0, -1, "many"])
def test_impossible_groups_are_refused(uri: str, groups: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_rows_per_group"):
        lance.write_dataset(pa.table({"n": [1]}), uri, max_rows_per_group=groups, **LEGACY)


def test_fragments_written_apart_are_committed(uri: str) -> None:
    table = pa.table({"n": range(5)})
    lance.write_dataset(table, uri, **LEGACY)
    fragments = lance.fragment.write_fragments(table, uri)
    made = lance.LanceDataset.commit(uri, lance.LanceOperation.Append(fragments), read_version=1)
    assert made.to_table()["n"].to_pylist() == [*range(5), *range(5)]
    newer = lance.fragment.write_fragments(table, f"{uri}2", data_storage_version="2.2")
    with pytest.raises(LanceError, match=r"version 2\.2"):
        lance.LanceDataset.commit(uri, lance.LanceOperation.Append(newer), read_version=2)
