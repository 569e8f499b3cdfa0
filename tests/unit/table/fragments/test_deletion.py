from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.table.fragments import deletion
from lance_core.table.fragments.deletion import decode_deletions, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFileType
from tests.each_case import each_case

ARROW, BITMAP = DeletionFileType.ARROW_ARRAY, DeletionFileType.BITMAP
ROW_ID = pa.field("row_id", pa.uint32(), nullable=False)
EXACT = pa.schema([ROW_ID])


def arrow_file(
    *batches: list[int | None],
    field: pa.Field = ROW_ID,
    compression: str | None = None,
    stream: bool = False,
) -> bytes:
    schema = pa.schema([field])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(pa.record_batch([pa.array(batch, field.type)], schema=schema))
    return bytes(sink.getvalue())


@each_case("compression", [None, "lz4", "zstd"])
@each_case("values", [[], [1, 2, 9], [9, 1, 2], [2, 2, 9, 1, 9]])
def test_any_order_duplicates_and_codecs_are_read(
    compression: str | None, values: list[int]
) -> None:
    repeated = values * 50
    found = decode_deletions(ARROW, arrow_file(repeated, compression=compression), 10)
    assert found.dtype == np.uint32
    assert found.tolist() == sorted(set(values))


@each_case(
    "data",
    [
        arrow_file([1], field=pa.field("row_id", pa.uint32(), nullable=True)),
        arrow_file([1], field=pa.field("rowid", pa.uint32(), nullable=False)),
        arrow_file([1], field=pa.field("row_id", pa.int32(), nullable=False)),
        arrow_file([1], field=pa.field("row_id", pa.uint64(), nullable=False)),
        arrow_file([1], [2]),
        arrow_file(),
        arrow_file([1], stream=True),
        arrow_file([None], field=pa.field("row_id", pa.uint32(), nullable=True)),
        b"",
        b"ARROW1\0\0ARROW1",
    ],
    ids=[
        "nullable",
        "name",
        "int32",
        "uint64",
        "2 batches",
        "0",
        "stream",
        "null",
        "empty",
        "stub",
    ],
)
def test_other_arrow_files_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptFileError) as caught:
        decode_deletions(ARROW, data, 10, path="_deletions/0-1-2.arrow")
    assert caught.value.path == "_deletions/0-1-2.arrow"


@pytest.mark.parametrize("file_type", [ARROW, BITMAP])
def test_rows_that_do_not_exist_cannot_be_deleted(file_type: DeletionFileType) -> None:
    data = arrow_file([3, 10]) if file_type is ARROW else BitMap([3, 10]).serialize()
    assert decode_deletions(file_type, data, 11, 2).tolist() == [3, 10]
    with pytest.raises(CorruptFileError, match="row 10 is outside of 10 rows"):
        decode_deletions(file_type, data, 10)
    with pytest.raises(CorruptFileError, match="manifest counts 3"):
        decode_deletions(file_type, data, 11, 3)


@each_case("optimize", [False, True])
@each_case("values", [[], [7], range(100), range(0, 70000, 2), [1, *range(65530, 140000)]])
def test_array_bitset_and_run_containers_are_read(optimize: bool, values: range) -> None:
    bitmap = BitMap(np.array(values, np.uint32), optimize=optimize)
    found = decode_deletions(BITMAP, bitmap.serialize(), 200_000, len(values) or None)
    assert found.tolist() == list(values)


@given(st.sets(st.integers(0, (1 << 32) - 1), max_size=200))
def test_what_is_written_is_read(values: set[int]) -> None:
    offsets = np.array(sorted(values), np.uint32)
    file_type, data = encode_deletions(offsets)
    assert file_type is ARROW
    assert decode_deletions(file_type, data, 1 << 32, len(values)).tolist() == offsets.tolist()


def test_many_rows_become_a_bitmap_without_run_containers() -> None:
    for count, expected in ((4999, ARROW), (5000, BITMAP)):
        file_type, data = encode_deletions(np.arange(count, dtype=np.uint32))
        assert file_type is expected
        assert len(decode_deletions(file_type, data, count, count)) == count
    assert struct.unpack_from("<I", data)[0] == 12346


def test_unsorted_offsets_are_not_written() -> None:
    for wrong in ([2, 1], [1, 1]):
        with pytest.raises(InvalidInputError):
            encode_deletions(np.array(wrong, np.uint32))
    with pytest.raises(InvalidInputError):
        encode_deletions(np.array([1], np.int64))  # type: ignore[arg-type]


def test_a_small_file_cannot_claim_gigabytes() -> None:
    zeros = pa.array(np.zeros(1 << 25, np.uint32))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, EXACT, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(pa.record_batch([zeros], schema=EXACT))
    bomb = sink.getvalue()
    assert bomb.size < 10_000
    before = pa.total_allocated_bytes()
    with pytest.raises(UnsupportedFeatureError, match="unpacks to 134217728"):
        decode_deletions(ARROW, bomb, 1 << 40)
    assert pa.total_allocated_bytes() - before < 1 << 20
    full = BitMap()
    full.add_range(0, 1 << 32)
    with pytest.raises(UnsupportedFeatureError, match="lists 4294967296 rows"):
        decode_deletions(BITMAP, full.serialize(), 1 << 40)


def test_damaged_deletion_files_give_values_or_typed_errors(
    survives_mutation: Callable[[Callable[[bytes], object], bytes, int], None],
) -> None:
    values = [1, 2, 3, *range(100, 300, 3)]
    for compression in (None, "lz4", "zstd"):
        data = arrow_file(values, compression=compression)
        survives_mutation(lambda data: decode_deletions(ARROW, data, 1000), data, 300)
    for optimize in (False, True):
        data = BitMap([*values, *range(70000, 80000)], optimize=optimize).serialize()
        survives_mutation(lambda data: decode_deletions(BITMAP, data, 1 << 32), data, 300)


def test_a_bitset_container_cannot_hold_more_rows_than_it_says() -> None:
    containers = 200
    head = struct.pack("<II", 12346, containers)
    counts = b"".join(struct.pack("<HH", key, 4097 - 1) for key in range(containers))
    first = len(head) + len(counts) + 4 * containers
    places = struct.pack(f"<{containers}I", *range(first, first + 8192 * containers, 8192))
    with pytest.raises(CorruptFileError, match="cardinality"):
        decode_deletions(BITMAP, head + counts + places + b"\xff" * 8192 * containers, 1 << 32)


def test_a_set_that_grows_becomes_a_bitmap_one_row_later() -> None:
    for count, kind in [(5000, DeletionFileType.ARROW_ARRAY), (5001, DeletionFileType.BITMAP)]:
        offsets = np.arange(count, dtype=np.uint32)
        file_type, data = encode_deletions(offsets, grown=True)
        assert file_type is kind
        assert np.array_equal(decode_deletions(file_type, data, count), offsets)


def test_a_file_of_any_size_may_unpack_to_a_few_times_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletion, "_MEMORY_LIMIT", 0)
    offsets = np.arange(1000, dtype=np.uint32)
    file = arrow_file(offsets.tolist())
    assert decode_deletions(ARROW, file, 1000).tolist() == offsets.tolist()
