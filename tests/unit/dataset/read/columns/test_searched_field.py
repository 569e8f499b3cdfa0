"""Values of fields in structs and lists are one a row, in as many lists as are around them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.dataset.read.columns.searched_field import (
    SearchedField,
    lineage_of,
    searched_field,
    short_path,
)
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema
from tests.each_case import each_case

INNER = pa.struct({"x": pa.string(), "y": pa.int64()})
SCHEMA = Schema.from_arrow(
    pa.schema(
        {
            "a": pa.string(),
            "s": pa.struct({"l": pa.large_list(INNER)}),
            "d": pa.list_(pa.struct({"m": pa.list_(INNER)})),
            "p": pa.map_(pa.string(), INNER),
        }
    )
)


@each_case(
    "path, names, type_",
    [
        ("a", ("a",), pa.string()),
        ("s.l.x", ("s", "l"), pa.large_list(pa.string())),
        ("s.l.item.x", ("s", "l"), pa.large_list(pa.string())),
        ("d.m.y", ("d",), pa.list_(pa.list_(pa.int64()))),
    ],
)
def test_what_is_read_and_what_type_values_have(
    path: str, names: tuple[str, ...], type_: pa.DataType
) -> None:
    field = searched_field(SCHEMA, path)
    assert (field.names, field.type) == (names, type_)
    assert short_path(field.lineage) == path.replace(".item", "")
    assert lineage_of(SCHEMA, path) == field.lineage


@each_case("path, text", [("d.n", "d.n"), ("p.entries.value.x", "not a struct or a list")])
def test_other_paths_are_refused(path: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        searched_field(SCHEMA, path)


def test_nulls_and_slices_keep_their_rows() -> None:
    rows = [[{"m": [{"x": "a"}, None]}], None, [None, {"m": None}, {"m": [{"x": None}]}], []]
    field = SearchedField.of(searched_field(SCHEMA, "d.m.x").lineage)
    stored = pa.array(rows, field.read.storage_type)
    expected = [[["a", None]], None, [None, None, [None]], []]
    assert field.values(stored).to_pylist() == expected
    assert field.values(stored.slice(2, 2)).to_pylist() == expected[2:]
    assert field.values(stored).type == field.type
