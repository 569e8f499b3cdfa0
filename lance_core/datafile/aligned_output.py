"""The container of a 2.x file as it is written: aligned buffers, then metadata and footer.

Order of the parts in the file: page buffers and other buffers, each padded to 64 bytes; the
``FileDescriptor``; the metadata of each column; two offset tables; the footer.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise, starmap

from google.protobuf.empty_pb2 import Empty

from lance_core._pb import file_pb2
from lance_core._pb.encodings_v2_0_pb2 import ColumnEncoding
from lance_core.datafile.column_map import column_of_schema
from lance_core.datafile.column_metadata import serialize_page
from lance_core.datafile.file_output import FileWriteResult
from lance_core.datafile.footer import ALIGNMENT, Footer
from lance_core.datafile.page_limits import PageLimits
from lance_core.encodings.context import BlobPlaces, EncodeContext
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema, encode_metadata
from lance_core.store.base import ByteRange, BytesLike, ObjectStore, ObjectWriter

_PADDING = b"H" * ALIGNMENT
_PADDINGS = [_PADDING[:size] for size in range(ALIGNMENT)]

_MAX_COPIED_BYTES = 128 << 10
"""Maximum bytes of a page whose buffers are copied, to write those of several pages at once."""

_MAX_WRITTEN_BYTES = 1 << 20
"""Maximum bytes of pages to write at once."""

VALUES_ENCODING = ColumnEncoding(values=Empty()).SerializeToString()
"""The serialised ``ColumnEncoding`` of columns of values, in 2.1 and 2.2 files of all columns."""

_ENTRY = struct.Struct("<QQ")


class AlignedOutput:
    """Writes the parts of one file. ``position``: number of bytes written so far."""

    __slots__ = ("position", "version", "writer")

    def __init__(self, writer: ObjectWriter, version: FileVersion) -> None:
        self.writer = writer
        self.version = version
        self.position = writer.tell()

    def write_aligned(self, data: BytesLike) -> ByteRange:
        """Write a buffer and its padding; returns the position of the buffer."""
        written = self._write(data)
        self.align(ALIGNMENT)
        return written

    def write_pages(self, pages: Sequence[EncodedPage], first_row: int = 0) -> list[bytes]:
        """Write the buffers of ``pages``, whose rows count from row ``first_row`` of the file.

        Returns what `serialize_page` returns for each.
        """
        written, url = [], self.version.page_encoding_url
        parts: list[BytesLike] = []
        position = self.position
        for page in pages:
            ranges = []
            sizes = [memoryview(data).nbytes for data in page.buffers]
            if sum(sizes) > _MAX_COPIED_BYTES:
                if parts:
                    self._write(b"".join(parts))
                    parts.clear()
                ranges = list(map(self.write_aligned, page.buffers))
                position = self.position
            else:
                for data, size in zip(page.buffers, sizes, strict=True):
                    stop = position + size
                    ranges.append(ByteRange(position, stop))
                    position = stop + -stop % ALIGNMENT
                    parts += (data, _PADDINGS[position - stop])
                if position - self.position > _MAX_WRITTEN_BYTES:
                    self._write(b"".join(parts))
                    parts.clear()
            priority = first_row + page.priority
            written.append(serialize_page(ranges, page.num_rows, url, page.encoding, priority))
        if parts:
            self._write(b"".join(parts))
        return written

    def append_from(
        self, store: ObjectStore, path: str, ranges: Sequence[ByteRange], batch_bytes: int
    ) -> None:
        """Append ranges of another file, without padding; see `ObjectStore.append_from`."""
        if ranges:
            store.append_from(self.writer, path, ranges, batch_bytes)
            self.position += sum(wanted.length for wanted in ranges)

    def encode_context(
        self, registry: EncodingRegistry, limits: PageLimits, blobs: BlobPlaces | None = None
    ) -> EncodeContext:
        """A context for encoders, whose buffers are written to this file at once."""
        return EncodeContext(
            version=self.version,
            registry=registry,
            write_buffer=lambda buffer: self.write_aligned(buffer).start,
            flush_bytes=limits.flush_bytes,
            max_page_bytes=limits.max_page_bytes,
            dictionary_threshold=limits.dictionary_threshold,
            blobs=blobs,
        )

    def align(self, alignment: int, remainder: int = 0) -> None:
        """Write padding until the position modulo ``alignment`` (bytes) is ``remainder``."""
        padding = (remainder - self.position) % alignment
        if padding:
            self._write(_PADDING * (padding // ALIGNMENT) + _PADDING[: padding % ALIGNMENT])

    def write_metadata(
        self,
        schema: Schema,
        metadata: Mapping[str, str],
        num_rows: int,
        columns: Sequence[BytesLike],
        buffers: Sequence[ByteRange],
    ) -> FileWriteResult:
        """Write everything after the buffers, and return what a manifest stores of the file.

        ``columns``: the serialized ``ColumnMetadata`` of each column. ``buffers``: the positions of
        the global buffers after the ``FileDescriptor``.
        """
        descriptor = file_pb2.FileDescriptor(
            schema=file_pb2.Schema(fields=schema.to_proto(), metadata=encode_metadata(metadata)),
            length=num_rows,
        )
        description = self._write(descriptor.SerializeToString(deterministic=True))
        column_metadata = self.position
        stops = accumulate((memoryview(column).nbytes for column in columns), initial=self.position)
        ranges = list(starmap(ByteRange, pairwise(stops)))
        self._write(b"".join(columns))
        column_table = self._write_table(ranges)
        buffer_table = self._write_table([description, *buffers])
        version = self.version
        footer = Footer(
            column_metadata, column_table, buffer_table, 1 + len(buffers), len(columns), version
        )
        self._write(footer.to_bytes())
        ids = column_of_schema(schema, version)
        return FileWriteResult(num_rows, self.position, tuple(ids), tuple(ids.values()), version)

    def _write_table(self, ranges: Sequence[ByteRange]) -> int:
        """Write a table of positions and lengths; returns its position."""
        entries = b"".join(_ENTRY.pack(one.start, one.length) for one in ranges)
        return self._write(entries).start

    def _write(self, data: BytesLike) -> ByteRange:
        start = self.position
        self.writer.write(data)
        self.position = start + memoryview(data).nbytes
        return ByteRange(start, self.position)
