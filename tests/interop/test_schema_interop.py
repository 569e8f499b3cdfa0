"""Schemas as pylance writes and reads them."""

from __future__ import annotations

import itertools
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lance
import lance.schema
import pyarrow as pa
import pytest

import lance_core
from lance_core._pb import table_pb2
from lance_core.errors import InvalidInputError, LanceError, UnsupportedFeatureError
from lance_core.schema import (
    Schema,
    align_batch,
    append_schema,
    check_storable,
    encode_metadata,
    json_to_schema,
    schema_to_json,
    wrap,
)
from lance_core.schema.json.binary import decode
from lance_core.schema.json.encoding import encode
from tests.each_case import each_case
from tests.interop.differential.fields import Point, Tags

PRIMARY = "lance-schema:unenforced-primary-key"
CLUSTERING = "lance-schema:unenforced-clustering-key"
STRUCT = pa.struct([pa.field("a", pa.int32(), False), ("b", pa.struct([("c.d", pa.string())]))])

TYPES = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.uint8(),
    pa.int16(),
    pa.uint16(),
    pa.int32(),
    pa.uint32(),
    pa.int64(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.string_view(),
    pa.binary_view(),
    pa.binary(5),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *[
        pa.timestamp(unit, zone)
        for unit in ("s", "ns")
        for zone in (None, "UTC", "+01:00", "a:b c")
    ],
    *[pa.duration(unit) for unit in ("s", "ms", "us", "ns")],
    pa.decimal128(5, 2),
    pa.decimal128(5, -2),
    pa.decimal256(50, 2),
    pa.list_(pa.int32()),
    pa.list_(pa.field("x", pa.string(), False, metadata={"k": "v"})),
    pa.large_list(pa.list_(pa.int8())),
    pa.list_(STRUCT),
    pa.large_list(STRUCT),
    pa.list_(pa.float32(), 4),
    pa.list_(pa.field("x", pa.float32(), False, metadata={"k": "v"}), 4),
    pa.list_(pa.list_(pa.field("x", pa.float32(), False), 2), 3),
    pa.list_(pa.timestamp("us", "+01:00"), 2),
    pa.list_(pa.decimal128(4, 1), 2),
    pa.list_(pa.null(), 2),
    pa.list_(pa.uuid(), 2),
    pa.list_(pa.field("x", STRUCT, False, metadata={"k": "v"}), 2),
    STRUCT,
    pa.struct([]),
    pa.map_(pa.string(), pa.int32()),
    pa.map_(pa.string_view(), STRUCT),
    pa.map_(pa.field("k", pa.string(), False, metadata={"k": "v"}), pa.field("v", pa.int8())),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.int64()),
    pa.dictionary(pa.int64(), pa.bool_()),
    pa.dictionary(pa.int32(), pa.large_binary(), ordered=True),
    pa.dictionary(pa.int8(), pa.string_view()),
    pa.uuid(),
    pa.json_(),
    pa.json_(pa.large_string()),
    pa.bool8(),
    pa.fixed_shape_tensor(pa.float32(), [2, 3]),
    pa.opaque(pa.int32(), "t", "v"),
    pa.list_(pa.uuid()),
    pa.list_(pa.json_()),
    pa.struct([("j", pa.json_()), ("u", pa.uuid())]),
    *(Point(), Tags(), pa.list_(Tags()), pa.map_(pa.string(), Point())),
    *(pa.list_(Point()), pa.large_list(Point()), pa.list_(pa.list_(Point())), pa.list_(Point(), 2)),
]
if find_spec("pandas"):  # which pylance needs for this type
    from lance.arrow import BFloat16Type

    TYPES += [BFloat16Type(), pa.list_(BFloat16Type(), 2)]
