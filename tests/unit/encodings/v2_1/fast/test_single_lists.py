"""One row of a column with lists is what reading it with others gives."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa

from lance_core.encodings.decoding import RowRange
from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case
from tests.unit.encodings.v2_1.conftest import REGISTRY

ROWS = 3000
RNG = np.random.default_rng(5)
LENGTHS = [(2, None, 0, 9, 1, 30)[i % 6] if i % 701 else 2500 for i in range(ROWS)]
ENDS = np.cumsum([0, *(length or 0 for length in LENGTHS)])
ITEMS = int(ENDS[-1])


def lists(items: pa.Array) -> pa.Array:
    """Lists of which some are null, some empty and some in several chunks."""
    mask = pa.array([length is None for length in LENGTHS])
    return pa.ListArray.from_arrays(pa.array(ENDS, pa.int32()), items, mask=mask)


def repeated(values: list[object], type_: pa.DataType) -> pa.Array:
    return pa.array((values * (ITEMS // len(values) + 1))[:ITEMS], type_)


INTEGERS = pa.array(RNG.integers(0, 1 << 20, ITEMS))
NULLABLE = repeated([1, None, 3, 4, None, 7, 8], pa.int16())
WORDS = pa.array([f"{i * 7919 % 100_003}"[: i % 6] for i in range(ITEMS)])
LENGTHS_INSIDE = RNG.integers(0, 3, ITEMS)
INNER = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(LENGTHS_INSIDE)]), pa.int32())
ARRAYS = {
    "integers": lists(INTEGERS),
    "floats": lists(pa.array(RNG.random(ITEMS))),
    "with nulls": lists(NULLABLE),
    "booleans": lists(repeated([True, None, False], pa.bool_())),
    "decimals": lists(repeated([decimal.Decimal("1.5"), None], pa.decimal128(9, 2))),
    "words": lists(WORDS),
    "few words": lists(repeated(["a", "bb", None], pa.large_string())),
    "few integers": lists(repeated([1 << 40, None, 3, 1 << 50, -5, 7, 3, 3], pa.int64())),
    "few times": lists(repeated([1 << 40, 3, 1 << 50, 7, 3, 3], pa.timestamp("us"))),
    "dictionaries": lists(repeated(["a", "bb", None], pa.string()).dictionary_encode()),
    "vectors": lists(repeated([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2))),
    "one value": lists(repeated([7], pa.int64())),
    "structs": lists(pa.StructArray.from_arrays([INTEGERS, NULLABLE, WORDS], ["a", "b", "c"])),
    "lists of lists": lists(
        pa.ListArray.from_arrays(INNER, pa.array(np.arange(LENGTHS_INSIDE.sum())))
    ),
    "structs of lists": pa.StructArray.from_arrays(
        [lists(INTEGERS), lists(NULLABLE)], ["a", "b"], mask=pa.array(np.arange(ROWS) % 11 == 3)
    ),
}


def stored(array: pa.Array, version: str) -> StoredField:
    (field,) = Schema.from_arrow(pa.schema([pa.field("x", array.type)])).fields
    return StoredField.write(field, [array], REGISTRY, FileVersion(version))


@each_case("version", ["2.1", "2.2"])
@each_case("name", ARRAYS)
def test_single_rows_are_those_that_were_written(name: str, version: str) -> None:
    array = ARRAYS[name]
    field = stored(array, version)
    for row in [*range(12), 700, 701, 702, *range(703, ROWS, 97), ROWS - 1]:
        (found,) = field.read(RowRange(row, row + 1))
        found.validate(full=True)
        assert found.to_pylist() == array[row : row + 1].to_pylist(), row


@each_case("name", ["integers", "few integers", "words", "structs"])
def test_a_row_of_damaged_chunks_is_a_typed_error_or_a_list(name: str) -> None:
    field = stored(ARRAYS[name], "2.2")
    whole = field.data
    chunks = field.columns[0].pages[0].buffers[1]
    for number in range(0, 400, 11):
        data = bytearray(whole)
        data[chunks.start + number] ^= 0xFF
        field.data = bytes(data)
        for row in (0, 3, 20, 50):
            try:
                (found,) = field.read(RowRange(row, row + 1))
            except LanceError:
                continue
            found.validate()
            assert len(found) == 1
