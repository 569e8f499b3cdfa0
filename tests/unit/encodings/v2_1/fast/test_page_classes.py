"""Pages whose encodings alternate are decoded by encoding, and their values are in order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.v2_1.fast import page_classes
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.unit.encodings.v2_1.conftest import REGISTRY

PAGE = 40
PAGES = 24


def pages(type_: pa.DataType) -> list[pa.Array]:
    """Pages of which no two neighbours have the same encoding."""
    found = []
    for number in range(PAGES):
        values: list[int | None] = [(i * 7919 + number) % 100 for i in range(PAGE)]
        if number % 4 == 1:
            values[3] = values[17] = None
        if number % 4 == 2:
            values = [number] * PAGE
        if number % 4 == 3:
            values = [None] * PAGE
        is_text = pa.types.is_string(type_)
        texts = [value if value is None or not is_text else f"v{value}" for value in values]
        found.append(pa.array(texts, type_))
    return found


TYPES = [pa.int32(), pa.float64(), pa.string(), pa.decimal128(9, 2)]
NESTED = [
    pa.list_(pa.int32()),
    pa.large_list(pa.string()),
    pa.list_(pa.list_(pa.int16())),
    pa.struct({"a": pa.int32(), "b": pa.string(), "c": pa.list_(pa.int8())}),
    pa.list_(pa.struct({"a": pa.int32(), "b": pa.bool_()})),
    pa.list_(pa.float32(), 3),
]


def nested_value(type_: pa.DataType, number: int, has_nulls: bool) -> object:
    """A value of ``type_``; its nulls, if there are some, are in parts of it, too."""
    if has_nulls and number % 5 == 3:
        return None
    if pa.types.is_struct(type_):
        return {part.name: nested_value(part.type, number + 1, has_nulls) for part in type_}
    if type_.num_fields:
        size = type_.list_size if pa.types.is_fixed_size_list(type_) else number % 4
        return [nested_value(type_.value_type, number + n, has_nulls) for n in range(size)]
    value = number * 7919 % 100
    return (
        f"v{value}"
        if pa.types.is_string(type_)
        else bool(value % 2)
        if pa.types.is_boolean(type_)
        else value
    )


def nested_pages(type_: pa.DataType) -> list[pa.Array]:
    """Pages of three kinds: without nulls, with some, and with nulls only."""
    return [
        pa.array(
            [
                None if page % 7 == 6 else nested_value(type_, page * PAGE + row, page % 2 == 1)
                for row in range(PAGE)
            ],
            type_,
        )
        for page in range(PAGES)
    ]


WANTED = [
    RowRange(0, PAGES * PAGE),
    RowRange(45, PAGES * PAGE - 3),
    RowIndices(np.flatnonzero(np.arange(PAGES * PAGE) % 3)),
    RowIndices(np.flatnonzero(np.arange(PAGES * PAGE) % 37 == 5)),
    RowIndices(np.array([*range(30, 600), 700, 959])),
]


def stored(type_: pa.DataType, version: str) -> StoredField:
    return written(pages(type_), version)


def written(parts: list[pa.Array], version: str) -> StoredField:
    (field,) = Schema.from_arrow(pa.schema([pa.field("x", parts[0].type)])).fields
    return StoredField.write(field, parts, REGISTRY, FileVersion(version), flush_bytes=1)


@each_case("rows", WANTED, ids=range(len(WANTED)))
@each_case("version", ["2.1", "2.2"])
@each_case("type_", TYPES + NESTED, ids=str)
def test_values_are_those_that_were_written(
    type_: pa.DataType, version: str, rows: RowRange | RowIndices
) -> None:
    parts = (pages if type_ in TYPES else nested_pages)(type_)
    field, whole = written(parts, version), pa.concat_arrays(parts)
    assert len(PageArrays.of(field.columns[0].pages).encodings) > 1
    for _ in range(2):
        found = pa.concat_arrays(field.read(rows))
        found.validate(full=True)
        assert found.equals(whole.take(pa.array(rows.numbers)))


@pytest.mark.parametrize(
    "value",
    [pa.scalar("one"), pa.scalar(b"1" * 40, pa.binary(40)), pa.scalar(1)],
    ids=["text", "long bytes", "number"],
)
@pytest.mark.parametrize("rows", WANTED[:2], ids=range(2))
def test_a_page_of_one_value_and_nulls_is_no_page_of_nulls(
    value: pa.Scalar, rows: RowRange
) -> None:
    whole = pa.array(
        [value.as_py() if n // PAGE % 2 and n % 3 else None for n in range(PAGES * PAGE)],
        value.type,
    )
    parts = [whole.slice(start, PAGE) for start in range(0, len(whole), PAGE)]
    found = written(parts, "2.2").read(rows)
    assert pa.concat_arrays(found).equals(whole[rows.start : rows.stop])


@pytest.mark.fast_path
def test_all_pages_of_an_encoding_are_read_in_one_round() -> None:
    field = stored(pa.int32(), "2.2")
    assert len(field.read(RowRange(0, PAGES * PAGE))) == 1
    assert field.asked == 1


def test_large_pages_are_not_copied_into_order(monkeypatch: pytest.MonkeyPatch) -> None:
    field, rows = stored(pa.int32(), "2.2"), RowRange(0, PAGES * PAGE)
    expected = pa.concat_arrays(field.read(rows))
    monkeypatch.setattr(page_classes, "MAX_PAGE_ROWS", PAGE - 1)
    found = field.read(rows)
    assert len(found) > 1
    assert pa.concat_arrays(found).equals(expected)


@pytest.mark.parametrize("column", [0, 1])
def test_damage_names_the_page_that_has_it(column: int) -> None:
    type_ = pa.struct({"a": pa.int64(), "b": pa.int32()})
    field = written(nested_pages(type_), "2.2") if column else stored(pa.int32(), "2.2")
    page = field.columns[column].pages[8]
    data = bytearray(field.data)
    damaged = page.buffers[0]
    data[damaged.start : damaged.stop] = b"\xff" * damaged.length
    field.data = bytes(data)
    with pytest.raises(CorruptFileError) as raised:
        field.read(RowRange(0, PAGES * PAGE))
    assert raised.value.offset == damaged.start
