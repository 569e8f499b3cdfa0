"""Columns of extension types and of dictionaries, by themselves and nested: all ways to use them.

Arrow makes no empty arrays of some of these types and compares no extension types.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_core as lance

ROWS = 6
OFFSETS = pa.array([0, None, 2, 4, 5, 6], pa.int32())
NULL = [False, False, True, False, False, False]


class Point(pa.ExtensionType):  # noqa: PLW1641 - users write such classes
    """As users write them: Python takes the hash from a class that says what equality is."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "lance_core.tests.point")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Point:
        return cls()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    pa.register_extension_type(Point())
    yield
    pa.unregister_extension_type("lance_core.tests.point")


def _flat() -> dict[str, pa.Array]:
    def extension(type_: pa.DataType, values: list[Any]) -> pa.Array:
        return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))

    words = pa.array(["a", "b", "c"], pa.large_string())
    indices = pa.array([0, None, 1, 1, 0, 2], pa.int8())
    return {
        "uuid": extension(pa.uuid(), [None, *[uuid.UUID(int=i).bytes for i in range(1, ROWS)]]),
        "json": extension(pa.json_(), ['{"a":1}', None, "[]", "1", '"x"', "null"]),
        "tensor": extension(
            pa.fixed_shape_tensor(pa.float32(), [2]), [[0, 1], None, [2, 3], [4, 5], [6, 7], [8, 9]]
        ),
        "point": extension(Point(), [0, None, 1, 1, 0, 1]),
        "dictionary": pa.DictionaryArray.from_arrays(indices, words),
        "binaries": pa.DictionaryArray.from_arrays(indices, words.cast(pa.large_binary())),
    }


def _columns(array: pa.Array, version: str) -> dict[str, pa.Array]:
    lists = pa.ListArray.from_arrays(OFFSETS, array)
    found = {
        "flat": array.slice(0, 5),
        "lists": lists,
        "large_lists": pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), array),
        "structs_in_lists": pa.ListArray.from_arrays(
            OFFSETS, pa.StructArray.from_arrays([array], ["x"])
        ),
    }
    if version == "2.0":
        return found | {"structs": pa.StructArray.from_arrays([array], ["x"]).slice(0, 5)}
    mask = pa.array(NULL[:5])
    found["structs"] = pa.StructArray.from_arrays([array.slice(0, 5)], ["x"], mask=mask)
    found["lists_in_structs"] = pa.StructArray.from_arrays([lists], ["x"], mask=mask)
    if version == "2.2":
        keys = pa.array([f"key {i}" for i in range(ROWS)])
        found["maps"] = pa.MapArray.from_arrays(OFFSETS, keys, array)
    return found


def _check(found: pa.Table, data: pa.Table, rows: list[int]) -> None:
    found.validate(full=True)
    assert found.schema == data.schema
    expected = data.take(pa.array(rows, pa.int64()))
    for name in data.column_names:
        assert str(found[name].to_pylist()) == str(expected[name].to_pylist()), name


CASES = list(itertools.product(_flat(), ["2.0", "2.1", "2.2"]))


@pytest.fixture(scope="module", params=CASES, ids=["-".join(case) for case in CASES])
def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[lance.LanceDataset, pa.Table]:
    """A table of two fragments with all columns of one type, and what is in it."""
    name, version = request.param
    data = pa.table({"i": range(5), **_columns(_flat()[name], version)})
    uri = str(tmp_path_factory.mktemp("tables") / "table")
    return lance.write_dataset(data, uri, data_storage_version=version, max_rows_per_file=3), data


def test_all_ways_to_read_give_the_rows(table: tuple[lance.LanceDataset, pa.Table]) -> None:
    dataset, data = table
    everything = list(range(5))
    _check(dataset.to_table(), data, everything)
    _check(dataset.to_table(offset=1, limit=2), data, [1, 2])
    _check(dataset.head(2), data, [0, 1])
    _check(dataset.take([4, 0, 2, 0]), data, [4, 0, 2, 0])
    _check(dataset.take([0, 4]), data, [0, 4])
    _check(dataset.to_table(filter="i >= 2"), data, [2, 3, 4])
    _check(dataset.to_table(filter=pc.field("i") == 4), data, [4])
    for options in ({"batch_size": 2}, {"batch_size": 4, "strict_batch_size": True}):
        batches = dataset.to_batches(**options)
        _check(pa.Table.from_batches(batches, data.schema), data, everything)
    first, second = dataset.get_fragments()
    _check(first.to_table(), data, [0, 1, 2])
    _check(second.take([1, 0]), data, [4, 3])
    assert dataset.count_rows("flat IS NOT NULL") == 5 - data["flat"].null_count


