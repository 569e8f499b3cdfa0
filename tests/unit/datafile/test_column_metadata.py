"""Column metadata survives writing and reading; what contradicts the file is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core._pb.file2_pb2 import ColumnMetadata
from lance_core.byte_ranges import ByteRange
from lance_core.datafile.column_metadata import (
    MAX_PAGE_ROWS,
    ColumnParser,
    serialize_column,
    serialize_page,
)
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from tests.each_case import each_case

DATA_END = 1000
URL = FileVersion.V2_0.page_encoding_url

column_encoding = ColumnEncoding()
column_encoding.values.SetInParent()
COLUMN = column_encoding.SerializeToString()

flat = ArrayEncoding()
flat.nullable.no_nulls.values.flat.bits_per_value = 32
FLAT = flat.SerializeToString()


def page(start: int = 0, rows: int = 10, url: str = URL) -> bytes:
    return serialize_page((ByteRange(start, start + 40),), rows, url, FLAT, priority=7)


def parser() -> ColumnParser:
    return ColumnParser(FileVersion.V2_0, DATA_END)


def test_a_column_survives_writing_and_reading() -> None:
    column = parser().parse(serialize_column(COLUMN, [page(0, 10), page(64, 5)]))
    assert [page.buffers for page in column.pages] == [(ByteRange(0, 40),), (ByteRange(64, 104),)]
    assert column.starts == [0, 10, 15]
    assert column.pages[0].encoding == flat
    assert column.encoding == column_encoding
    assert column.buffers == ()


def test_a_column_is_written_as_the_reference_implementation_does() -> None:
    # One page of 1000 int32 from byte 0 on, as pylance 14 writes it.
    raw = serialize_column(
        COLUMN, [serialize_page((ByteRange(0, 4000),), 1000, URL, FLAT + b"", priority=0)]
    )
    assert raw.startswith(b"\n)\x12'\n%\n\x1f/lance.encodings.ColumnEncoding\x12\x02\n\x00")
    assert b'\n\x01\x00\x12\x02\xa0\x1f\x18\xe8\x07"' in raw


def test_equal_encodings_are_parsed_once() -> None:
    shared = parser()
    first = shared.parse(serialize_column(COLUMN, [page(), page()]))
    second = shared.parse(serialize_column(COLUMN, [page()]))
    assert first.pages[0].encoding is first.pages[1].encoding is second.pages[0].encoding


def test_many_pages_are_parsed_when_they_are_needed() -> None:
    raw = serialize_column(COLUMN, [page(64 * number, number + 1) for number in range(6)])
    column = parser().parse(raw)
    assert column.starts == [0, 1, 3, 6, 10, 15, 21]
    assert [column.pages[number].num_rows for number in (5, 0, -1)] == [6, 1, 6]
    assert [one.num_rows for one in column.pages[1:4]] == [2, 3, 4]
    assert [one.buffers[0].start for one in column.pages] == [0, 64, 128, 192, 256, 320]
    assert [one.num_rows for one in column.pages] == [1, 2, 3, 4, 5, 6]


def test_damage_of_one_of_many_pages_is_found_where_the_page_is_needed() -> None:
    pages = [page(64 * number) for number in range(5)]
    column = parser().parse(serialize_column(COLUMN, [*pages, page(DATA_END)]))
    assert column.pages[4].num_rows == 10
    for access in (lambda: column.pages[5], lambda: list(column.pages)):
        with pytest.raises(CorruptFileError, match="reaches into the metadata") as caught:
            access()
        assert caught.value.field == "pages[5]"


def test_an_encoding_of_a_stranger_is_left_to_its_plugin() -> None:
    column = parser().parse(serialize_column(COLUMN, [page(url="/acme.Delta")]))
    assert column.pages[0].encoding == ForeignEncoding("/acme.Delta", FLAT)


def test_a_buffer_may_end_where_the_metadata_begins() -> None:
    column = parser().parse(serialize_column(COLUMN, [page(DATA_END - 40)]))
    assert column.pages[0].buffers[0].stop == DATA_END


def test_an_encoding_stored_elsewhere_is_not_supported() -> None:
    message = ColumnMetadata()
    message.encoding.indirect.buffer_length = 5
    with pytest.raises(UnsupportedFeatureError, match="outside of the metadata"):
        parser().parse(message.SerializeToString())


def damaged(change: Callable[[ColumnMetadata], object]) -> bytes:
    message = ColumnMetadata.FromString(serialize_column(COLUMN, [page(), page(64)]))
    change(message)
    return message.SerializeToString()


def any_of(url: str, value: bytes) -> bytes:
    return AnyMessage(type_url=url, value=value).SerializeToString()


HUGE = (1 << 64) - 1
DAMAGED = {
    "not a message": b"\xff\xff\xff",
    "no column encoding": damaged(lambda c: c.ClearField("encoding")),
    "empty column encoding": damaged(lambda c: c.encoding.none.SetInParent()),
    "column encoding is no Any": damaged(
        lambda c: setattr(c.encoding.direct, "encoding", b"\x0a\xff")
    ),
    "column encoding without type": damaged(lambda c: setattr(c.encoding.direct, "encoding", b"")),
    "page without encoding": damaged(lambda c: c.pages[1].ClearField("encoding")),
    "page encoding without type": damaged(
        lambda c: setattr(c.pages[1].encoding.direct, "encoding", b"")
    ),
    "page encoding is no message": damaged(
        lambda c: setattr(c.pages[1].encoding.direct, "encoding", any_of(URL, b"\xff"))
    ),
    "page encoding of another version": damaged(
        lambda c: setattr(
            c.pages[1].encoding.direct,
            "encoding",
            any_of(FileVersion.V2_1.page_encoding_url, b""),
        )
    ),
    "page too long": damaged(lambda c: setattr(c.pages[1], "length", MAX_PAGE_ROWS + 1)),
    "page absurdly long": damaged(lambda c: setattr(c.pages[1], "length", HUGE)),
    "buffer without size": damaged(lambda c: c.pages[1].buffer_offsets.append(0)),
    "size without buffer": damaged(lambda c: c.pages[1].buffer_sizes.append(0)),
    "buffer reaches into the metadata": damaged(
        lambda c: c.pages[1].buffer_sizes.__setitem__(0, DATA_END - 63)
    ),
    "buffer beyond the file": damaged(lambda c: c.pages[1].buffer_offsets.__setitem__(0, HUGE)),
    "buffer whose end overflows": damaged(lambda c: c.pages[1].buffer_sizes.__setitem__(0, HUGE)),
    "column buffer without size": damaged(lambda c: c.buffer_offsets.append(1)),
    "column buffer beyond the file": damaged(
        lambda c: (c.buffer_offsets.append(HUGE), c.buffer_sizes.append(1))
    ),
}


@each_case("raw", DAMAGED.values(), ids=DAMAGED)
def test_damaged_metadata_is_refused(raw: bytes) -> None:
    with pytest.raises(CorruptFileError):
        parser().parse(raw)


def test_an_error_names_the_page() -> None:
    with pytest.raises(CorruptFileError, match=r"pages\[1\]"):
        parser().parse(DAMAGED["buffer beyond the file"])


def test_a_missing_encoding_is_noticed_after_pages_with_one() -> None:
    shared = parser()
    shared.parse(serialize_column(COLUMN, [page()]))
    for name in ("no column encoding", "page without encoding", "page encoding without type"):
        with pytest.raises(CorruptFileError):
            shared.parse(DAMAGED[name])
