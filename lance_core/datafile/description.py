"""Description of a data file for users, with the class names and attributes of pylance."""

from __future__ import annotations

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.datafile.encoding_text import encoding_text
from lance_core.datafile.metadata import FileMetadata
from lance_core.encodings.page import Column
from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LanceBufferDescriptor:
    """A buffer. ``position`` is in bytes from the start of the file, ``size`` in bytes."""

    position: int
    size: int


@dataclass(frozen=True, slots=True)
class LancePageMetadata:
    """A page. ``encoding`` is a readable text of the page's encoding message."""

    buffers: list[LanceBufferDescriptor]
    encoding: str


@dataclass(frozen=True, slots=True)
class LanceColumnMetadata:
    """A physical column: buffers that belong to no page, and its pages."""

    column_buffers: list[LanceBufferDescriptor]
    pages: list[LancePageMetadata]


@dataclass(frozen=True, slots=True)
class LanceFileMetadata:
    """A file. Sizes are in bytes; the first of ``global_buffers`` contains the schema."""

    schema: pa.Schema
    num_rows: int
    num_data_bytes: int
    num_column_metadata_bytes: int
    num_global_buffer_bytes: int
    global_buffers: list[LanceBufferDescriptor]
    columns: list[LanceColumnMetadata]
    major_version: int
    minor_version: int


@dataclass(frozen=True, slots=True)
class LanceColumnStatistics:
    """Statistics of a physical column; ``size_bytes`` is the total size of its pages' buffers."""

    num_pages: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LanceFileStatistics:
    """Statistics of the physical columns of a file."""

    columns: list[LanceColumnStatistics]


def describe(metadata: FileMetadata) -> LanceFileMetadata:
    """Describe a file; parses the metadata of all columns."""
    major, minor = metadata.version.footer
    return LanceFileMetadata(
        schema=metadata.schema.to_arrow(),
        num_rows=metadata.num_rows,
        num_data_bytes=metadata.num_data_bytes,
        num_column_metadata_bytes=metadata.num_column_metadata_bytes,
        num_global_buffer_bytes=metadata.num_global_buffer_bytes,
        global_buffers=_buffers(metadata.global_buffers),
        columns=[_column(column) for column in metadata.columns],
        major_version=major,
        minor_version=minor,
    )


def statistics(metadata: FileMetadata) -> LanceFileStatistics:
    """Number of pages and bytes of each column."""
    return LanceFileStatistics(
        [
            LanceColumnStatistics(
                len(column.pages),
                sum(buffer.length for page in column.pages for buffer in page.buffers),
            )
            for column in metadata.columns
        ]
    )


def _column(column: Column) -> LanceColumnMetadata:
    pages = [
        LancePageMetadata(_buffers(page.buffers), encoding_text(page.encoding))
        for page in column.pages
    ]
    return LanceColumnMetadata(_buffers(column.buffers), pages)


def _buffers(ranges: tuple[ByteRange, ...]) -> list[LanceBufferDescriptor]:
    return [LanceBufferDescriptor(byte_range.start, byte_range.length) for byte_range in ranges]
