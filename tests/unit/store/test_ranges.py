"""Views of ranges."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.store.base import ByteRange
from lance_core.store.ranges import check_ranges, slice_ranges

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


def test_good_ranges_pass() -> None:
    check_ranges([ByteRange(0, 0), ByteRange(10, 10), ByteRange(0, 10)], 10, "x")