MARKED = [
    pa.field("c", pa.int32(), False, metadata={PRIMARY: "true", "k": "v", "": "e"}),
    pa.field("c", pa.int32(), False, metadata={PRIMARY: "Yes", f"{PRIMARY}:position": "2"}),
    pa.field("c", pa.int32(), False, metadata={f"{PRIMARY}:position": "7"}),
    pa.field("c", pa.int32(), False, metadata={PRIMARY: "1", f"{PRIMARY}:position": "x"}),
    pa.field("c", pa.int32(), metadata={PRIMARY: "off"}),
    pa.field("c", pa.int32(), metadata={f"{CLUSTERING}:position": "3"}),
    pa.field("c", pa.struct([("x", pa.int8())]), metadata={f"{CLUSTERING}:position": "1"}),
    pa.field("c", pa.int32(), metadata={f"{CLUSTERING}:position": "-3"}),
    pa.field("c", pa.int32(), metadata={"ARROW:extension:name": "foo"}),
    pa.field("c", pa.large_binary(), metadata={"ARROW:extension:name": "lance.json"}),
    pa.field("c", pa.string(), metadata={"ARROW:extension:name": "arrow.json"}),
    pa.field("c", pa.int32(), metadata={"ARROW:extension:name": "lance.json"}),
    pa.field("c", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
    pa.field("c", pa.struct([("p", pa.int32())]), metadata={"packed": "true"}),
]
FIELDS = [*[pa.field("c", arrow) for arrow in TYPES], *MARKED]


def pylance_table(path: Path, schema: pa.Schema) -> lance.LanceDataset:
    reader = pa.RecordBatchReader.from_batches(schema, [])
    return lance.write_dataset(reader, str(path), data_storage_version="2.0")


def manifest_of(path: Path) -> table_pb2.Manifest:
    (file,) = path.glob("_versions/*.manifest")
    data = file.read_bytes()
    (start,) = struct.unpack("<Q", data[-16:-8])
    (length,) = struct.unpack("<I", data[start : start + 4])
    return table_pb2.Manifest.FromString(data[start + 4 : start + 4 + length])


def write_manifest(path: Path, schema: Schema) -> None:
    """A table without rows, written by hand."""
    manifest = table_pb2.Manifest(version=1, fields=schema.to_proto())
    for key, value in encode_metadata(schema.metadata).items():
        manifest.schema_metadata[key] = value
    manifest.data_format.file_format, manifest.data_format.version = "lance", "2.0"
    data = manifest.SerializeToString()
    (path / "_versions").mkdir(parents=True)
    tail = struct.pack("<QHH", 0, 0, 2) + b"LANC"
    framed = struct.pack("<I", len(data)) + data + tail
    (path / "_versions" / "1.manifest").write_bytes(framed)


@each_case("field", FIELDS, ids=str)
def test_the_fields_of_a_manifest_are_those_that_pylance_writes(
    tmp_path: Path, field: pa.Field
) -> None:
    before, after = pa.field("a", pa.int8()), pa.field("z", pa.list_(pa.int8()))
    arrow = pa.schema([before, field, after], metadata={"k": "v"})
    table = pylance_table(tmp_path / "t", arrow)
    manifest = manifest_of(tmp_path / "t")
    read = Schema.from_proto(manifest.fields, manifest.schema_metadata)
    assert read.to_proto() == list(manifest.fields)
    if pa.types.is_dictionary(field.type):
        # For want of rows pylance leaves it out; with rows it is there, and old releases need it.
        manifest.fields[1].dictionary.SetInParent()
    assert Schema.from_arrow(arrow).to_proto() == list(manifest.fields)
    assert read.to_arrow().equals(table.schema, check_metadata=True)


def test_lists_of_extension_types_of_structs_are_exchanged(tmp_path: Path) -> None:
    point = Point()
    points = pa.array([{"x": 1.0, "label": "a"}, None, {"x": None, "label": ""}, None])
    values = pa.ExtensionArray.from_storage(point, points.cast(point.storage_type))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1, 4], pa.int32()), values)
    vectors = pa.FixedSizeListArray.from_arrays(values, 2)
    libraries: tuple[Any, ...] = (lance, lance_core)
    for column in (lists, vectors):
        data = pa.table({"c": column})
        for first, then in itertools.permutations(libraries):
            uri = str(tmp_path / f"{first.__name__} {len(column)}")
            first.write_dataset(data, uri, data_storage_version="2.2")
            then.write_dataset(data, uri, mode="append")
            for library in libraries:
                table = library.dataset(uri)
                assert table.schema == data.schema
                assert table.to_table()["c"].to_pylist() == 2 * column.to_pylist()


@each_case("field", FIELDS, ids=str)
def test_pylance_opens_a_manifest_with_our_fields(tmp_path: Path, field: pa.Field) -> None:
    schema = Schema.from_arrow(pa.schema([field], metadata={"k": "v"}), first_id=4)
    write_manifest(tmp_path / "t", schema)
    seen = lance.dataset(str(tmp_path / "t")).schema
    assert seen.equals(schema.to_arrow(), check_metadata=True)


