"""How many rows are decoded at once."""

from __future__ import annotations

import pyarrow as pa

from lance_core.datafile.binary_copy.joined_pages import value_bytes
from lance_core.schema import Schema
from tests.each_case import each_case


@each_case(
    "kind, expected",
    [
        (pa.int64(), 8),
        (pa.int8(), 1),
        (pa.bool_(), 1),
        (pa.decimal128(9, 2), 16),
        (pa.binary(12), 12),
        (pa.string(), 16),
        (pa.list_(pa.int8()), 16),
    ],
)
def test_a_value_is_assumed_to_have_the_bytes_of_its_type(kind: pa.DataType, expected: int) -> None:
    (field,) = Schema.from_arrow(pa.schema({"a": kind})).fields
    assert value_bytes(field) == expected
