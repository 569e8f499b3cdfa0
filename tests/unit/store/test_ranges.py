"""Views of ranges."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.byte_ranges import BufferSlices, ByteRange, RangeArrays
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.store.ranges import check_ranges, slice_ranges, view_ranges

WHOLE = pa.py_buffer(b"0123456789")


def test_a_slice_is_a_view() -> None:
    (part,) = slice_ranges(WHOLE, [ByteRange(2, 5)], "x")
    assert bytes(part) == b"234"
    assert part.address == WHOLE.address + 2


def test_a_bad_range_among_good_ones_is_found() -> None:
    good = [ByteRange(0, 10)] * 5
    with pytest.raises(CorruptFileError) as caught:
        slice_ranges(WHOLE, [*good, ByteRange(4, 11), *good], "x")
    assert (caught.value.path, caught.value.offset) == ("x", 4)
    with pytest.raises(InvalidInputError):
        slice_ranges(WHOLE, [*good, ByteRange(-1, 2)], "x")


def test_views_of_ranges_in_arrays_are_arrays_too() -> None:
    ranges = [ByteRange(2, 5), ByteRange(0, 0), ByteRange(9, 10)]
    found = view_ranges(WHOLE, RangeArrays.of(ranges), "x")
    assert isinstance(found, BufferSlices)
    assert [bytes(part) for part in found] == [b"234", b"", b"9"]
    assert list(view_ranges(WHOLE, ranges, "x")) == list(found)
    assert not len(view_ranges(WHOLE, RangeArrays.of([]), "x"))
    with pytest.raises(CorruptFileError) as caught:
        view_ranges(WHOLE, RangeArrays.of([*ranges, ByteRange(4, 11)]), "x")
    assert (caught.value.path, caught.value.offset) == ("x", 4)
    for bad in ((-1, 2), (5, 4)):
        with pytest.raises(InvalidInputError):
            view_ranges(WHOLE, RangeArrays.of([*ranges, ByteRange(*bad)]), "x")


def test_good_ranges_pass() -> None:
    check_ranges([ByteRange(0, 0), ByteRange(10, 10), ByteRange(0, 10)], 10, "x")
