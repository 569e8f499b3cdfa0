"""What the metadata of a field asks for."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from lance_core.encodings.v2_1.selection.options import FieldOptions
from lance_core.schema import Schema
from tests.each_case import each_case


def of(**keys: str) -> FieldOptions:
    return FieldOptions.of(
        {f"lance-encoding:{key.replace('_', '-')}": text for key, text in keys.items()}
    )


@each_case(
    ("key", "text", "name", "value"),
    [
        ("compression", "zstd", "compression", "zstd"),
        ("compression", "ZSTD", "compression", "ZSTD"),
        ("compression-level", "9", "level", 9),
        ("compression-level", "-5", "level", -5),
        ("compression-level", "+5", "level", 5),
        ("compression-level", " 5", "level", None),
        ("compression-level", "5.0", "level", None),
        ("compression-level", "1_0", "level", None),
        ("compression-level", "2147483648", "level", None),
        ("compression-level", "9" * 9000, "level", None),
        ("rle-threshold", "0.25", "rle_threshold", 0.25),
        ("rle-threshold", "1e-1", "rle_threshold", 0.1),
        ("rle-threshold", "some", "rle_threshold", None),
        ("rle-threshold", " 1", "rle_threshold", None),
        ("rle-threshold", "1_0", "rle_threshold", None),
        ("bss", "ON", "bss", "on"),
        ("bss", "perhaps", "bss", None),
        ("dict-divisor", "8", "dict_divisor", 8),
        ("dict-divisor", "0", "dict_divisor", 0),
        ("dict-divisor", "-1", "dict_divisor", None),
        ("dict-size-ratio", "2", "dict_size_ratio", 2.0),
        ("dict-values-compression", "lz4", "dict_values_compression", "lz4"),
        ("dict-values-compression-level", "3", "dict_values_level", 3),
        ("structural-encoding", "FullZip", "structural_encoding", "fullzip"),
        ("structural-encoding", "", "structural_encoding", ""),
        ("minichunk-size", "-1", "minichunk_size", -1),
        ("minichunk-size", "4k", "minichunk_size", None),
    ],
)
def test_a_key_is_understood_or_as_if_it_was_not_there(
    key: str, text: str, name: str, value: Any
) -> None:
    assert getattr(of(**{key: text}), name) == value


def test_without_keys_nothing_is_asked_for() -> None:
    assert FieldOptions.of({"other": "value"}) == FieldOptions()


def test_a_threshold_may_be_no_number() -> None:
    threshold = of(rle_threshold="nan").rle_threshold
    assert threshold is not None
    assert math.isnan(threshold)


def test_the_structure_is_asked_for_by_the_column_and_the_rest_by_its_leaves() -> None:
    keys = {"lance-encoding:structural-encoding": "fullzip", "lance-encoding:compression": "zstd"}
    other = {"lance-encoding:structural-encoding": "miniblock", "lance-encoding:bss": "on"}
    leaf = pa.field("a", pa.int64(), metadata=other)
    top = pa.field("x", pa.list_(pa.field("item", pa.struct([leaf]))), metadata=keys)
    (field,) = Schema.from_arrow(pa.schema([top])).fields
    options = FieldOptions.of_leaf(field.children[0].children[0], field)
    assert options == FieldOptions(structural_encoding="fullzip", bss="on")


def test_children_of_packed_structs_ask_for_themselves() -> None:
    child = pa.field("a", pa.string(), metadata={"lance-encoding:compression": "zstd"})
    top = pa.field("x", pa.struct([child]), metadata={"lance-encoding:packed": "true"})
    (field,) = Schema.from_arrow(pa.schema([top])).fields
    options = FieldOptions.of_leaf(field, field)
    assert options.compression is None
    assert [own.compression for own in options.children] == ["zstd"]