@each_case(
    "fields",
    [
        [("c", pa.month_day_nano_interval())],
        [("c", pa.decimal32(5, 2))],
        [("c", pa.decimal64(5, 2))],
        [("c", pa.list_view(pa.int8()))],
        [("c", pa.large_list_view(pa.int8()))],
        [("c", pa.run_end_encoded(pa.int32(), pa.string()))],
        [("c", pa.dense_union([pa.field("a", pa.int32())]))],
        [("c", pa.map_(pa.string(), pa.int8(), keys_sorted=True))],
        [("c", pa.list_(pa.float32(), 0))],
        [("c", pa.list_(pa.list_(pa.int8()), 2))],
        [("c", pa.list_(pa.list_(pa.struct([("a", pa.int8())]), 3), 2))],
        [("c", pa.list_(pa.map_(pa.int8(), pa.int8()), 2))],
        [("c", pa.dictionary(pa.int32(), pa.timestamp("s")))],
        [("c", pa.dictionary(pa.int32(), pa.binary(3)))],
        [("c", pa.dictionary(pa.int8(), pa.dictionary(pa.int8(), pa.string())))],
        [("c", pa.int8()), ("c", pa.int8())],
        [("a.b", pa.int8())],
        [("_rowid", pa.int8())],
        [("_rowaddr", pa.int8())],
        [("_rowoffset", pa.int8())],
        [("_row_created_at_version", pa.int8())],
        [("_row_last_updated_at_version", pa.int8())],
        [pa.field("c", pa.int8(), metadata={PRIMARY: "true"})],
        [pa.field("c", pa.list_(pa.field("x", pa.int8(), False, metadata={PRIMARY: "1"})), False)],
    ],
    ids=str,
)
def test_what_pylance_refuses_is_refused(tmp_path: Path, fields: list[pa.Field]) -> None:
    arrow = pa.schema(fields)
    with pytest.raises((OSError, ValueError)):
        pylance_table(tmp_path / "t", arrow)
    with pytest.raises((InvalidInputError, UnsupportedFeatureError)):
        check_storable(Schema.from_arrow(arrow), "2.0")


def column(values: list[object], arrow: pa.DataType, nullable: bool = True) -> pa.Table:
    schema = pa.schema([pa.field("c", arrow, nullable)])
    return pa.Table.from_arrays([pa.array(values, arrow)], schema=schema)


def both(values: list[object], table: pa.DataType, data: pa.DataType) -> tuple[pa.Table, pa.Table]:
    return column(values, table), column(values, data)


def point(**types: pa.DataType) -> pa.DataType:
    return pa.struct(list(types.items()))


POINTS = [{"x": 1, "y": 2}]
AB = pa.table({"a": [1, 2], "b": ["x", "y"]})
APPENDS = {
    "same": (AB, AB),
    "reordered": (AB, AB.select(["b", "a"])),
    "missing nullable": (AB, AB.select(["a"])),
    "extra": (AB, AB.append_column("z", AB["a"])),
    "other case": (AB, AB.rename_columns(["A", "b"])),
    "required missing": (
        pa.Table.from_arrays(
            AB.columns, schema=pa.schema([pa.field("a", pa.int64(), False), ("b", pa.string())])
        ),
        AB.select(["b"]),
    ),
    "nullable into required": (column([1], pa.int8(), False), column([1], pa.int8())),
    "null into required": (column([1], pa.int8(), False), column([None], pa.int8())),
    "required into nullable": (column([1], pa.int8()), column([1], pa.int8(), False)),
    "wider integer": both([1], pa.int32(), pa.int64()),
    "large string": both(["a"], pa.string(), pa.large_string()),
    "string view": both(["a"], pa.string(), pa.string_view()),
    "dictionary into string": both(["a"], pa.string(), pa.dictionary(pa.int8(), pa.string())),
    "other dictionary keys": both(
        ["a"], pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.string())
    ),
    "other unit": both([1], pa.timestamp("us"), pa.timestamp("ns")),
    "other zone": both([1], pa.timestamp("us", "UTC"), pa.timestamp("us", "+00:00")),
    "other precision": both([1], pa.decimal128(5, 2), pa.decimal128(6, 2)),
    "null type": (column([1], pa.int8()), column([None], pa.null())),
    "storage into extension": both([b"a" * 16], pa.uuid(), pa.binary(16)),
    "extension into storage": both([b"a" * 16], pa.binary(16), pa.uuid()),
    "text into json": both(["{}"], pa.json_(), pa.string()),
    "json": both(["{}"], pa.json_(), pa.json_(pa.large_string())),
    "struct reordered": both(
        POINTS, point(x=pa.int8(), y=pa.int8()), point(y=pa.int8(), x=pa.int8())
    ),
    "struct member missing": both(POINTS, point(x=pa.int8(), y=pa.int8()), point(y=pa.int8())),
    "struct member extra": both(POINTS, point(x=pa.int8()), point(x=pa.int8(), y=pa.int8())),
    "struct in list reordered": both(
        [POINTS],
        pa.list_(point(x=pa.int8(), y=pa.int8())),
        pa.list_(point(y=pa.int8(), x=pa.int8())),
    ),
    "list item required": both(
        [[1]], pa.list_(pa.field("item", pa.int8(), False)), pa.list_(pa.int8())
    ),
    "list item null": (
        column([[1]], pa.list_(pa.field("item", pa.int8(), False))),
        column([[None]], pa.list_(pa.int8())),
    ),
    "large list": both([[1]], pa.list_(pa.int8()), pa.large_list(pa.int8())),
    "other dimension": (
        column([[1, 2]], pa.list_(pa.int8(), 2)),
        column([[1, 2, 3]], pa.list_(pa.int8(), 3)),
    ),
    "fixed size into list": both([[1]], pa.list_(pa.int8()), pa.list_(pa.int8(), 1)),
    "fixed size item name": both(
        [[1]], pa.list_(pa.int8(), 1), pa.list_(pa.field("x", pa.int8(), False), 1)
    ),
}


