"""What a file holds, as values for users: names and attributes are those of pylance."""

from __future__ import annotations

import pyarrow as pa

from lance_core.datafile.encoding_text import encoding_text
from lance_core.datafile.metadata import FileMetadata
from lance_core.encodings.page import Column
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ByteRange


@dataclass(frozen=True, slots=True)
class LanceBufferDescriptor:
    """A buffer: ``position`` in bytes from the start of the file, ``size`` in bytes."""

    position: int
    size: int


@dataclass(frozen=True, slots=True)
class LancePageMetadata:
    """A page: its buffers, and how they are encoded, as text to look at."""

    buffers: list[LanceBufferDescriptor]
    encoding: str


@dataclass(frozen=True, slots=True)
class LanceColumnMetadata:
    """A physical column: buffers of its own, and its pages."""

    column_buffers: list[LanceBufferDescriptor]
    pages: list[LancePageMetadata]


@dataclass(frozen=True, slots=True)
class LanceFileMetadata:
    """A file. Sizes are in bytes; the first of ``global_buffers`` holds the schema."""

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
    """A physical column in figures; ``size_bytes`` counts the buffers of its pages."""

    num_pages: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LanceFileStatistics:
    """The physical columns of a file in figures."""

    columns: list[LanceColumnStatistics]


def describe(metadata: FileMetadata) -> LanceFileMetadata:
    """Everything that the metadata of a file says; parses all of it."""
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
    """Pages and bytes of every column."""
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
    return [LanceBufferDescriptor(one.start, one.length) for one in ranges]
