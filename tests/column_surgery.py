"""Changing what a data file says of its columns."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from google.protobuf.any_pb2 import Any

from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core._pb.file2_pb2 import ColumnMetadata
from lance_core.datafile.footer import parse_footer

_ENTRY = struct.Struct("<QQ")


def edit_column(path: Path, number: int, change: Callable[[ColumnMetadata], object]) -> None:
    """Change the message about one column; everything before the metadata stays where it is."""
    data = path.read_bytes()
    footer = parse_footer(data[-40:], len(data))
    columns = []
    stored = data[footer.column_table.start : footer.column_table.stop]
    for position, length in _ENTRY.iter_unpack(stored):
        columns.append(ColumnMetadata.FromString(data[position : position + length]))
    change(columns[number])
    out = bytearray(data[: footer.column_metadata])
    table = b""
    for column in columns:
        raw = column.SerializeToString()
        table += _ENTRY.pack(len(out), len(raw))
        out += raw
    columns_at, buffers_at = len(out), len(out) + len(table)
    buffers = data[footer.global_table.start : footer.global_table.stop]
    ending = struct.pack("<QQQ", footer.column_metadata, columns_at, buffers_at) + data[-16:]
    path.write_bytes(bytes(out) + table + buffers + ending)


def set_layout(layout: PageLayout) -> Callable[[ColumnMetadata], None]:
    """Give all pages of a column another description."""

    def change(column: ColumnMetadata) -> None:
        url = "/lance.encodings21.PageLayout"
        for page in column.pages:
            described = Any(type_url=url, value=layout.SerializeToString())
            page.encoding.direct.encoding = described.SerializeToString()

    return change


def shift_buffers(by: int) -> Callable[[ColumnMetadata], None]:
    """Say that the buffers of a column's pages are so many bytes further on."""

    def change(column: ColumnMetadata) -> None:
        for page in column.pages:
            page.buffer_offsets[:] = [offset + by for offset in page.buffer_offsets]

    return change
