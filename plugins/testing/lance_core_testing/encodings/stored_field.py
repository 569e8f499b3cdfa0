"""The columns of one field in memory that represents a data file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_core.datafile.column_map import column_of
from lance_core.encodings.context import EncodeContext
from lance_core.encodings.dispatch import decode_field, field_encoder
from lance_core.encodings.messages import parse_column, parse_page
from lance_core.encodings.page import Column, EncodedPage, Page
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import COLUMN_ENCODING_URL
from lance_core.hookspecs.file_versions import DecodeContext, Field, FileVersion, Rows
from lance_core.hookspecs.stores import ByteRange
from lance_core_testing.encodings.stored_array import decode_counted

ALIGNMENT = 64


@dataclass(slots=True)
class StoredField:
    """An encoded field: ``data`` is the file; ``pages`` are in the order of the encoder."""

    field: Field
    version: FileVersion
    registry: EncodingRegistry
    data: bytes
    columns: list[Column]
    pages: list[EncodedPage]
    asked: int = 0
    """Number of read requests of the last `read`."""

    @classmethod
    def write(
        cls,
        field: Field,
        arrays: Iterable[pa.Array],
        registry: EncodingRegistry,
        version: FileVersion = FileVersion.V2_0,
        **limits: int,
    ) -> StoredField:
        """Encode ``arrays`` in order; ``limits`` are fields of `EncodeContext`."""
        data = bytearray()

        def write_buffer(buffer: pa.Buffer) -> int:
            start = len(data)
            data.extend(bytes(buffer))
            data.extend(b"H" * (-len(data) % ALIGNMENT))
            return start

        context = EncodeContext(version, registry, write_buffer)
        for name, limit in limits.items():
            context = replace(context, **{name: limit})  # type: ignore[arg-type]  # all are numbers
        encoder = field_encoder(field, context)
        pages: list[EncodedPage] = []
        stored: list[list[Page]] = [[] for _ in range(encoder.num_columns)]

        def take(new_pages: Iterable[EncodedPage]) -> None:
            for page in new_pages:
                spans = [(write_buffer(buffer), len(buffer)) for buffer in page.buffers]
                ranges = tuple(ByteRange(start, start + size) for start, size in spans)
                url = version.page_encoding_url
                encoding = parse_page(version, url, page.encoding)
                stored[page.column].append(Page(ranges, page.num_rows, encoding))
                pages.append(page)

        for array in arrays:
            take(encoder.write(array))
        take(encoder.flush())
        encodings = [parse_column(COLUMN_ENCODING_URL, e) for e in encoder.column_encodings()]
        columns = [
            Column(tuple(own), (), encoding)
            for own, encoding in zip(stored, encodings, strict=True)
        ]
        return cls(field, version, registry, bytes(data), columns, pages)

    def pages_of(self, column: int) -> list[EncodedPage]:
        """The pages of one column."""
        return [page for page in self.pages if page.column == column]

    def read(self, rows: Rows, gap: int = 1 << 40, only: Field | None = None) -> list[pa.Array]:
        """The decoded rows; ``only``: decode the field pruned to this one.

        Raises `AssertionError` if the decoder requests a range outside the file.
        """
        context = DecodeContext(gap, len(self.data), self.version, self.registry)
        field = only or self.field
        decoding = decode_field(
            field, column_of([self.field], self.version), self.columns, rows, context
        )
        arrays, self.asked = decode_counted(decoding, self.data)
        return arrays
