"""Values of fixed width are handed out where they lie, or copied where Arrow needs it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Buffer, Compression, Flat
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.fixed_width import bits_from
from lance_core.encodings.compression.general import compress
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.base import PlanScope, plan_array
from lance_core.encodings.v2_0.flat import encode_flat
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, LanceError, UnsupportedFeatureError
from lance_core_testing.encodings.stored_array import StoredArray
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case

Store = Callable[..., StoredField]


class File:
    """Bytes in one buffer, whose ranges are handed out as views."""

    def __init__(self, data: bytes, registry: EncodingRegistry) -> None:
        self.buffer = pa.py_buffer(data)
        self.registry = registry

    def decode(self, type_: pa.DataType, count: int, start: int, rows: RowRange) -> pa.Array:
        place = ByteRange(start, self.buffer.size)
        scope = PlanScope(self.registry, (place,), (), type_, count, self.buffer.size)
        message = ArrayEncoding(flat=Flat(bits_per_value=type_.bit_width, buffer=Buffer()))
        context = DecodeContext(0, self.buffer.size, FileVersion.V2_0, self.registry)
        decoding = plan_array(message, scope).decode(rows, context)
        ranges = next(decoding)
        with pytest.raises(StopIteration) as done:
            decoding.send([self.buffer.slice(r.start, r.length) for r in ranges])
        (array,) = done.value.value
        return array


@pytest.mark.parametrize("type_", [pa.int8(), pa.int32(), pa.float64(), pa.decimal128(9)])
@pytest.mark.parametrize("first", [0, 1, 7, 30])
def test_values_are_views_of_the_file(
    type_: pa.DataType, first: int, registry: EncodingRegistry
) -> None:
    width = type_.bit_width // 8
    file = File(bytes(range(256)) * 4, registry)
    array = file.decode(type_, 50, 64, RowRange(first, 50))
    assert len(array) == 50 - first
    assert array.buffers()[1].address == file.buffer.address + 64 + first * width


@pytest.mark.parametrize("start", [1, 2, 4, 12])
def test_values_that_lie_askew_are_copied(start: int, registry: EncodingRegistry) -> None:
    values = np.arange(40, dtype=np.int64)
    file = File(bytes(start) + values.tobytes(), registry)
    array = file.decode(pa.int64(), 40, start, RowRange(0, 40))
    assert array.to_pylist() == values.tolist()
    assert array.buffers()[1].address % 8 == 0


@pytest.mark.parametrize("first", [0, 3, 8, 21])
def test_bits_are_views_of_the_file(first: int, registry: EncodingRegistry) -> None:
    file = File(bytes(range(100, 164)), registry)
    array = file.decode(pa.bool_(), 500, 0, RowRange(first, 500))
    bits = np.unpackbits(np.frombuffer(file.buffer, np.uint8), bitorder="little")
    assert array.to_pylist() == bits[first:500].astype(bool).tolist()
    assert array.buffers()[1].address == file.buffer.address + first // 8


def test_validity_is_a_view_of_the_file(store: Store) -> None:
    mask = np.arange(1000) % 3 == 1
    stored = store(pa.array(np.arange(1000), mask=mask))
    assert stored.pages[0].num_rows == 1000
    (array,) = stored.read(RowRange(13, 900))
    assert array.offset == 5  # what the bitmap's first byte holds of the rows before
    assert array.buffers()[0].size == (900 + 7) // 8 - 1
    assert array.null_count == int(mask[13:900].sum())


def test_encoding_shares_the_memory_of_the_array() -> None:
    from lance_core.encodings.v2_0.base import EncodeScope

    array = pa.array(np.arange(100)).slice(10, 50)
    scope = EncodeScope(EncodingRegistry([]))
    encode_flat(array, scope)
    assert scope.buffers[0].address == array.buffers()[1].address + 80
    assert scope.buffers[0].size == 400


@each_case("start", [0, 1, 7, 8, 13])
@each_case("count", [0, 1, 7, 8, 9, 40])
def test_bits_start_at_0_and_the_rest_is_zero(start: int, count: int) -> None:
    octets = np.random.default_rng(0).integers(0, 256, 10).astype(np.uint8)
    part = np.frombuffer(bits_from(pa.py_buffer(octets), start, count), np.uint8)
    bits = np.unpackbits(octets, bitorder="little")[start : start + count]
    assert len(part) == (count + 7) // 8
    got = np.unpackbits(part, bitorder="little")
    assert (got[:count] == bits).all()
    assert not got[count:].any()


def test_compressed_values_are_read(registry: EncodingRegistry) -> None:
    for scheme in ("zstd", "lz4"):
        for array in (pa.array(np.arange(300)), pa.array(np.arange(300) % 3 == 0)):
            stored = StoredArray.encode(array, encode_flat, registry)
            packed = compress(scheme, None, pa.py_buffer(stored.content(0)))
            assert packed is not None
            flat = Flat(bits_per_value=array.type.bit_width, buffer=Buffer())
            flat.compression.CopyFrom(Compression(scheme=scheme))
            squeezed = StoredArray.of([packed], ArrayEncoding(flat=flat), array.type, 300)
            assert squeezed.decode(RowRange(3, 290), registry).equals(array.slice(3, 287))
            rows = RowIndices(np.array([0, 7, 299]))
            assert squeezed.decode(rows, registry).equals(array.take(pa.array([0, 7, 299])))
            more = StoredArray.of([packed], ArrayEncoding(flat=flat), array.type, 310)
            with pytest.raises(CorruptFileError, match="are needed"):
                more.decode(RowRange(0, 310), registry)


@pytest.mark.parametrize(
    ("bits", "type_", "count", "error"),
    [
        (32, pa.int64(), 4, "values of type int64 cannot have 32 bits"),
        (64, pa.int64(), 5, "5 values of 64 bits do not fit a buffer of 32 bytes"),
        (64, pa.int64(), 1 << 60, "do not fit a buffer of 32 bytes"),
        (1, pa.bool_(), 257, "257 values of 1 bits"),
        (64, pa.string(), 4, "string is not a type of fixed width"),
        (0, pa.binary(0), 4, "not a type of fixed width"),
    ],
)
def test_what_does_not_fit_is_corruption(
    bits: int, type_: pa.DataType, count: int, error: str, registry: EncodingRegistry
) -> None:
    encoding = ArrayEncoding(flat=Flat(bits_per_value=bits, buffer=Buffer()))
    stored = StoredArray.of([bytes(32)], encoding, type_, count)
    with pytest.raises(CorruptFileError, match=error):
        stored.decode(RowRange(0, 1), registry)


@pytest.mark.parametrize(
    ("buffer", "error", "text"),
    [
        (Buffer(buffer_index=1), CorruptFileError, "buffer 1 is used where there are 1"),
        (Buffer(buffer_type=Buffer.column), CorruptFileError, "where there are 0"),
        (Buffer(buffer_type=Buffer.file), UnsupportedFeatureError, "buffer of the file"),
    ],
)
def test_a_wrong_buffer_is_refused(
    buffer: Buffer, error: type[LanceError], text: str, registry: EncodingRegistry
) -> None:
    encoding = ArrayEncoding(flat=Flat(bits_per_value=64, buffer=buffer))
    stored = StoredArray.of([bytes(32)], encoding, pa.int64(), 4)
    with pytest.raises(error, match=text):
        stored.decode(RowRange(0, 1), registry)


def test_a_buffer_past_the_end_of_the_file_is_corruption(registry: EncodingRegistry) -> None:
    stored = StoredArray.encode(pa.array(range(100)), encode_flat, registry)
    with pytest.raises(CorruptFileError, match="ends at byte 800 of a file of 799 bytes"):
        stored.with_data(stored.data[:799]).decode(RowRange(0, 1), registry)
