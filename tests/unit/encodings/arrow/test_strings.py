"""Arrays of strings and bytes from the ends of their values: checked, split where they must be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.arrow import strings
from lance_core.encodings.arrow.strings import Spans, check_utf8, single_value, variable_arrays
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from tests.each_case import each_case

TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


def spans(begin: int, ends: list[int], valid: list[bool] | None = None) -> Spans:
    return Spans(begin, np.array(ends, np.int64), None if valid is None else np.array(valid))


@each_case("type_", TYPES)
def test_bytes_are_shared_and_offsets_start_at_0(type_: pa.DataType) -> None:
    data = pa.py_buffer(b"abccd")
    (array,) = variable_arrays(type_, spans(10, [11, 11, 15], [True, False, True]), data, True)
    array.validate(full=True)
    texts = ["a", None, "bccd"]
    expected = texts if "string" in str(type_) else [t and t.encode() for t in texts]
    assert array.to_pylist() == expected
    assert array.buffers()[2].address == data.address


@each_case("ends", [[3, 2, 5], [9, 12, 15], [-1, 2, 5]])
def test_ends_must_ascend(ends: list[int]) -> None:
    begin = 10 if ends[0] == 9 else 0
    with pytest.raises(CorruptFileError, match="do not ascend"):
        variable_arrays(pa.string(), spans(begin, ends), pa.py_buffer(b"abcde"), True)


def test_more_bytes_than_offsets_reach_become_several_arrays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strings, "MAX_OFFSET", 6)
    texts = [b"abc", b"", b"defg", b"hi", b"jklmno", b"", b"p"]
    ends = np.cumsum([len(text) for text in texts]).tolist()
    valid = [True, False, True, True, True, True, True]
    data = pa.py_buffer(b"".join(texts))
    arrays = variable_arrays(pa.binary(), spans(0, ends, valid), data, True)
    assert [len(array) for array in arrays] == [2, 2, 2, 1]
    assert pa.concat_arrays(arrays).to_pylist() == [texts[0], None, *texts[2:]]
    (whole,) = variable_arrays(pa.large_binary(), spans(0, ends, valid), data, True)
    assert whole.to_pylist() == [texts[0], None, *texts[2:]]


def test_a_value_that_offsets_do_not_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MAX_OFFSET", 6)
    data = pa.py_buffer(b"a" * 9)
    with pytest.raises(UnsupportedFeatureError, match="does not fit into binary"):
        variable_arrays(pa.binary(), spans(0, [2, 9]), data, True)
    with pytest.raises(UnsupportedFeatureError, match="does not fit into binary"):
        single_value(pa.binary(), data, False, True)


@each_case("text", ["", "ascii", "ä€𝄞", "\0\x7f"])
def test_utf8_is_accepted(text: str) -> None:
    data = text.encode()
    check_utf8(np.array([0, len(data)]), pa.py_buffer(data))
    assert single_value(pa.string(), pa.py_buffer(data), False, True).to_pylist() == [text]


@each_case(
    ("data", "offsets"),
    [
        (b"a\xff", [0, 2]),
        (b"\xc3", [0, 1]),
        (b"\xed\xa0\x80", [0, 3]),  # a surrogate
        (b"\xc0\x80", [0, 2]),  # longer than needed
        ("ä".encode(), [0, 1, 2]),  # cut in two: fine only as a whole
        ("aäa".encode(), [0, 1, 2, 2, 4]),
    ],
)
def test_what_is_not_utf8_is_corruption(data: bytes, offsets: list[int]) -> None:
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        check_utf8(np.array(offsets), pa.py_buffer(data))
    ends = spans(0, offsets[1:])
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        variable_arrays(pa.string(), ends, pa.py_buffer(data), True)
    variable_arrays(pa.string(), ends, pa.py_buffer(data), validate_utf8=False)
    variable_arrays(pa.binary(), ends, pa.py_buffer(data), validate_utf8=True)


def test_a_single_value_is_checked_too() -> None:
    with pytest.raises(CorruptFileError, match="not UTF-8"):
        single_value(pa.string(), pa.py_buffer(b"\xff"), False, True)
    assert single_value(pa.binary(), pa.py_buffer(b"\xff"), False, True).to_pylist() == [b"\xff"]
    assert single_value(pa.large_string(), pa.py_buffer(b""), True, True).to_pylist() == [None]
