"""Tables of file version 0.1: pylance and this project write them, each reads the other's."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import lance as theirs
import numpy as np
import pyarrow as pa
import pytest

import lance_core as ours
from lance_core._pb.file_pb2 import Metadata
from lance_core._pb.table_pb2 import Manifest
from lance_core.errors import SchemaMismatchError, UnsupportedFeatureError
from tests.interop.columns import NULLS, VALUES, same, table_of_most
from tests.interop.legacy_values import as_read

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LEGACY: dict[str, Any] = {"data_storage_version": "legacy"}
GROUPS = list(zip(NULLS, (1024, 7, 7, 7), strict=True))
WITHOUT_DICTIONARIES = [name for name in VALUES if "dictionary" not in name]


def everything(which: str) -> pa.Table:
    """Every type in every shape; rows without any make no fragment, so some are there."""
    table = table_of_most(which)
    if which != "no rows":
        return table
    names = [name for name in table.column_names if "dictionary" not in name]
    return table.select(names)


@pytest.mark.parametrize(("which", "group"), GROUPS)
def test_tables_of_pylance_are_read_as_pylance_reads_them(
    tmp_path: Path, which: str, group: int
) -> None:
    theirs.write_dataset(everything(which), tmp_path, max_rows_per_group=group, **LEGACY)
    table, expected = ours.dataset(tmp_path), theirs.dataset(tmp_path).to_table()
    same(table.to_table(), expected)
    if len(expected) == 0:
        return
    rows = [59, 0, 33, 34, 35, 34, 8]
    same(table.take(rows), expected.take(rows))
    same(table.to_table(limit=11, offset=20), expected.slice(20, 11))


@pytest.mark.parametrize(("which", "group"), GROUPS)
def test_our_tables_are_read_by_pylance(tmp_path: Path, which: str, group: int) -> None:
    table = everything(which)
    ours.write_dataset(table, tmp_path, max_rows_per_group=group, max_rows_per_file=25, **LEGACY)
    found = ours.dataset(tmp_path).to_table()
    assert theirs.dataset(tmp_path).data_storage_version == "0.1"
    same(found, theirs.dataset(tmp_path).to_table())
    expected = as_read(table)
    different = [name for name in expected if found[name].to_pylist() != expected[name]]
    assert different == []


def parsed(folder: Path) -> tuple[bytes, Metadata, Manifest]:
    """The bytes of the only data file before the schema, its metadata, its schema."""
    (path,) = (folder / "data").iterdir()
    data = path.read_bytes()
    position, major, minor = struct.unpack("<QHH", data[-16:-4])
    assert (major, minor) == (0, 2)
    metadata = Metadata.FromString(block(data, position))
    start = metadata.manifest_position
    return data[:start], metadata, Manifest.FromString(block(data, start))


def block(data: bytes, position: int) -> bytes:
    (length,) = struct.unpack_from("<I", data, position)
    return data[position + 4 : position + 4 + length]


LONG = [
    "a" * 64,
    "b" * 65,
    "c" * 200,
    "ä" * 40,
    "\U0010ffff" * 20,
    "z" * 63 + "ä",
    "",
    "e\x7f" * 40,
]
STATISTICS: dict[str, pa.Array] = {
    **{name: VALUES[name] for name in WITHOUT_DICTIONARIES},
    "zeros": pa.array([0.0, -0.0]),
    "NaN": pa.array([float("nan"), None, 3.5, -0.0, float("nan")], pa.float32()),
    "only NaN": pa.array([float("nan"), None]),
    "infinite": pa.array([np.inf, np.inf, -np.inf]),
    "long strings": pa.array(LONG),
    "long large strings": pa.array(LONG, pa.large_string()),
    "long bytes": pa.array([b"\xff" * 64, b"\xff" * 65, b"a\xff" * 40, b"b" * 64, b""]),
    "long large bytes": pa.array([b"a\xff" * 40, b"b" * 64, None], pa.large_binary()),
    "decimal of nulls": pa.array([None, None], pa.decimal128(5, 1)),
    "true": pa.array([True, None]),
    "null bool": pa.array([None], pa.bool_()),
    "null string": pa.array([None], pa.string()),
    "null int": pa.array([None], pa.int16()),
    "null date": pa.array([None], pa.date64()),
    "non-null": pa.array([1, 2]),
}


@pytest.mark.parametrize("rows", [1, 3, 50])
def test_data_files_are_those_of_pylance_byte_for_byte(tmp_path: Path, rows: int) -> None:
    """Pages, statistics and dictionaries; the schema differs in who wrote it."""
    columns = {}
    for name, values in STATISTICS.items():
        array = values.take(pa.array(np.arange(rows) % len(values)))
        columns[name.replace(".", "")] = array
        wrapped = pa.StructArray.from_arrays([array], ["inner"])
        columns[f"struct {name}".replace(".", "")] = wrapped
    columns["dictionary"] = (
        pa.array(["x", "y", None])[:rows].dictionary_encode().take(pa.array(np.arange(rows) % 2))
    )
    columns["list"] = pa.array([[row] * (row % 3) for row in range(rows)])
    fields = [pa.field(name, a.type, name != "non-null") for name, a in columns.items()]
    table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
    for writer, name in ((theirs, "theirs"), (ours, "ours")):
        writer.write_dataset(table, tmp_path / name, max_rows_per_group=20, **LEGACY)
    pages, metadata, schema = parsed(tmp_path / "theirs")
    mine, my_metadata, my_schema = parsed(tmp_path / "ours")
    assert list(my_schema.fields) == list(schema.fields)
    assert my_metadata.statistics.schema == metadata.statistics.schema
    assert my_metadata == metadata
    assert mine == pages


def test_a_string_that_is_higher_than_the_cut_ones_is_within_its_bound(tmp_path: Path) -> None:
    """pylance cuts all strings before it compares them, and may not find the highest one."""
    high, low = "x" * 63 + "é" * 9, "x" * 63 + "z" * 9
    assert high > low
    for writer, name in ((theirs, "theirs"), (ours, "ours")):
        writer.write_dataset(pa.table({"s": [low, high]}), tmp_path / name, **LEGACY)
        found = ours.dataset(tmp_path / name).to_table(filter=f"s = '{high}'")
        assert found["s"].to_pylist() == [high]


@pytest.mark.parametrize("first", [theirs, ours], ids=["theirs", "ours"])
def test_appends_deletes_and_overwrites_alternate(tmp_path: Path, first: Any) -> None:
    second = ours if first is theirs else theirs

    def rows(start: int, stop: int) -> pa.Table:
        keys = pa.array(range(start, stop), pa.int64())
        words = pa.array([f"w{key % 3}" for key in range(stop)]).dictionary_encode()
        return pa.table({"key": keys, "word": words.slice(start), "s": keys.cast(pa.string())})

    first.write_dataset(rows(0, 40), tmp_path, max_rows_per_group=9, **LEGACY)
    for number in range(1, 5):
        writer = (first, second)[number % 2]
        writer.write_dataset(rows(40 * number, 40 * number + 40), tmp_path, mode="append")
        writer.dataset(tmp_path).delete(f"key % 11 = {number} OR s = '{40 * number}'")
        for reader in (first, second):
            assert reader.dataset(tmp_path).count_rows() == len(ours.dataset(tmp_path).to_table())
        same(ours.dataset(tmp_path).to_table(), theirs.dataset(tmp_path).to_table())
    found = ours.dataset(tmp_path).to_table()
    assert found["word"].to_pylist() == [f"w{key % 3}" for key in found["key"].to_pylist()]
    second.write_dataset(rows(3, 5), tmp_path, mode="overwrite")
    assert theirs.dataset(tmp_path).data_storage_version == "0.1"
    same(ours.dataset(tmp_path).to_table(), theirs.dataset(tmp_path).to_table())


def test_columns_that_pylance_adds_changes_and_drops_are_read(tmp_path: Path) -> None:
    """A fragment then has several files; their ids begin anywhere, and some are not used."""
    keys = range(50)
    table = pa.table({"a": keys, "s": [f"s{k}" for k in keys], "t": [{"x": k} for k in keys]})
    theirs.write_dataset(table, tmp_path, max_rows_per_group=8, max_rows_per_file=30, **LEGACY)
    steps = [
        lambda table: table.add_columns({"twice": "a * 2"}),
        lambda table: table.alter_columns({"path": "a", "data_type": pa.int32()}),
        lambda table: table.drop_columns(["s"]),
        lambda table: table.update({"twice": "7"}, where="a > 40"),
        lambda table: table.optimize.compact_files(target_rows_per_fragment=1000),
    ]
    for step in steps:
        step(theirs.dataset(tmp_path))
        table = ours.dataset(tmp_path)
        same(table.to_table(), theirs.dataset(tmp_path).to_table())
        assert table.to_table(filter="a = 41")["a"].to_pylist() == [41]
        assert table.count_rows("a >= 20 AND a < 22") == 2
    ours.write_dataset(table.to_table().slice(3, 5), tmp_path, mode="append")
    same(ours.dataset(tmp_path).to_table(), theirs.dataset(tmp_path).to_table())


def test_an_append_with_another_dictionary_is_refused_as_pylance_refuses_it(tmp_path: Path) -> None:
    words = pa.table({"d": pa.array(["a", "b"]).dictionary_encode()})
    others = pa.table({"d": pa.array(["a", "c"]).dictionary_encode()})
    ours.write_dataset(words, tmp_path, **LEGACY)
    with pytest.raises(OSError, match="dictionary for `d` did not match"):
        theirs.write_dataset(others, tmp_path, mode="append")
    with pytest.raises(SchemaMismatchError, match="dictionary of column 'd'"):
        ours.write_dataset(others, tmp_path, mode="append")
    assert ours.dataset(tmp_path).version == 1


DICTIONARY = pa.DictionaryArray.from_arrays
REFUSED: dict[str, pa.Array] = {
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
    "vector of structs": pa.array([[{"a": 1}]], pa.list_(pa.struct({"a": pa.int32()}), 1)),
    "vector of strings": pa.array([["a"]], pa.list_(pa.string(), 1)),
    "interval": pa.array([pa.MonthDayNano([1, 2, 3])]),
    "struct of nothing": pa.array([{}], pa.struct([])),
    "bytes of nothing": pa.array([b""], pa.binary(0)),
    "dictionary of bool": DICTIONARY(pa.array([0], pa.int8()), pa.array([True])),
    "dictionary of floats": DICTIONARY(pa.array([0], pa.int8()), pa.array([1.5])),
    "dictionary of nothing": pa.array([None], pa.string()).dictionary_encode(),
}


@pytest.mark.parametrize("array", REFUSED.values(), ids=REFUSED)
def test_types_that_pylance_does_not_store_either_are_refused(
    tmp_path: Path, array: pa.Array
) -> None:
    table = pa.table({"x": array})

    def exchange() -> None:
        theirs.write_dataset(table, tmp_path / "theirs", **LEGACY)
        theirs.dataset(tmp_path / "theirs").to_table()

    with pytest.raises(BaseException, match=r"\w"):  # some are panics
        exchange()
    with pytest.raises(UnsupportedFeatureError):
        ours.write_dataset(table, tmp_path / "ours", **LEGACY)


@pytest.mark.parametrize("versions", [("legacy", "2.0"), ("2.0", "legacy"), ("0.1", "2.1")])
def test_other_versions_are_not_appended(tmp_path: Path, versions: tuple[str, str]) -> None:
    table = pa.table({"x": [1]})
    ours.write_dataset(table, tmp_path, data_storage_version=versions[0])
    for writer in (theirs, ours):
        with pytest.raises((OSError, ValueError), match=r"mixed|cannot be appended"):
            writer.write_dataset(table, tmp_path, mode="append", data_storage_version=versions[1])


def test_rows_without_a_column_are_refused_as_pylance_refuses_them(tmp_path: Path) -> None:
    ours.write_dataset(pa.table({"x": [1], "y": [2]}), tmp_path, **LEGACY)
    with pytest.raises(OSError, match="does not contain field"):
        theirs.write_dataset(pa.table({"x": [1]}), tmp_path, mode="append")
    with pytest.raises(SchemaMismatchError, match="field y is missing"):
        ours.write_dataset(pa.table({"x": [1]}), tmp_path, mode="append")


FILTERS = [
    *("key < 7", "key BETWEEN 20 AND 31", "key IN (3, 33, 58)", "NOT key > 2"),
    *("text = 'w7'", "text IS NULL", "text LIKE 'w5%'", "text > 'w6' AND key < 40"),
    *("real < -1", "real >= 0.5 OR key = 0", "flag", "flag = false AND key > 50"),
]


@pytest.mark.parametrize("condition", FILTERS)
def test_filters_have_the_result_that_pylance_has(tmp_path: Path, condition: str) -> None:
    """Of values that are not null: pylance takes the rows of a batch of nulls for its bounds."""
    keys = np.arange(60)
    table = pa.table(
        {
            "key": keys,
            "text": [None if key % 9 == 4 else f"w{key}" for key in keys],
            "real": np.sin(keys) * 3,
            "flag": keys > 30,
        }
    )
    theirs.write_dataset(table, tmp_path, max_rows_per_group=10, **LEGACY)
    expected = theirs.dataset(tmp_path).to_table(filter=condition)
    same(ours.dataset(tmp_path).to_table(filter=condition), expected)
