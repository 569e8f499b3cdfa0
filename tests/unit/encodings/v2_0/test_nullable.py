"""Nulls: none, some and all, around any encoding; claims of many nulls cost nothing."""

from __future__ import annotations

import contextlib
import resource

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Buffer, Flat, Nullable
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0.base import EncodeScope
from lance_core.encodings.v2_0.binary import encode_binary
from lance_core.errors import CorruptFileError
from lance_core_testing.encodings.stored_array import StoredArray
from tests.each_case import each_case

TYPES = [
    pa.int64(),
    pa.bool_(),
    pa.decimal256(50),
    pa.binary(7),
    pa.list_(pa.float32(), 768),
    pa.list_(pa.list_(pa.bool_(), 3), 5),
    pa.string(),
    pa.large_binary(),
    pa.null(),
    pa.dictionary(pa.int16(), pa.string()),
    pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.float32())]))]),
]


@each_case("type_", TYPES, ids=str)
def test_nothing_but_nulls(type_: pa.DataType) -> None:
    for count in (1, 9, 1000):
        array = all_null(type_, count)
        array.validate(full=True)
        assert array.type == type_
        assert (len(array), array.null_count) == (count, count)


@each_case("type_", TYPES, ids=str)
def test_a_claim_of_many_nulls_uses_no_memory(type_: pa.DataType) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for count in (1 << 24, 1 << 50):
        with contextlib.suppress(CorruptFileError):  # there may not be so many addresses
            assert len(all_null(type_, count)) == count
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 32 << 10  # in KiB


def test_nulls_may_surround_any_encoding(registry: EncodingRegistry) -> None:
    texts = pa.array([f"text {i}" for i in range(100)])
    valid = np.arange(100) % 3 != 1
    scope = EncodeScope(registry)
    values = encode_binary(texts, scope)
    bitmap = scope.add(pa.py_buffer(np.packbits(valid, bitorder="little")))
    validity = ArrayEncoding(flat=Flat(bits_per_value=1, buffer=bitmap))
    some = Nullable.SomeNull(validity=validity, values=values)
    encoding = ArrayEncoding(nullable=Nullable(some_nulls=some))
    stored = StoredArray.of(scope.buffers, encoding, pa.string(), 100)
    expected = pa.array([text if ok else None for text, ok in zip(texts, valid, strict=True)])
    for start, stop in ((0, 100), (3, 90), (8, 9), (50, 100)):
        got = stored.decode(RowRange(start, stop), registry)
        got.validate(full=True)
        assert got.equals(expected.slice(start, stop - start))
    rows = np.array([0, 1, 50, 99])
    assert stored.decode(RowIndices(rows), registry).equals(expected.take(pa.array(rows)))


def test_nulls_within_nulls_add_up(registry: EncodingRegistry) -> None:
    def bitmap(*flags: bool) -> bytes:
        return np.packbits(flags, bitorder="little").tobytes()

    def some(at: int, values: ArrayEncoding) -> ArrayEncoding:
        validity = ArrayEncoding(flat=Flat(bits_per_value=1, buffer=Buffer(buffer_index=at)))
        return ArrayEncoding(
            nullable=Nullable(some_nulls=Nullable.SomeNull(validity=validity, values=values))
        )

    values = ArrayEncoding(flat=Flat(bits_per_value=8, buffer=Buffer(buffer_index=2)))
    stored = StoredArray.of(
        [bitmap(True, True, False, True), bitmap(False, True, True, True), b"\x01\x02\x03\x04"],
        some(0, some(1, values)),
        pa.int8(),
        4,
    )
    assert stored.decode(RowRange(0, 4), registry).to_pylist() == [None, 2, None, 4]
    assert stored.decode(RowRange(1, 4), registry).to_pylist() == [2, None, 4]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_nothing_but_nulls_stays_so_under_a_bitmap(
    type_: pa.DataType, registry: EncodingRegistry
) -> None:
    validity = ArrayEncoding(flat=Flat(bits_per_value=1, buffer=Buffer()))
    nulls = ArrayEncoding(nullable=Nullable(all_nulls=Nullable.AllNull()))
    some = Nullable.SomeNull(validity=validity, values=nulls)
    stored = StoredArray.of([b"\x05"], ArrayEncoding(nullable=Nullable(some_nulls=some)), type_, 4)
    got = stored.decode(RowRange(0, 4), registry)
    got.validate(full=True)
    assert got.null_count == 4


def test_validity_that_is_null_itself_is_corruption(registry: EncodingRegistry) -> None:
    def flat(at: int) -> ArrayEncoding:
        return ArrayEncoding(flat=Flat(bits_per_value=1, buffer=Buffer(buffer_index=at)))

    validity = Nullable(some_nulls=Nullable.SomeNull(validity=flat(0), values=flat(1)))
    some = Nullable.SomeNull(validity=ArrayEncoding(nullable=validity), values=flat(2))
    encoding = ArrayEncoding(nullable=Nullable(some_nulls=some))
    stored = StoredArray.of([b"\x05", b"\x0f", b"\x0f"], encoding, pa.bool_(), 4)
    for rows in (RowRange(0, 4), RowIndices(np.array([1, 2]))):
        with pytest.raises(CorruptFileError, match="whether a value is null is null"):
            stored.decode(rows, registry)


def test_nothing_said_about_nulls_is_corruption(registry: EncodingRegistry) -> None:
    for encoding in (ArrayEncoding(nullable=Nullable()), ArrayEncoding()):
        stored = StoredArray.of([], encoding, pa.int8(), 1)
        with pytest.raises(CorruptFileError):
            stored.decode(RowRange(0, 1), registry)


def test_encodings_may_nest(registry: EncodingRegistry) -> None:
    encoding = ArrayEncoding(flat=Flat(bits_per_value=8, buffer=Buffer()))
    for _ in range(20):
        encoding = ArrayEncoding(nullable=Nullable(no_nulls=Nullable.NoNull(values=encoding)))
    stored = StoredArray.of([b"\x07"], encoding, pa.int8(), 1)
    assert stored.decode(RowRange(0, 1), registry).to_pylist() == [7]
