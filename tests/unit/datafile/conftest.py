"""Files made by hand, so that each byte of their metadata can be wrong."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest

from lance_core._pb import file_pb2
from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core.byte_ranges import ByteRange
from lance_core.datafile.column_metadata import serialize_column, serialize_page
from lance_core.datafile.footer import Footer
from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema


@dataclass
class FileParts:
    """What a file is made of; `build` puts it together, however little it makes sense."""

    data: bytes
    descriptor: bytes
    columns: list[bytes]
    column_table: list[tuple[int, int]] | None = None
    global_table: list[tuple[int, int]] | None = None
    footer: Callable[[Footer], bytes] = Footer.to_bytes

    def build(self) -> bytes:
        position = len(self.data) + len(self.descriptor)
        start = position
        table = []
        for column in self.columns:
            table.append((position, len(column)))
            position += len(column)
        columns = _table(table if self.column_table is None else self.column_table)
        description = (len(self.data), len(self.descriptor))
        buffers = _table([description] if self.global_table is None else self.global_table)
        footer = Footer(
            start,
            position,
            position + len(columns),
            len(buffers) // 16,
            len(columns) // 16,
            FileVersion.V2_0,
        )
        parts = [self.data, self.descriptor, *self.columns, columns, buffers, self.footer(footer)]
        return b"".join(parts)


def _table(entries: Sequence[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


@pytest.fixture
def file_parts() -> Callable[..., FileParts]:
    """Parts of a file with some columns of int32, each of pages of ten rows, 64 bytes apart."""

    def make(columns: int = 2, pages: int = 2, length: int | None = None) -> FileParts:
        rows = 10 * pages
        schema = Schema.from_arrow(pa.schema([(f"c{i}", pa.int32()) for i in range(columns)]))
        descriptor = file_pb2.FileDescriptor(
            schema=file_pb2.Schema(fields=schema.to_proto()),
            length=rows if length is None else length,
        )
        data = bytearray(columns * pages * 64)
        metadata = []
        for column in range(columns):
            written = []
            for page in range(pages):
                start = (column * pages + page) * 64
                values = range(page * 10, page * 10 + 10)
                data[start : start + 40] = struct.pack("<10i", *(100 * column + v for v in values))
                buffers = (ByteRange(start, start + 40),)
                url = FileVersion.V2_0.page_encoding_url
                written.append(serialize_page(buffers, 10, url, _FLAT, page * 10))
            metadata.append(serialize_column(_COLUMN, written))
        return FileParts(bytes(data), descriptor.SerializeToString(), metadata)

    return make


_encoding = ArrayEncoding()
_encoding.nullable.no_nulls.values.flat.bits_per_value = 32
_encoding.nullable.no_nulls.values.flat.buffer.SetInParent()
_FLAT = _encoding.SerializeToString()
_column = ColumnEncoding()
_column.values.SetInParent()
_COLUMN = _column.SerializeToString()
