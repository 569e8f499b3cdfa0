"""Logical types as text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.schema.logical_type import (
    encoding_of,
    logical_type_of,
    storage_type_of,
    without_views,
)
from tests.each_case import each_case

TEXTS = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "uint8": pa.uint8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "fixed_size_binary:5": pa.binary(5),
    "fixed_size_binary:0": pa.binary(0),
    "date32:day": pa.date32(),
    "date64:ms": pa.date64(),
    "time32:s": pa.time32("s"),
    "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"),
    "time64:ns": pa.time64("ns"),
    "timestamp:s:-": pa.timestamp("s"),
    "timestamp:us:UTC": pa.timestamp("us", "UTC"),
    "timestamp:ns:+01:00": pa.timestamp("ns", "+01:00"),
    "timestamp:ms:America/New_York": pa.timestamp("ms", "America/New_York"),
    "duration:s": pa.duration("s"),
    "duration:ms": pa.duration("ms"),
    "duration:us": pa.duration("us"),
    "duration:ns": pa.duration("ns"),
    "decimal:128:5:2": pa.decimal128(5, 2),
    "decimal:128:38:-2": pa.decimal128(38, -2),
    "decimal:256:76:10": pa.decimal256(76, 10),
    "dict:string:int8:false": pa.dictionary(pa.int8(), pa.string()),
    "dict:int64:uint32:false": pa.dictionary(pa.uint32(), pa.int64()),
    "dict:large_binary:int64:false": pa.dictionary(pa.int64(), pa.large_binary()),
}


@each_case(("text", "arrow"), TEXTS.items())
def test_text_and_type_are_the_same_thing(text: str, arrow: pa.DataType) -> None:
    assert logical_type_of(arrow) == text
    assert storage_type_of(text) == arrow


def test_json_and_bfloat16_are_stored_as_binary() -> None:
    assert storage_type_of("json") == pa.large_binary()
    assert storage_type_of("fixed_size_list:lance.bfloat16:4") == pa.list_(pa.binary(2), 4)


@each_case(
    ("text", "arrow"),
    [
        ("fixed_size_list:float:4", pa.list_(pa.float32(), 4)),
        ("fixed_size_list:fixed_size_list:int8:2:3", pa.list_(pa.list_(pa.int8(), 2), 3)),
        ("fixed_size_list:timestamp:us:+01:00:2", pa.list_(pa.timestamp("us", "+01:00"), 2)),
        ("fixed_size_list:decimal:128:4:1:2", pa.list_(pa.decimal128(4, 1), 2)),
        ("fixed_size_list:float:2147483647", pa.list_(pa.float32(), 2**31 - 1)),
    ],
)
def test_a_fixed_size_list_names_its_item_type_first(text: str, arrow: pa.DataType) -> None:
    assert storage_type_of(text) == arrow


@each_case(
    "text",
    [
        "fixed_size_list:float:0",
        "fixed_size_list:float:-1",
        "fixed_size_list:float:2147483648",
        "fixed_size_list:float:99999999999999999999",
        "fixed_size_list:float:x",
        "fixed_size_list:float",
        "fixed_size_list:",
        "fixed_size_list",
        "fixed_size_binary:-1",
        "fixed_size_binary:",
        "fixed_size_binary:1_0",
        "fixed_size_binary:٣",
        "timestamp:us",
        "timestamp:min:-",
        "timestamp:",
        "decimal:128:39:0",
        "decimal:128:0:0",
        "decimal:256:77:0",
        "decimal:128:5:128",
        "decimal:128:5",
        "dict:string:float:false",
        "dict:string:int8:perhaps",
        "dict:string",
    ],
)
def test_impossible_parameters_are_corruption(text: str) -> None:
    with pytest.raises(CorruptFileError):
        storage_type_of(text)


@each_case(
    "text",
    [
        "",
        "int128",
        "INT8",
        "decimal:64:5:2",
        "dict:timestamp:s:-:int8:false",
        "list_view",
        "time32:ns",
    ],
)
def test_unknown_types_are_not_supported(text: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        storage_type_of(text)


def test_endless_nesting_is_corruption() -> None:
    with pytest.raises(CorruptFileError):
        storage_type_of("fixed_size_list:" * 10_000 + "int8" + ":1" * 10_000)


@each_case(
    "arrow",
    [
        pa.month_day_nano_interval(),
        pa.decimal32(5, 2),
        pa.decimal64(5, 2),
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.dictionary(pa.int32(), pa.timestamp("s")),
        pa.dictionary(pa.int32(), pa.list_(pa.int8())),
        pa.timestamp("s", "-"),
    ],
    ids=str,
)
def test_types_without_a_text_have_none(arrow: pa.DataType) -> None:
    assert logical_type_of(arrow) is None


def test_views_and_order_are_not_remembered() -> None:
    assert logical_type_of(pa.string_view()) == "string"
    assert logical_type_of(pa.binary_view()) == "binary"
    ordered = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    assert logical_type_of(ordered) == "dict:string:int8:false"


@each_case(
    ("text", "encoding"),
    [
        *[(text, 0) for text in ("struct", "null")],
        *[(text, 1) for text in ("int8", "list", "map", "fixed_size_list:struct:2")],
        *[(text, 2) for text in ("string", "large_binary", "json")],
        ("dict:string:int8:false", 3),
    ],
)
def test_every_type_has_the_encoding_number_that_pylance_gives_it(text: str, encoding: int) -> None:
    assert encoding_of(text) == encoding


VIEW, BYTES = pa.string_view(), pa.binary_view()
NOT_NULL = pa.field("m", VIEW, nullable=False, metadata={"a": "b"})
PAIRS = [
    (VIEW, pa.string()),
    (BYTES, pa.binary()),
    (pa.int64(), pa.int64()),
    (pa.struct([NOT_NULL]), pa.struct([NOT_NULL.with_type(pa.string())])),
    (pa.list_(pa.list_(BYTES)), pa.list_(pa.list_(pa.binary()))),
    (pa.large_list(VIEW), pa.large_list(pa.string())),
    (pa.list_(VIEW, 2), pa.list_(pa.string(), 2)),
    (pa.map_(VIEW, BYTES, True), pa.map_(pa.string(), pa.binary(), True)),
    (pa.dictionary(pa.int8(), VIEW, True), pa.dictionary(pa.int8(), pa.string(), True)),
]


@each_case(("type_", "wanted"), PAIRS)
def test_views_become_plain_types_at_all_levels(type_: pa.DataType, wanted: pa.DataType) -> None:
    found = without_views(type_)
    assert found.equals(wanted, check_metadata=True)
