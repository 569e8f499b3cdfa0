"""Fields of many messages are found as protobuf finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core._pb import table_pb2
from lance_core.table.wire_scan import MAX_STEPS, MessageRanges, UnusualMessageError, scan_fields
from tests.each_case import each_case

_NUMBERS = st.sampled_from(
    [0, 1, 127, 128, 16383, 16384, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
)
_FRAGMENTS = st.builds(
    table_pb2.DataFragment,
    id=_NUMBERS,
    physical_rows=_NUMBERS,
    files=st.lists(
        st.builds(
            table_pb2.DataFile,
            path=st.text("ab", max_size=200),
            fields=st.lists(st.integers(-2, 300), max_size=3),
            file_size_bytes=_NUMBERS,
            base_id=st.none() | st.integers(0, 500),
        ),
        max_size=3,
    ),
    inline_row_ids=st.none() | st.binary(max_size=200),
)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


@given(st.lists(_FRAGMENTS, max_size=6))
def test_fields_are_those_that_protobuf_finds(messages: list[table_pb2.DataFragment]) -> None:
    spans = MessageRanges.of([message.SerializeToString() for message in messages])
    found = scan_fields(spans, (1, 4), (2,))
    count = len(messages)
    assert found[1].numbers(count).tolist() == [_signed(message.id) for message in messages]
    assert found[4].numbers(count).tolist() == [
        _signed(message.physical_rows) for message in messages
    ]
    files = found[2]
    inner = scan_fields(files.contents(spans.data), (6,), (1,))
    owners, sizes = files.owners.tolist(), inner[6].numbers(len(files.owners)).tolist()
    kept = sorted(zip(owners, files.offsets.tolist(), sizes, strict=True))
    expected = [
        (n, _signed(f.file_size_bytes)) for n, one in enumerate(messages) for f in one.files
    ]
    assert [(owner, size) for owner, _, size in kept] == expected
    paths = inner[1].contents(spans.data)
    assert {
        spans.data[start:end].tobytes().decode()
        for start, end in zip(paths.starts.tolist(), paths.ends.tolist(), strict=True)
    } == {f.path for one in messages for f in one.files if f.path}


def test_the_last_of_several_values_counts() -> None:
    found = scan_fields(MessageRanges.of([b"\x08\x01\x08\x02", b"", b"\x08\x03"]), (1,))
    assert found[1].numbers(3, default=-1).tolist() == [2, -1, 3]


def test_a_field_of_another_wire_type_is_skipped() -> None:
    found = scan_fields(MessageRanges.of([b"\x0a\x01\x05\x20\x07"]), (1, 4))
    assert [len(found[1].owners), found[4].values.tolist()] == [0, [7]]


@each_case(
    "data",
    [
        b"\x08",  # no value
        b"\x08\xff",  # a value that does not end
        b"\x08" + b"\xff" * 11,  # a value that is too long
        b"\x08" + b"\xff" * 9 + b"\x02",  # 65 bits
        b"\x12\x05ab",  # content past the end
        b"\x12" + b"\xff" * 9 + b"\x01",  # content of 2^64 - 1 bytes
        b"\x00\x01",  # no field has the number 0
        b"\x0b\x0c",  # a group
        b"\x0d\x00\x00\x00\x00",  # four bytes
        b"\x30\x01" * (MAX_STEPS + 1),
    ],
)
def test_messages_that_may_be_invalid_are_left_to_protobuf(data: bytes) -> None:
    for messages in ([data], [b"\x08\x01", data, b"\x08\x01"]):
        with pytest.raises(UnusualMessageError):
            scan_fields(MessageRanges.of(messages), (1,), (2,))


def test_no_messages_have_no_fields() -> None:
    found = scan_fields(MessageRanges.of([]), (1,), (2,))
    assert found[1].numbers(0).dtype == np.int64
    assert len(found[2].owners) == 0
