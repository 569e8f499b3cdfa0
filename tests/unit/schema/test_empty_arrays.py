"""Arrays and tables without rows, of types that Arrow's own constructors do not know."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lance_core.schema.empty_arrays import empty_array, empty_batch, empty_table, null_scalar

_PLAIN = [
    pa.null(),
    pa.bool_(),
    pa.float16(),
    pa.string(),
    pa.large_binary(),
    pa.string_view(),
    pa.binary(3),
    pa.decimal128(5, 2),
    pa.decimal256(50, 2),
    pa.timestamp("us", "UTC"),
    pa.duration("s"),
    pa.uuid(),
    pa.json_(),
    pa.bool8(),
    pa.fixed_shape_tensor(pa.float32(), [2]),
    pa.dictionary(pa.int8(), pa.large_string()),
    pa.dictionary(pa.int16(), pa.large_binary()),
    pa.dictionary(pa.int16(), pa.timestamp("us")),
]


def _nested(type_: pa.DataType) -> Iterator[pa.DataType]:
    yield type_
    yield pa.list_(type_)
    yield pa.large_list(type_)
    yield pa.list_(type_, 2)
    yield pa.struct([("x", pa.list_(type_))])
    yield pa.map_(pa.string(), type_)


def test_every_type_has_an_empty_array_a_null_and_a_column_without_rows() -> None:
    types = [nested for type_ in _PLAIN for nested in _nested(type_)]
    for type_ in types:
        array = empty_array(type_)
        array.validate(full=True)
        assert (array.type, len(array)) == (type_, 0)
        assert null_scalar(type_).type == type_
        assert not null_scalar(type_).is_valid
    fields = [pa.field(f"c{i}", type_) for i, type_ in enumerate(types)]
    schema = pa.schema(fields, metadata={"of": "the table"})
    table = empty_table(schema)
    table.validate(full=True)
    assert table.schema.equals(schema, check_metadata=True)
    assert table.num_rows == 0
    assert {column.num_chunks for column in table.columns} == {1}
    batch = empty_batch(schema)
    batch.validate(full=True)
    assert batch.schema.equals(schema, check_metadata=True)
    assert batch.num_rows == 0


def test_fields_that_are_never_null_have_an_empty_column() -> None:
    members = pa.struct([pa.field("x", pa.list_(pa.uuid()), nullable=False)])
    schema = pa.schema([pa.field("s", members, nullable=False)])
    table = empty_table(schema)
    table.validate(full=True)
    assert table.schema == schema
