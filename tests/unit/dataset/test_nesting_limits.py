"""What is nested as deep as may be written can be read, in files of every version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.file import LanceFileReader, LanceFileWriter
from lance_core.schema import schema_to_json
from lance_core.schema.field import MAX_NESTING
from lance_core.schema.logical_type import MAX_FIXED_SIZE_LIST_NESTING

VERSIONS = ("legacy", "2.0", "2.1", "2.2")
ROWS = 6


def structs(array: pa.Array, version: str) -> pa.Array:
    nulls = version in ("2.1", "2.2") and len(array) == ROWS
    mask = pa.array(np.arange(len(array)) == 1) if nulls else None
    return pa.StructArray.from_arrays([array], ["x"], mask=mask)


def lists(array: pa.Array, version: str) -> pa.Array:
    offsets = pa.array(range(len(array) + 1), pa.int32())
    return pa.ListArray.from_arrays(offsets, array)


def alternating(array: pa.Array, version: str) -> pa.Array:
    return (lists if pa.types.is_struct(array.type) else structs)(array, version)


def vectors(array: pa.Array, version: str) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(array, 1)


def nested(wrap: Callable[[pa.Array, str], pa.Array], times: int, version: str) -> pa.Table:
    array = pa.array(range(ROWS), pa.int32())
    for _ in range(times):
        array = wrap(array, version)
    return pa.table({"c": array})


def check(data: pa.Table, uri: str, version: str) -> None:
    dataset = lance.write_dataset(data, uri, data_storage_version=version)
    expected = data["c"].to_pylist()
    assert dataset.to_table()["c"].to_pylist() == expected
    assert dataset.take([4, 1, 2])["c"].to_pylist() == [expected[row] for row in (4, 1, 2)]
    assert dataset.to_table(offset=3, limit=1)["c"].to_pylist() == expected[3:4]
    nulls = data["c"].null_count
    assert dataset.count_rows(filter="c IS NULL") == nulls
    dataset.delete("c IS NULL")
    assert dataset.count_rows() == ROWS - nulls


def refused(data: pa.Table, uri: str, version: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"field c[.: ]"):
        lance.write_dataset(data, uri, data_storage_version=version)
    assert not Path(uri).exists() or not [*Path(uri).rglob("*.*")]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_nested_as_deep_as_can_be_is_read(version: str, tmp_path: Path) -> None:
    for wrap in (structs, lists, alternating):
        for levels in (64, 65, MAX_NESTING):
            data = nested(wrap, levels - 1, version)
            check(data, str(tmp_path / f"{wrap.__name__} {levels}"), version)
        refused(nested(wrap, MAX_NESTING, version), str(tmp_path / "deeper"), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_of_fixed_size_nested_as_deep_as_can_be_are_read(
    version: str, tmp_path: Path
) -> None:
    deepest = 18 if version == "2.0" else MAX_FIXED_SIZE_LIST_NESTING
    for times in (9, deepest):
        data = nested(vectors, times, version)
        check(data, str(tmp_path / str(times)), version)
    for times in (deepest + 1, 80):
        refused(nested(vectors, times, version), str(tmp_path / "deeper"), version)


def test_members_that_are_packed_may_be_nested_as_deep(tmp_path: Path) -> None:
    for version, deepest in (("2.0", 18), ("2.2", MAX_FIXED_SIZE_LIST_NESTING)):
        members = structs(nested(vectors, deepest, version)["c"].combine_chunks(), "2.0")
        packed = pa.field("c", members.type, metadata={"lance-encoding:packed": "true"})
        data = pa.Table.from_arrays([members], schema=pa.schema([packed]))
        check(data, str(tmp_path / version), version)


def maps(array: pa.Array, version: str) -> pa.Array:
    fields = [pa.field("key", pa.string(), False), pa.field("value", array.type)]
    entries = pa.StructArray.from_arrays([pa.array(["k"] * ROWS), array], fields=fields)
    kind = pa.map_(pa.string(), array.type)
    return pa.Array.from_buffers(kind, ROWS, lists(entries, version).buffers()[:2], 0, 0, [entries])


def test_maps_are_two_levels_each(tmp_path: Path) -> None:
    check(nested(maps, MAX_NESTING // 2 - 1, "2.2"), str(tmp_path / "t"), "2.2")
    refused(nested(maps, MAX_NESTING // 2, "2.2"), str(tmp_path / "deeper"), "2.2")


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_files_by_themselves_have_the_same_limit(version: str, tmp_path: Path) -> None:
    path = tmp_path / "x.lance"
    data = nested(structs, MAX_NESTING - 1, version)
    with LanceFileWriter(path, data.schema, version=version) as writer:
        writer.write_batch(data)
    assert LanceFileReader(path).read_all().to_table().to_pylist() == data.to_pylist()
    data = nested(structs, MAX_NESTING, version)
    with pytest.raises(UnsupportedFeatureError, match="nested deeper than 100 levels"):
        LanceFileWriter(tmp_path / "y.lance", data.schema, version=version)
    assert [*tmp_path.iterdir()] == [path]


def test_schemas_as_json_have_the_same_limit() -> None:
    schema = nested(structs, MAX_NESTING - 1, "2.2").schema
    assert lance.json_to_schema(schema_to_json(schema)) == schema
    with pytest.raises((UnsupportedFeatureError, InvalidInputError), match="100 levels"):
        schema_to_json(nested(structs, MAX_NESTING, "2.2").schema)
