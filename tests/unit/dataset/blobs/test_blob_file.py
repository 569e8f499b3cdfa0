"""A `BlobFile` behaves as a binary file does; rows are found by position, address and id."""

from __future__ import annotations

import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.byte_ranges import ByteRange
from lance_core.dataset.blobs.source import BlobSource
from lance_core.errors import InvalidInputError, ObjectNotFoundError
from lance_core.store.memory import MemoryStore
from tests.each_case import each_case
from tests.unit.dataset.blobs import blob_tables as blobs

PAYLOAD = bytes(range(256)) * 40


class Counting(MemoryStore):
    """Remembers what was read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[ByteRange] = []

    def get_ranges(self, path: str, ranges: Any) -> Any:
        self.read += ranges
        return super().get_ranges(path, ranges)


def blob(buffer_size: int = 512 * 1024) -> tuple[lance.BlobFile, Counting]:
    store = Counting()
    store.put("file", b"before" + PAYLOAD + b"after")
    return lance.BlobFile(BlobSource(store, "file", 6, len(PAYLOAD)), buffer_size), store


@each_case("buffer_size", [0, 1, 7, 100, 1 << 20])
def test_a_blob_reads_as_the_same_bytes_in_memory_do(buffer_size: int) -> None:
    file, _ = blob(buffer_size)
    plain = io.BytesIO(PAYLOAD)
    random = np.random.default_rng(buffer_size)
    for _ in range(200):
        step, size = int(random.integers(0, 6)), int(random.integers(0, 300))
        if step == 0:
            assert file.seek(size * 40) == plain.seek(size * 40)
        elif step == 1:
            whence = io.SEEK_CUR if plain.tell() > size else io.SEEK_SET
            assert file.seek(-size if whence else size, whence) == plain.seek(
                -size if whence else size, whence
            )
        elif step == 2:
            assert file.seek(-size, io.SEEK_END) == plain.seek(-size, io.SEEK_END)
        elif step == 3:
            ours, theirs = bytearray(size), bytearray(size)
            assert file.readinto(memoryview(ours)[size // 2 :]) == plain.readinto(
                memoryview(theirs)[size // 2 :]
            )
            assert ours == theirs
        else:
            assert file.read(size) == plain.read(size)
        assert file.tell() == plain.tell()
    file.seek(1)
    plain.seek(1)
    assert file.readline() == plain.readline()
    assert file.read() == plain.read()
    assert file.read() == b""
    file.seek(len(PAYLOAD) + 10)
    assert (file.read(5), file.tell()) == (b"", len(PAYLOAD) + 10)


def test_small_reads_in_a_row_ask_the_store_once_for_each_buffer() -> None:
    file, store = blob(1000)
    for _ in range(100):
        file.read(20)
    assert [one.stop - one.start for one in store.read] == [1000, 1000]


def test_no_read_goes_past_the_blob() -> None:
    file, store = blob(1 << 20)
    file.read(1)
    file.seek(0)
    file.read()
    assert all(6 <= one.start <= one.stop <= 6 + len(PAYLOAD) for one in store.read)


def test_ranges_are_read_without_moving_and_together() -> None:
    file, store = blob()
    file.seek(5)
    ranges = [(300, 10), (0, 4), (100, 0), (256, 5)]
    assert file.read_ranges(ranges) == [PAYLOAD[start : start + size] for start, size in ranges]
    assert (file.tell(), len(store.read)) == (5, 1)
    for wrong in [(-1, 2), (0, -1), (len(PAYLOAD), 1), (0, len(PAYLOAD) + 1)]:
        with pytest.raises(InvalidInputError):
            file.read_range(*wrong)


def test_a_closed_blob_reads_no_more() -> None:
    file, _ = blob()
    with file as opened:
        assert (opened.readable(), opened.seekable(), opened.writable()) == (True, True, False)
    assert file.closed
    assert (file.size(), repr(file)) == (len(PAYLOAD), f"<BlobFile size={len(PAYLOAD)}>")
    for call in (file.read, file.tell, file.readall, file.read1, lambda: file.seek(0)):
        with pytest.raises(ValueError, match="closed file"):
            call()
    with pytest.raises(ValueError, match="closed file"):
        file.read_range(0, 1)
    file.close()


def test_impossible_places_and_buffers_are_refused() -> None:
    file, _ = blob()
    for offset, whence in [(-1, 0), (-len(PAYLOAD) - 1, 2), (0, 7)]:
        with pytest.raises(ValueError, match=r"negative seek|whence"):
            file.seek(offset, whence)
    with pytest.raises(TypeError, match="integer"):
        file.seek(1.5)  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TypeError, match="read-write"):
        file.readinto(b"fixed")
    with pytest.raises(io.UnsupportedOperation):
        file.write(b"a")
    for size, error in [(-1, ValueError), ("1", TypeError), (True, TypeError)]:
        with pytest.raises(error):
            blob(size)  # type: ignore[arg-type]  # that is what is tested


def test_threads_that_share_a_blob_get_each_byte_once() -> None:
    file, _ = blob(100)
    with ThreadPoolExecutor(8) as threads:
        parts = list(threads.map(lambda _: list(iter(lambda: file.read(7), b"")), range(8)))
    pieces = [piece for part in parts for piece in part]
    assert sorted(pieces) == sorted(PAYLOAD[n : n + 7] for n in range(0, len(PAYLOAD), 7))


def test_a_blob_is_not_pickled_and_with_it_no_credentials() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(blob()[0], protocol)


@pytest.fixture
def table(uri: str) -> lance.LanceDataset:
    """Row i is the text of i; 1 and 5 are deleted; fragments of 4 rows."""
    made = lance.write_dataset(
        blobs.v2([b"%d" % i for i in range(10)]),
        uri,
        max_rows_per_file=4,
        enable_stable_row_ids=True,
    )
    made.delete("i in (1, 5)")
    return made


SECOND = 1 << 32


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"indices": [7, 0, 7, 3]}, [b"9", b"0", b"9", b"4"]),
        ({"indices": pa.array([1, 2])}, [b"2", b"3"]),
        ({"indices": np.array([], np.int64)}, []),
        ({"addresses": [SECOND + 2, 0]}, [b"6", b"0"]),
        ({"ids": [9, 2, 9]}, [b"9", b"2", b"9"]),
    ],
)
def test_rows_are_found_in_the_order_asked_for(
    table: lance.LanceDataset, selection: dict[str, Any], expected: list[bytes]
) -> None:
    files = table.take_blobs("b", **selection)
    assert [file.read() for file in files if file] == expected
    assert [data for _, data in table.read_blobs("b", **selection)] == expected


@pytest.mark.parametrize(
    "selection",
    [
        {"indices": [8]},
        {"indices": [-1]},
        {"addresses": [1]},
        {"addresses": [4]},
        {"addresses": [9 << 32]},
        {"ids": [5]},
        {"ids": [77]},
        {},
        {"ids": [0], "indices": [0]},
    ],
)
def test_rows_that_are_not_there_are_refused(
    table: lance.LanceDataset, selection: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        table.take_blobs("b", **selection)
    with pytest.raises(InvalidInputError):
        table.read_blobs("b", **selection)


def test_columns_that_are_no_blobs_are_refused(table: lance.LanceDataset) -> None:
    with pytest.raises(InvalidInputError, match="not a blob column"):
        table.take_blobs("i", indices=[0])
    with pytest.raises(InvalidInputError, match="not found"):
        table.take_blobs("other", indices=[0])


def test_parts_of_blobs_are_read_for_all_rows_at_once(uri: str) -> None:
    made = lance.write_dataset(blobs.v2([b"abcdef", None, b"", b"x" * 70_000]), uri)
    requests = [(1, 5, 10), (2, 0, 0), (0, 2, 3), (3, 69_999, 1), (0, 0, 1)]
    found = made.read_blob_ranges("b", requests, selector="indices")
    assert found == [(0, 1, None), (1, 2, b""), (2, 0, b"cde"), (3, 3, b"x"), (4, 0, b"a")]
    for wrong in [(0, 5, 2), (2, 1, 0), (0, -1, 1)]:
        with pytest.raises(InvalidInputError):
            made.read_blob_ranges("b", [wrong], selector="indices")
    with pytest.raises(InvalidInputError, match="selector must be one of"):
        made.read_blob_ranges("b", [(0, 0, 0)], selector="names")  # type: ignore[arg-type]


def test_a_missing_side_file_is_an_error_of_its_own(uri: str) -> None:
    made = lance.write_dataset(blobs.v2([b"x" * 70_000]), uri)
    for path in Path(uri, "data").glob("*/*.blob"):
        path.unlink()
    with pytest.raises(ObjectNotFoundError):
        blobs.as_bytes(made)
    (file,) = made.take_blobs("b", indices=[0])
    assert file is not None
    with pytest.raises(ObjectNotFoundError):
        file.read()


def test_columns_in_memory_are_seen_as_files() -> None:
    column = lance.BlobColumn(pa.chunked_array([[b"a", None], [b"b"]]))
    assert [None if file is None else file.read() for file in column] == [b"a", None, b"b"]
    with pytest.raises(ValueError, match="binary array"):
        lance.BlobColumn(pa.array([1]))


@each_case(
    "arguments",
    [
        {},
        {"uri": ""},
        {"data": b"", "uri": "a"},
        {"uri": "a", "position": 1},
        {"uri": "a", "position": 1, "size": 0},
        {"data": b"", "position": 0, "size": 1},
    ],
)
def test_blobs_have_either_bytes_or_a_uri(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="blob"):
        lance.Blob(**arguments)
    assert lance.Blob.empty() == lance.Blob.from_bytes(bytearray())
    with pytest.raises(TypeError, match="blobs are bytes"):
        lance.blob_array([1])  # type: ignore[list-item]  # that is what is tested
