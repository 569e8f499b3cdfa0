"""Blob columns: payloads anywhere in the file, read together, never past its end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.blob_payloads import DESCRIPTION, encode_blobs
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import CorruptFileError
from lance_core.schema import Schema
from lance_core_testing.encodings.stored_field import StoredField

Store = Callable[..., StoredField]
BLOB = {"lance-encoding:blob": "true"}


def blobs(count: int, size: int) -> pa.Array:
    values = [
        None if i % 5 == 1 else b"" if i % 5 == 2 else bytes([i % 256]) * (size + i)
        for i in range(count)
    ]
    return pa.array(values, pa.large_binary())


def with_places(stored: StoredField, places: list[tuple[int, int]]) -> StoredField:
    """``stored`` with other (position, size) pairs in its only page."""
    (page,) = stored.columns[0].pages
    place = page.buffers[0]
    data = bytearray(stored.data)
    data[place.start : place.stop] = np.array(places, np.uint64).tobytes()
    stored.data = bytes(data)
    return stored


@pytest.mark.parametrize("size", [1, 60, 5000])
@pytest.mark.parametrize("gap", [0, 1 << 40])
def test_values_come_back(size: int, gap: int, store: Store) -> None:
    array = blobs(80, size)
    stored = store(array.slice(0, 30), array.slice(30), metadata=BLOB, flush_bytes=300)
    assert len(stored.pages) > 1
    got = pa.concat_arrays(stored.read(RowRange(0, 80), gap))
    got.validate(full=True)
    assert got.equals(array)
    assert pa.concat_arrays(stored.read(RowRange(13, 14), gap)).equals(array.slice(13, 1))
    rows = np.array([0, 1, 2, 40, 79])
    taken = pa.concat_arrays(stored.read(RowIndices(rows), gap))
    assert taken.equals(array.take(pa.array(rows)))


@pytest.mark.parametrize("size", [1, 5000])
def test_payloads_are_aligned(size: int) -> None:
    written: list[tuple[int, int]] = []
    end = 0

    def write(buffer: pa.Buffer) -> int:
        nonlocal end
        start = end
        written.append((start, buffer.size))
        end += -(-buffer.size // 64) * 64
        return start

    array = blobs(50, size).slice(3, 40)
    places = encode_blobs(array, write).to_pylist()
    for value, place in zip(array.to_pylist(), places, strict=True):
        assert place["size"] == len(value or b"")
        if value:
            assert place["position"] % 64 == 0
        else:
            assert place["position"] == (value is None)
    assert len(written) == (1 if size == 1 else sum(place["size"] > 0 for place in places))


def test_descriptions_are_read_as_a_struct(store: Store) -> None:
    array = pa.array([b"aa", None, b"", b"cccc"], pa.large_binary())
    stored = store(array, metadata=BLOB)
    (description,) = Schema.from_arrow(pa.schema([("x", DESCRIPTION)])).fields
    (got,) = stored.read(RowRange(0, 4), only=description)
    assert got.to_pylist() == [
        {"position": 0, "size": 2},
        {"position": 1, "size": 0},
        {"position": 0, "size": 0},
        {"position": 64, "size": 4},
    ]


def test_places_in_any_order_are_read(store: Store) -> None:
    array = pa.array([b"aa", b"b", b"cccc", None, b""], pa.large_binary())
    stored = with_places(store(array, metadata=BLOB), [(128, 4), (64, 1), (0, 2), (1, 0), (0, 0)])
    for gap in (0, 1 << 40):
        (got,) = stored.read(RowRange(0, 5), gap)
        assert got.to_pylist() == [b"cccc", b"b", b"aa", None, b""]


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ((0, 1 << 40), "past the file"),
        ((1 << 40, 2), "past the file"),
        (((1 << 64) - 1, 2), "past the file"),
        ((2, (1 << 64) - 1), "past the file"),
        ((1, 64), "overlap"),
    ],
)
def test_wrong_places_are_corruption(place: tuple[int, int], error: str, store: Store) -> None:
    array = pa.array([b"aa", b"b", b"cccc"], pa.large_binary())
    stored = with_places(store(array, metadata=BLOB), [(0, 2), place, (128, 4)])
    with pytest.raises(CorruptFileError, match=f"field 'x'.*{error}"):
        stored.read(RowRange(0, 3))


def test_many_values_at_one_place_are_refused(store: Store) -> None:
    stored = store(pa.array([b"x" * 900] * 100, pa.large_binary()), metadata=BLOB)
    stored = with_places(stored, [(0, 50_000)] * 100)
    with pytest.raises(CorruptFileError, match="overlap"):
        stored.read(RowRange(0, 100))