def test_a_result_without_rows_has_all_columns(
    table: tuple[lance.LanceDataset, pa.Table], tmp_path: Path
) -> None:
    dataset, data = table
    _check(dataset.to_table(limit=0), data, [])
    _check(dataset.head(0), data, [])
    _check(dataset.take([]), data, [])
    _check(dataset.to_table(filter="i < 0"), data, [])
    _check(dataset.to_table(filter=pc.field("i") < 0), data, [])
    _check(pa.Table.from_batches(dataset.to_batches(filter="i < 0"), data.schema), data, [])
    version = dataset.data_storage_version
    empty = lance.write_dataset(data.slice(0, 0), str(tmp_path / "a"), data_storage_version=version)
    _check(empty.to_table(), data, [])


def test_conditions_say_which_values_are_null(
    table: tuple[lance.LanceDataset, pa.Table],
) -> None:
    dataset, data = table
    for name in data.column_names:
        is_null = data[name].is_null().to_pylist()
        rows = {answer: [i for i in range(5) if is_null[i] is answer] for answer in (True, False)}
        assert dataset.to_table(["i"], f"{name} IS NULL")["i"].to_pylist() == rows[True]
        assert dataset.to_table(["i"], f"{name} IS NOT NULL")["i"].to_pylist() == rows[False]
        assert dataset.to_table(["i"], pc.field(name).is_null())["i"].to_pylist() == rows[True]
    member = dataset.to_table(filter="structs.x IS NULL", columns=["structs.x"])
    assert set(member["structs.x"].to_pylist()) == {None}


def test_rows_are_appended_and_deleted_by_any_condition(
    table: tuple[lance.LanceDataset, pa.Table], tmp_path: Path
) -> None:
    source, data = table
    uri, version = str(tmp_path / "table"), source.data_storage_version
    lance.write_dataset(data, uri, data_storage_version=version)
    dataset = lance.write_dataset(data, uri, mode="append")
    dataset.delete("lists IS NULL AND i = 1")
    dataset.delete(pc.field("i") == 3)
    _check(dataset.to_table(), data, [0, 2, 4] * 2)
    dataset.delete("flat IS NOT NULL")
    left = [i for i in (0, 2, 4) if not data["flat"][i].is_valid]
    _check(dataset.to_table(), data, left * 2)
    dataset.delete("true")
    _check(dataset.to_table(), data, [])


def test_categories_of_large_strings_are_compared_as_words(tmp_path: Path) -> None:
    column = _flat()["dictionary"]
    dataset = lance.write_dataset(pa.table({"i": range(ROWS), "c": column}), str(tmp_path / "t"))
    for text, rows in [
        ("c = 'b'", [2, 3]),
        ("c <> 'b'", [0, 4, 5]),
        ("c IN ('a', 'c', 'z')", [0, 4, 5]),
        ("c LIKE 'a%' OR c IS NULL", [0, 1, 4]),
        ("upper(c) = 'C'", [5]),
        ("coalesce(c, 'none') = 'none'", [1]),
    ]:
        assert dataset.to_table(filter=text)["i"].to_pylist() == rows, text
    assert dataset.to_table(filter=pc.field("c") == "b")["i"].to_pylist() == [2, 3]
    assert dataset.to_table({"z": "c"})["z"].type == column.type
    dataset.delete("c = 'a'")
    assert dataset.to_table()["i"].to_pylist() == [1, 2, 3, 5]


def test_a_type_without_a_hash_has_conditions_on_and_beside_it(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point())
    data = pa.table({"i": range(ROWS), "p": _flat()["point"]})
    dataset = lance.write_dataset(data, str(tmp_path / "table"))
    for _ in range(2):
        assert dataset.count_rows("i > 2 AND p = 1") == 2
    assert dataset.count_rows(pc.field("i") > 2) == 3
    assert dataset.to_table({"q": "p", "j": "i + 1"})["q"].type == Point()
    assert dataset.get_fragments()[0].delete("i = 0") is not None
    dataset.delete("p IS NULL OR i = 5")
    assert dataset.to_table()["i"].to_pylist() == [0, 2, 3, 4]


def test_conditions_are_kept_for_schemas_with_metadata(tmp_path: Path) -> None:
    data = pa.table({"i": range(3)}).replace_schema_metadata({"of": "the table"})
    dataset = lance.write_dataset(data, str(tmp_path / "table"))
    assert dataset.count_rows("i > 0") == 2