@each_case(("table", "data"), APPENDS.values(), ids=APPENDS.keys())
def test_an_append_is_refused_exactly_if_pylance_refuses_it(
    tmp_path: Path, table: pa.Table, data: pa.Table
) -> None:
    stored = lance.write_dataset(table, str(tmp_path / "t"), data_storage_version="2.0")
    schema = Schema.from_arrow(stored.schema)

    def ours() -> bool:
        try:
            part = append_schema(schema, data.schema)
            for batch in data.to_batches():
                align_batch(batch, part)
        except LanceError:
            return False
        return True

    def theirs() -> bool:
        try:
            lance.write_dataset(data, str(tmp_path / "t"), mode="append")
        except (OSError, ValueError):
            return False
        return True

    assert ours() == theirs()


JSON_TEXTS = [
    "null",
    "true",
    "-300",
    "18446744073709551616",
    "1.25e-7",
    '"é\\n\\ud83d\\ude00"',
    '[1,"a",null,[2.5,{}]]',
    '{"b":1,"a":{"é":[true]},"aa":[]}',
]


def test_binary_json_is_the_same_as_pylances(tmp_path: Path) -> None:
    texts = pa.array([*JSON_TEXTS, None], pa.json_())
    lance.write_dataset(pa.table({"j": texts}), str(tmp_path / "t"), data_storage_version="2.0")
    (file,) = tmp_path.glob("t/data/*.lance")
    (field,) = Schema.from_proto(manifest_of(tmp_path / "t").fields).fields
    raw = file.read_bytes()
    for text in JSON_TEXTS:
        assert encode(text) in raw
    seen = lance.dataset(str(tmp_path / "t")).to_table()["j"].to_pylist()
    stored = pa.array([encode(text) for text in JSON_TEXTS] + [None], pa.large_binary())
    assert wrap(stored, field).type == pa.json_()
    # Exponents have two digits in Python.
    assert [
        text and text.replace("e-07", "e-7") for text in wrap(stored, field).to_pylist()
    ] == seen
    # pylance reads a number that overflowed as null.
    assert decode(encode("1e400")) == "1e999"


@each_case(
    "arrow",
    [arrow for arrow in TYPES if not (pa.types.is_map(arrow) or "view" in str(arrow))],
    ids=str,
)
def test_schemas_as_json_are_the_same_as_pylances(arrow: pa.DataType) -> None:
    schema = pa.schema([pa.field("c", arrow, metadata={"k": "v"})], metadata={"m": "n"})
    theirs = lance.schema.schema_to_json(schema)
    assert schema_to_json(schema) == theirs
    assert json_to_schema(theirs).equals(lance.schema.json_to_schema(theirs), check_metadata=True)
