"""Ranges of several files are read with one call for each file, in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.datafile.footer import ALIGNMENT
from lance_core.datafile.joined_ranges import GAP, JoinedRanges
from lance_core.errors import CorruptFileError
from lance_core.store.ranges import slice_ranges

FILES = [bytes([number]) * 50 + bytes(range(50)) for number in range(3)]


def joined() -> JoinedRanges:
    return JoinedRanges(np.array([len(file) for file in FILES]))


def test_each_file_is_read_once_and_the_bytes_have_the_order_of_the_ranges() -> None:
    ranges, calls = joined(), []

    def read(number: int, wanted: Sequence[ByteRange]) -> list[pa.Buffer]:
        calls.append((number, len(wanted)))
        return slice_ranges(pa.py_buffer(FILES[number]), wanted, str(number))

    places = [(2, 40, 60), (0, 0, 5), (2, 0, 0), (1, 90, 100), (0, 50, 52)]
    bases = ranges.bases.tolist()
    wanted = [ByteRange(bases[file] + start, bases[file] + stop) for file, start, stop in places]
    found = [buffer.to_pybytes() for buffer in ranges.get(wanted, read)]
    assert found == [FILES[file][start:stop] for file, start, stop in places]
    assert calls == [(0, 1), (1, 1), (2, 1)]
    assert len(ranges.get([], read)) == 0


def test_distant_ranges_of_a_file_are_read_separately() -> None:
    file = bytes(range(256)) * 100
    ranges = JoinedRanges(np.array([len(file)]))

    def read(number: int, wanted: Sequence[ByteRange]) -> list[pa.Buffer]:
        assert [(one.start, one.stop) for one in wanted] == [(10, 300), (20_000, 20_100)]
        return slice_ranges(pa.py_buffer(file), wanted, str(number))

    places = [(20_050, 20_100), (10, 300), (20_000, 20_060), (20, 30)]
    found = ranges.get([ByteRange(start, stop) for start, stop in places], read)
    assert [one.to_pybytes() for one in found] == [file[start:stop] for start, stop in places]


def test_slices_of_views_have_the_bytes_of_the_ranges_in_their_order() -> None:
    ranges, views = joined(), [pa.py_buffer(file) for file in FILES]
    bases = ranges.bases.tolist()
    places = [(2, 40, 60), (0, 0, 5), (2, 0, 0), (1, 90, 100), (0, 50, 52)]
    wanted = [ByteRange(bases[file] + start, bases[file] + stop) for file, start, stop in places]
    found = [buffer.to_pybytes() for buffer in ranges.slices(wanted, views)]
    assert found == [FILES[file][start:stop] for file, start, stop in places]
    assert len(ranges.slices([], views)) == 0


def test_a_position_plus_spans_is_the_same_byte_and_read_in_the_same_call() -> None:
    ranges, calls = joined(), []

    def read(number: int, wanted: Sequence[ByteRange]) -> list[pa.Buffer]:
        calls.append((number, len(wanted)))
        return slice_ranges(pa.py_buffer(FILES[number]), wanted, str(number))

    assert ranges.span > ranges.end + GAP
    assert not ranges.span % ALIGNMENT
    first = int(ranges.bases[1])
    moves = [0, ranges.span, 4000 * ranges.span]
    wanted = [ByteRange(first + move + 3, first + move + 60) for move in moves]
    found = [buffer.to_pybytes() for buffer in ranges.get(wanted, read)]
    assert found == [FILES[1][3:60]] * 3
    assert calls == [(1, 1)]
    views = [pa.py_buffer(file) for file in FILES]
    assert [buffer.to_pybytes() for buffer in ranges.slices(wanted, views)] == found


def test_files_are_aligned_and_further_apart_than_a_gap() -> None:
    bases = joined().bases
    assert not (bases % ALIGNMENT).any()
    assert (np.diff(bases) > 100 + GAP).all()
    assert joined().end == int(bases[-1]) + 100
    assert JoinedRanges(np.array([], np.int64)).end == 0


def test_a_range_that_ends_after_its_file_is_refused() -> None:
    base = int(joined().bases[1])
    with pytest.raises(CorruptFileError, match="ends after the data of its file"):
        joined().get([ByteRange(base, base + 101)], lambda *_: [])
    with pytest.raises(CorruptFileError, match="ends after the data of its file"):
        joined().slices([ByteRange(base, base + 101)], [pa.py_buffer(file) for file in FILES])
