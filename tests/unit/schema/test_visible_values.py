"""Values that belong to no row are neither checked nor stored."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.schema.align import align_batch
from lance_core.schema.json.binary import decode
from lance_core.schema.tree import Schema
from tests.each_case import each_case


def json_array(texts: Sequence[str | None], storage: pa.DataType | None = None) -> pa.Array:
    storage = storage or pa.string()
    return pa.ExtensionArray.from_storage(pa.json_(storage), pa.array(texts, storage))


def validity(valid: list[bool]) -> pa.Buffer:
    return pa.array(valid).buffers()[1]


def lists(valid: list[bool], offsets: list[int], items: pa.Array, large: bool = False) -> pa.Array:
    kind = pa.large_list(items.type) if large else pa.list_(items.type)
    ends = pa.array(offsets, pa.int64() if large else pa.int32()).buffers()[1]
    return pa.Array.from_buffers(kind, len(valid), [validity(valid), ends], children=[items])


def struct(member: pa.Array, valid: list[bool]) -> pa.Array:
    mask = pa.array([not row for row in valid])
    return pa.StructArray.from_arrays([member], names=["f"], mask=mask)


def maps(valid: list[bool], offsets: list[int], items: pa.Array) -> pa.Array:
    keys = pa.array([str(number) for number in range(len(items))])
    fields = [pa.field("key", pa.string(), False), pa.field("value", items.type)]
    return pa.Array.from_buffers(
        pa.map_(pa.string(), items.type),
        len(valid),
        [validity(valid), pa.array(offsets, pa.int32()).buffers()[1]],
        children=[pa.StructArray.from_arrays([keys, items], fields=fields)],
    )


def fixed_size_lists(valid: list[bool], items: pa.Array) -> pa.Array:
    mask = pa.array([not row for row in valid])
    inner = pa.StructArray.from_arrays([items], names=["z"])
    return pa.FixedSizeListArray.from_arrays(inner, len(items) // len(valid), mask=mask)


MEMBERS = json_array(["[1]", "", "2", None])
ITEMS = json_array(["nope", "[1]", "{", "", "2", None, "nope"])
ARRAYS = {
    "struct": struct(MEMBERS, [True, False, True, True]),
    "sliced struct": struct(MEMBERS, [True, True, True, True]).slice(2, 1),
    "struct of texts as pa.array makes them": struct(
        pa.ExtensionArray.from_storage(
            pa.json_(), pa.array([{"f": "1"}, None], pa.struct([("f", pa.string())])).field(0)
        ),
        [True, False],
    ),
    "string views": struct(json_array(["1", "", None], pa.string_view()), [True, False, True]),
    "lists": lists([True, False, True], [1, 2, 4, 6], ITEMS),
    "sliced lists": lists([True, True, True], [0, 3, 4, 6], ITEMS).slice(2, 1),
    "large lists": lists([False, False, True], [0, 1, 4, 6], ITEMS, large=True),
    "no visible item": lists([False, True], [0, 6, 6], ITEMS),
    "lists of structs": lists([True, False], [0, 4, 4], struct(MEMBERS, [True, False, True, True])),
    "struct of lists": struct(lists([True, True, True], [1, 2, 4, 6], ITEMS), [True, False, True]),
    "maps": maps([True, False, True], [1, 2, 4, 6], ITEMS),
    "sliced maps": maps([True, True, True], [1, 2, 4, 6], ITEMS).slice(2, 1),
    "fixed size lists": fixed_size_lists([True, False], json_array(["1", "2", "", ""])),
    "sliced fixed size lists": fixed_size_lists([True, True], json_array(["", "", "[]", "2"]))[1:],
}


def aligned(array: pa.Array) -> pa.Array:
    batch = pa.record_batch({"c": array})
    return align_batch(batch, Schema.from_arrow(batch.schema)).column(0)


def as_text(value: object) -> object:
    """Binary JSON in Python values as text."""
    if isinstance(value, bytes):
        return decode(value)
    if isinstance(value, dict):
        return {name: as_text(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return (value[0], as_text(value[1])) if isinstance(value, tuple) else value


@each_case("array", ARRAYS.values(), ids=list(ARRAYS))
def test_text_that_no_row_has_is_no_json_to_check(array: pa.Array) -> None:
    assert as_text(aligned(array).to_pylist()) == array.to_pylist()


def test_hidden_text_is_stored_as_null() -> None:
    stored = aligned(struct(json_array(["1", "", "3"]), [True, False, False]))
    assert stored.field(0).is_valid().to_pylist() == [True, False, False]


@each_case(
    ("array", "row"),
    [
        (json_array(["1", None, "{"]), 2),
        (struct(json_array(["", "1", "{"]), [False, True, True]), 2),
        (lists([True, False, True], [1, 2, 4, 7], ITEMS), 2),
        (lists([True, True, True], [0, 3, 4, 7], ITEMS).slice(2), 0),
        (struct(lists([False, True], [0, 3, 7], ITEMS), [True, True]), 1),
        (maps([True, True], [1, 2, 4], ITEMS), 1),
        (fixed_size_lists([True, True, True], json_array(["1", "2", "3", "4", "5", ""])), 2),
        (fixed_size_lists([True, True], json_array(["", "", "1", ""])).slice(1), 0),
    ],
)
def test_visible_text_that_is_not_json_is_refused_with_its_row(array: pa.Array, row: int) -> None:
    with pytest.raises(InvalidInputError, match=f"field c.*, row {row} of its batch: not valid"):
        aligned(array)
