"""Bytes from many places come back as they are in the file, whatever the order of the places."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lance_core
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import decode_in_memory
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core_legacy import range_reads
from lance_core_legacy.range_reads import FetchedBytes, fetch
from tests.each_case import each_case

DATA = np.random.default_rng(5).bytes(9000)


def fetched(places: list[tuple[int, int]], gap: int = 100) -> FetchedBytes:
    context = DecodeContext(gap, len(DATA), FileVersion.V0_1, EncodingRegistry({}))
    starts = np.array([start for start, _ in places], np.int64)
    stops = np.array([stop for _, stop in places], np.int64)
    return decode_in_memory(fetch(starts, stops, context), pa.py_buffer(DATA))


@given(
    st.lists(st.tuples(st.integers(0, 8900), st.integers(0, 60)), max_size=20),
    st.booleans(),
    st.sampled_from([0, 100, 1 << 40]),
)
def test_pieces_and_all_of_them_joined_are_the_bytes_there(
    given_places: list[tuple[int, int]], is_sorted: bool, gap: int
) -> None:
    places = [(start, start + length) for start, length in given_places]
    found = fetched(sorted(places) if is_sorted else places, gap)
    expected = [DATA[a:b] for a, b in (sorted(places) if is_sorted else places)]
    assert [piece.to_pybytes() for piece in found.pieces()] == expected
    assert found.joined().to_pybytes() == b"".join(expected)


@each_case("place", [(-1, 5), (5, 4), (0, 9001), (1 << 62, (1 << 62) + 1)])
def test_places_outside_of_the_file_are_refused(place: tuple[int, int]) -> None:
    with pytest.raises(CorruptFileError, match="bytes"):
        fetched([(0, 4), place])


def test_more_bytes_than_the_file_has_are_refused_before_they_are_read() -> None:
    with pytest.raises(CorruptFileError, match="overlap"):
        fetched([(0, 8000), (10, 8010)])


def test_places_near_to_each_other_are_one_range() -> None:
    assert len(fetched([(0, 10), (50, 60), (8000, 8010)]).buffers) == 2


@each_case("kind", [pa.int64(), pa.bool_(), pa.string(), pa.list_(pa.int32(), 4)])
def test_values_in_places_of_any_size_are_those_that_were_written(kind: pa.DataType) -> None:
    numbers = pa.array(range(4000))
    if pa.types.is_fixed_size_list(kind):
        values = pa.FixedSizeListArray.from_arrays(numbers.cast(pa.int32()), 4)
    else:
        values = (pc.equal(numbers, 7) if pa.types.is_boolean(kind) else numbers).cast(kind)
    table, uri = pa.table({"x": values}), "memory://places-of-any-size"
    lance_core.write_dataset(
        table, uri, mode="overwrite", data_storage_version="legacy", max_rows_per_group=100
    )
    dataset = lance_core.dataset(uri)
    for limit in (1, 300, 1 << 30):
        with mock.patch.multiple(range_reads, COARSE=limit, MIN_JOINED=limit):
            assert dataset.to_table().combine_chunks() == table
            rows = list(range(0, len(table), 3))
            assert dataset.take(rows).combine_chunks() == table.take(rows)
