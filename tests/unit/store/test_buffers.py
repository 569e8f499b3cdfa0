"""What may be written."""

from __future__ import annotations

import array
from collections import deque

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError
from lance_core.store.buffers import byte_view, byte_views, joined
from tests.each_case import each_case


def test_views_share_memory() -> None:
    data = bytearray(b"abc")
    view = byte_view(data)
    data[0] = 65
    assert bytes(view) == b"Abc"
    assert len(byte_views([pa.py_buffer(b"a"), pa.py_buffer(b"b")])) == 2
    assert b"".join(byte_views(deque([pa.py_buffer(b"a"), pa.py_buffer(b"b")]))) == b"ab"


def test_views_are_flat_bytes() -> None:
    view = byte_view(memoryview(array.array("i", [1, 2])))
    assert (view.format, view.ndim, view.nbytes) == ("B", 1, 8)
    assert byte_view(memoryview(array.array("i"))).nbytes == 0


def test_joining_copies() -> None:
    data = bytearray(b"abc")
    copied = joined([pa.py_buffer(data), pa.py_buffer(b"d")])
    data[0] = 65
    assert bytes(copied) == b"abcd"


@each_case("data", ["text", 3, None, ["text"], memoryview(b"abcd")[::2], {"a": 1}])
def test_what_has_no_bytes_is_refused(data: object) -> None:
    with pytest.raises(InvalidInputError):
        byte_views(data)  # type: ignore[arg-type]  # what is tested
