"""The container of a 2.x file as it is written: aligned buffers, then metadata and footer.

Order of the parts in the file: page buffers and other buffers, each padded to 64 bytes; the
``FileDescriptor``; the metadata of each column; two offset tables; the footer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
from google.protobuf.empty_pb2 import Empty

from lance_core._pb import file_pb2
from lance_core._pb.encodings_v2_0_pb2 import ColumnEncoding
from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.checksums import environment
from lance_core.checksums.crc32c import block_sums, crc32c_loop
from lance_core.checksums.seal import MARK, SEAL_BYTES, seal
from lance_core.datafile.column_map import column_of_schema
from lance_core.datafile.column_metadata import page_end, serialize_page, serialize_pages
from lance_core.datafile.file_output import FileWriteResult
from lance_core.datafile.footer import ALIGNMENT, Footer
from lance_core.datafile.page_limits import PageLimits
from lance_core.encodings.context import BlobPlaces, EncodeContext
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.schema import Schema, encode_metadata
from lance_core.store.base import ObjectStore, ObjectWriter

_PADDING = b"H" * ALIGNMENT
_PADDINGS = [_PADDING[:size] for size in range(ALIGNMENT)]

_MAX_COPIED_BYTES = 128 << 10
"""Maximum bytes of a buffer, or of a page, that is copied to write several buffers at once."""

_MAX_WRITTEN_BYTES = 1 << 20
"""Maximum bytes of pages to write at once."""

VALUES_ENCODING = ColumnEncoding(values=Empty()).SerializeToString()
"""The serialised ``ColumnEncoding`` of columns of values: all columns of 2.1 and 2.2 files."""

_MIN_TOGETHER = 64
"""Minimum number of pages to write at once; numpy takes longer for fewer."""


class AlignedOutput:
    """Writes the parts of one file. ``position``: number of bytes written so far.

    ``is_sealed``: True if the metadata and global buffers get checksums, ``has_sums``: pages, too.
    """

    __slots__ = ("has_sums", "is_sealed", "position", "version", "writer")

    def __init__(
        self, writer: ObjectWriter, version: FileVersion, *, has_sums: bool = False
    ) -> None:
        """``has_sums``: False leaves the choice to the environment."""
        self.writer = writer
        self.version = version
        self.position = writer.tell()
        self.is_sealed = environment.WRITTEN != "no"
        self.has_sums = self.is_sealed and (has_sums or environment.WRITTEN == "pages")

    def write_aligned(self, data: BytesLike) -> ByteRange:
        """Write a buffer and its padding; returns the position of the buffer."""
        written = self._write(data)
        self.align(ALIGNMENT)
        return written

    def write_global(self, data: BytesLike) -> tuple[ByteRange, list[int]]:
        """Write a global buffer; returns its position and its checksum, in a list if it has one."""
        return self.write_aligned(data), crc32c_loop()([data]) if self.is_sealed else []

    def write_parts(self, parts: Sequence[BytesLike]) -> ByteRange:
        """Write one aligned buffer that consists of ``parts``; returns its position."""
        self.align(ALIGNMENT)
        start = self.position
        for part in parts:
            self._write(part)
        written = ByteRange(start, self.position)
        self.align(ALIGNMENT)
        return written

    def write_pages(self, pages: Sequence[EncodedPage], first_row: int = 0) -> list[bytes]:
        """Write the buffers of ``pages``, whose rows count from row ``first_row`` of the file.

        Returns what `serialize_page` returns for each.
        """
        url = self.version.page_encoding_url
        rest = [(page.num_rows, url, page.encoding, first_row + page.priority) for page in pages]
        if len(pages) < _MIN_TOGETHER:
            return [
                serialize_page(ranges, *page_fields, sums)
                for (ranges, sums), page_fields in zip(self._write_each(pages), rest, strict=True)
            ]
        buffers = [data for page in pages for data in page.buffers]
        sums = block_sums(buffers) if self.has_sums else []
        sizes = np.array([memoryview(data).nbytes for data in buffers], np.int64)
        starts = self._write_aligned(buffers, sizes)
        counts = np.array([len(page.buffers) for page in pages], np.int64)
        return serialize_pages(
            starts, sizes, counts, [page_end(*page_fields) for page_fields in rest], sums
        )

    def _write_each(self, pages: Sequence[EncodedPage]) -> list[tuple[list[ByteRange], list[int]]]:
        """Write the buffers of pages, each with its padding.

        Returns the positions and the checksums of each page.
        """
        written: list[tuple[list[ByteRange], list[int]]] = []
        parts: list[BytesLike] = []
        position = self.position
        for page in pages:
            own: list[ByteRange] = []
            sums: list[int] = []
            written.append((own, sums))
            for data in page.buffers:
                size = memoryview(data).nbytes
                if size > _MAX_COPIED_BYTES or position - self.position > _MAX_COPIED_BYTES:
                    self._write_joined(parts)
                if size > _MAX_COPIED_BYTES:
                    own.append(self._write_large(data, sums))
                    position = self.position
                    continue
                if self.has_sums:
                    sums += block_sums([data])
                stop = position + size
                own.append(ByteRange(position, stop))
                position = stop + -stop % ALIGNMENT
                parts += (data, _PADDINGS[position - stop])
        self._write_joined(parts)
        return written

    def _write_large(self, data: BytesLike, sums: list[int]) -> ByteRange:
        """`write_aligned`; adds checksums to ``sums`` while the bytes are in the cache."""
        if not self.has_sums:
            return self.write_aligned(data)
        start, view = self.position, memoryview(data).cast("B")
        for at in range(0, view.nbytes, _MAX_WRITTEN_BYTES):
            part = view[at : at + _MAX_WRITTEN_BYTES]
            sums += block_sums([part])
            self._write(part)
        written = ByteRange(start, self.position)
        self.align(ALIGNMENT)
        return written

    def _write_joined(self, parts: list[BytesLike]) -> None:
        """Write all ``parts``, and remove them from the list."""
        if parts:
            self._write(b"".join(parts))
            parts.clear()

    def _write_aligned(self, buffers: Sequence[BytesLike], sizes: Int64Array) -> Int64Array:
        """Write buffers, each with its padding, in few calls; returns their positions."""
        self.align(ALIGNMENT)
        padded = -(-sizes // ALIGNMENT) * ALIGNMENT
        stops = np.cumsum(padded)
        starts = self.position + stops - padded
        paddings = [_PADDINGS[size] for size in (padded - sizes).tolist()]
        large = np.flatnonzero(sizes > _MAX_COPIED_BYTES)
        full = 1 + np.flatnonzero(np.diff(stops // _MAX_WRITTEN_BYTES))
        edges = np.unique(np.concatenate([[0, len(buffers)], large, large + 1, full])).tolist()
        for first, last in pairwise(edges):
            if last - first == 1:
                self._write(buffers[first])
                self._write(paddings[first])
            else:
                pairs = zip(buffers[first:last], paddings[first:last], strict=True)
                self._write(b"".join(chain.from_iterable(pairs)))
        return starts

    def reserve(self, size: int) -> None:
        """Expect about ``size`` more bytes."""
        self.writer.reserve(size)

    def append_from(
        self, store: ObjectStore, path: str, ranges: Sequence[ByteRange], batch_bytes: int
    ) -> None:
        """Append ranges of another file, without padding; see `ObjectStore.append_from`."""
        if ranges:
            store.append_from(self.writer, path, ranges, batch_bytes)
            self.position += sum(byte_range.length for byte_range in ranges)

    def encode_context(
        self,
        registry: EncodingRegistry,
        limits: PageLimits,
        blobs: BlobPlaces | None = None,
        arrays_stay: bool = False,
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
            arrays_stay=arrays_stay,
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
        columns: Sequence[bytes],
        buffers: Sequence[ByteRange],
        buffer_sums: Sequence[int] = (),
    ) -> FileWriteResult:
        """Write everything after the buffers, and return what a manifest stores of the file.

        ``columns``: the serialized ``ColumnMetadata`` of each column. ``buffers``: the positions of
        the global buffers after the ``FileDescriptor``; ``buffer_sums``: their checksums, if any.
        """
        descriptor = file_pb2.FileDescriptor(
            schema=file_pb2.Schema(
                fields=schema.to_proto(), metadata=encode_metadata(metadata) or None
            ),
            length=num_rows,
            global_buffer_crc32c=buffer_sums,
        )
        description = descriptor.SerializeToString(deterministic=True)
        size = len(description)
        if self.is_sealed:
            description = MARK + description
            size = len(description) + SEAL_BYTES
        # One write: most files are small, and each write costs as much as their metadata.
        start, column_metadata = self.position, self.position + size
        sizes = np.fromiter(map(len, columns), np.int64, len(columns))
        table = np.empty((len(columns), 2), "<u8")
        table[:, 1] = sizes
        table[:, 0] = column_metadata + sizes.cumsum() - sizes
        column_table = column_metadata + int(sizes.sum())
        globals_ = [(start, column_metadata), *buffers]
        own = np.array([(first, stop - first) for first, stop in globals_], "<u8")
        buffer_table = column_table + table.nbytes
        version = self.version
        footer = Footer(
            column_metadata, column_table, buffer_table, len(globals_), len(columns), version
        )
        rest = b"".join((*columns, table.tobytes(), own.tobytes(), footer.to_bytes()))
        sealing = seal(description, rest) if self.is_sealed else b""
        self._write(b"".join((description, sealing, rest)))
        ids = column_of_schema(schema, version)
        return FileWriteResult(num_rows, self.position, tuple(ids), tuple(ids.values()), version)

    def _write(self, data: BytesLike) -> ByteRange:
        start = self.position
        self.writer.write(data)
        self.position = start + memoryview(data).nbytes
        return ByteRange(start, self.position)
