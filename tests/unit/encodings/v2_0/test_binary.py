"""Values of variable width: every end is checked, whatever rows are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Binary, Buffer, Flat, Nullable
from lance_core.encodings.decoding import RowIndices, RowRange, Rows
from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core_testing.encodings.stored_array import StoredArray
from lance_core_testing.encodings.stored_field import StoredField

Store = Callable[..., StoredField]

ROWS: list[Rows] = [
    RowRange(0, 4),
    RowRange(0, 3),
    RowRange(1, 4),
    RowRange(2, 3),
    RowIndices(np.array([0, 2])),
    RowIndices(np.array([1, 2, 3])),
]


def flat(bits: int, at: int) -> ArrayEncoding:
    return ArrayEncoding(flat=Flat(bits_per_value=bits, buffer=Buffer(buffer_index=at)))


def binary(ends: Sequence[int], data: bytes, adjustment: int, type_: pa.DataType) -> StoredArray:
    indices = ArrayEncoding(nullable=Nullable(no_nulls=Nullable.NoNull(values=flat(64, 0))))
    message = Binary(indices=indices, bytes=flat(8, 1), null_adjustment=adjustment)
    stored = np.array(ends, np.uint64).tobytes()
    return StoredArray.of([stored, data], ArrayEncoding(binary=message), type_, len(ends))


@pytest.mark.parametrize("rows", ROWS, ids=str)
@pytest.mark.parametrize("gap", [0, 1 << 40])
def test_nulls_have_adjusted_ends(rows: Rows, gap: int, registry: EncodingRegistry) -> None:
    stored = binary([2, 2 + 7, 4 + 7, 6], b"abcdef", 7, pa.string())
    expected = pa.array(["ab", None, None, "ef"])
    indices = range(rows.start, rows.stop) if isinstance(rows, RowRange) else rows.values
    got = stored.decode(rows, registry, gap)
    got.validate(full=True)
    assert got.equals(expected.take(pa.array(indices)))


@pytest.mark.parametrize("type_", [pa.string(), pa.large_binary()])
@pytest.mark.parametrize(
    "ends",
    [
        [1, 2, 3, 7],  # past the bytes
        [1, 2, 3, 1 << 40],
        [1, 2, 3, (1 << 64) - 1],
        [1, 2, (1 << 32) + 3, 4],
        [3, 2, 4, 5],  # descending
        [1, 5, 3, 6],
        [6, 5, 4, 3],
        [1, 2, 14 + 3, 4],  # beyond what a null can be
    ],
)
def test_wrong_ends_are_corruption(
    type_: pa.DataType, ends: list[int], registry: EncodingRegistry
) -> None:
    stored = binary(ends, b"abcdef", 7, type_)
    for gap in (0, 1 << 40):
        with pytest.raises(CorruptFileError):
            stored.decode(RowRange(0, 4), registry, gap)
        for rows in ROWS[1:]:  # what is not looked at is not missed, but never returned
            try:
                array = stored.decode(rows, registry, gap)
            except CorruptFileError:
                continue
            array.validate(full=True)
            assert sum(len(value or b"") for value in array.to_pylist()) <= 6


def test_adjustment_0_makes_every_value_null(registry: EncodingRegistry) -> None:
    stored = binary([1, 2], b"ab", 0, pa.binary())
    assert stored.decode(RowRange(0, 2), registry).to_pylist() == [None, None]


def test_bytes_after_the_last_value_do_not_matter(registry: EncodingRegistry) -> None:
    stored = binary([1, 2], b"ab\xff\xff", 9, pa.string())
    assert stored.decode(RowRange(0, 2), registry).to_pylist() == ["a", "b"]


def test_bytes_are_shared_with_the_file(store: Store) -> None:
    stored = store(pa.array([f"value {i}" for i in range(200)]))
    (array,) = stored.read(RowRange(0, 200))
    (part,) = stored.read(RowRange(100, 200))
    place = stored.columns[0].pages[0].buffers[1]
    assert array.buffers()[2].size == place.length
    assert part.buffers()[2].size == sum(len(f"value {i}") for i in range(100, 200))


def test_a_page_as_a_whole_is_one_round_and_a_part_two(store: Store) -> None:
    stored = store(pa.array([f"value {i}" for i in range(200)]))
    stored.read(RowRange(0, 200))
    assert stored.asked == 1
    stored.read(RowRange(0, 199))
    assert stored.asked == 2
    stored.read(RowIndices(np.array([0, 7, 150])))
    assert stored.asked == 2


def test_not_utf8_is_corruption_naming_the_field(store: Store) -> None:
    stored = store(pa.array([f"value {i}" for i in range(200)]))
    stored.data = stored.data.replace(b"value 150", b"val\xffe 150")
    with pytest.raises(CorruptFileError, match=r"field 'x'.*not UTF-8"):
        stored.read(RowRange(0, 200))
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        stored.read(RowRange(150, 151))
    assert len(stored.read(RowRange(0, 150))[0]) == 150


def test_bytes_in_another_form_are_unsupported(registry: EncodingRegistry) -> None:
    encoding = ArrayEncoding(binary=Binary(indices=flat(64, 0), bytes=flat(16, 1)))
    stored = StoredArray.of([bytes(8), b""], encoding, pa.string(), 1)
    with pytest.raises(UnsupportedFeatureError, match="bytes are not flat"):
        stored.decode(RowRange(0, 1), registry)


def test_strings_in_a_column_of_numbers_are_corruption(registry: EncodingRegistry) -> None:
    stored = binary([1], b"a", 2, pa.int64())
    with pytest.raises(CorruptFileError, match="a column of type int64"):
        stored.decode(RowRange(0, 1), registry)
