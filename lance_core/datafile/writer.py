"""Write one data file of version 2.0 or later: encode record batches into pages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, BytesLike
from lance_core.datafile.aligned_output import VALUES_ENCODING, AlignedOutput
from lance_core.datafile.column_metadata import serialize_column
from lance_core.datafile.fast.waiting_columns import WAITING_ROWS
from lance_core.datafile.file_output import (
    DEFAULT_FILE_OPTIONS,
    FileOptions,
    FileOutput,
    FileWriteResult,
)
from lance_core.datafile.page_limits import page_limits
from lance_core.datafile.parallel import in_order
from lance_core.datafile.waiting_rows import WaitingRows
from lance_core.encodings.arrow.memory_pool import low_retention_pool
from lance_core.encodings.context import BlobPlaces, EncodeContext, FieldEncoder
from lance_core.encodings.dispatch import field_encoder
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.imports.on_demand import Part, load
from lance_core.schema import Schema
from lance_core.schema.blobs.fields import has_blobs_to_place
from lance_core.schema.blobs.views import as_stored, blob_fields
from lance_core.store.base import ObjectWriter

_PARALLEL_BYTES = 1 << 20
_PARALLEL_FIELD_BYTES = 128 << 10
"""Minimum bytes of arrays, and of each field, to use threads: smaller arrays are encoded faster
than handed over."""

_BATCH_BYTES = 1 << 20
"""Bytes of pages to write at once; larger pages are written one by one."""


class FieldGroup(NamedTuple):
    """Some top-level fields of a file with all rows of the file.

    ``numbers``: their positions in the schema. ``batches`` returns their rows as batches that have
    a column for each of them, of the type that files store; threads of a pool may call it.
    """

    numbers: Sequence[int]
    batches: Callable[[], Iterable[pa.RecordBatch]]


class FileWriter(FileOutput):
    """Writes one file of version 2.0 or later.

    Rows are buffered per field until they fill a page. Memory is bounded by the number of fields
    times the page size, plus a few pages that threads encode. Buffers are passed to the
    `ObjectWriter` without a copy.
    """

    def __init__(
        self,
        writer: ObjectWriter,
        schema: Schema,
        options: FileOptions = DEFAULT_FILE_OPTIONS,
        *,
        registry: EncodingRegistry,
        blobs: BlobPlaces | None = None,
    ) -> None:
        """``blobs`` places blobs of version 2, whose fields have the members of `given_to_files`.

        Raises `UnsupportedFeatureError` naming the field for a type that the version cannot store.
        """
        version = options.version
        load(Part.NEW_FILES)
        registry.encoders(version)
        if blobs is None and has_blobs_to_place(schema.complex_fields):
            raise UnsupportedFeatureError("a file outside of a table cannot store version 2 blobs")
        limits = page_limits(schema.num_fields, options.data_cache_bytes, options.max_page_bytes)
        super().__init__(writer, schema, version)
        self._num_bytes = 0
        self._stored = as_stored(schema)
        self._output = AlignedOutput(writer, version, has_sums=registry.sums_pages)
        self._metadata = dict(schema.metadata)
        self._global_buffers: list[ByteRange] = []
        self._global_sums: list[int] = []
        context = self._output.encode_context(registry, limits, blobs, options.batches_stay)
        self._context = context
        self._blobs = blob_fields(schema)
        self._waiting = _waiting_rows(schema, context)
        waiting = {number: self._waiting.num_columns(number) for number in self._waiting.numbers}
        self._encoders: dict[int, FieldEncoder] = {}
        self._first_columns: list[int] = []
        self._pages: list[bytearray] = []
        for number in range(schema.num_fields):
            self._first_columns.append(len(self._pages))
            columns = waiting.get(number) or self._encoder(number).num_columns
            for _ in range(columns):
                self._pages.append(bytearray())

    def _encoder(self, number: int) -> FieldEncoder:
        """The encoder of a field; those of small columns are created when they are needed."""
        encoder = self._encoders.get(number)
        if encoder is None:
            encoder = self._encoders[number] = field_encoder(
                self.schema.fields[number], self._context
            )
        return encoder

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append the rows of ``batch``, which has the columns of `Schema.storage_schema`.

        `lance_core.schema.align_batch` creates such batches. Raises `SchemaMismatchError` before
        writing if the number or the types of the columns differ.
        """
        self._check_open()
        self._check_columns(batch.schema)
        if batch.num_rows == 0:
            return
        self._guarded(lambda: self._write_arrays(self._waiting.add(batch)))
        self.num_rows += batch.num_rows

    def finish_groups(self, groups: Sequence[FieldGroup]) -> FileWriteResult:
        """Write all rows of the file, one group of fields after the other, and `finish` it.

        Each field is in one group; none has blobs. No rows were written before. A column has few
        large pages, whatever the number of columns, because only the rows of few groups are in
        memory. Threads read and encode the groups. Raises `CorruptFileError` if the groups differ
        in their number of rows, and the errors of ``batches`` and of the store.
        """
        self._check_open()

        def write() -> FileWriteResult:
            rows = [0] * len(groups)
            sources = [partial(self._group_pages, group, rows, i) for i, group in enumerate(groups)]
            # Pages of groups are large: no thread keeps one that it could have passed on.
            with closing(in_order(sources, at_once=1)) as group_pages:
                for _, pages in group_pages:
                    self._write(pages)
                    del pages
            self.num_rows = rows[0]
            if any(count != rows[0] for count in rows):
                raise CorruptFileError(
                    f"columns differ in their number of rows: {sorted(set(rows))}"
                )
            return self._finish_metadata()

        return self._guarded(write)

    def _group_pages(
        self, group: FieldGroup, rows: list[int], index: int
    ) -> Iterator[Sequence[tuple[int, EncodedPage]]]:
        """The pages of a group, with the numbers of their fields; counts ``rows[place]``."""
        numbers = group.numbers
        schema = Schema(tuple([self.schema.fields[number] for number in numbers]))
        waiting = _waiting_rows(schema, self._context)

        def encoded(batch: pa.RecordBatch) -> list[tuple[int, EncodedPage]]:
            rows[index] += batch.num_rows
            with low_retention_pool():
                return [
                    (numbers[i], page)
                    for i, parts in waiting.add(batch).items()
                    for array in parts
                    for page in self._encoder(numbers[i]).write(array)
                ]

        # While a page waits for the writer, nothing else of its batch is in memory.
        yield from filter(None, map(encoded, group.batches()))
        for pages in waiting.flush(lambda i: self._encoder(numbers[i])):
            yield [(numbers[i], page) for i, page in pages]

    def _write_arrays(self, arrays: Mapping[int, Sequence[pa.Array]]) -> None:
        """Append arrays to fields, and write the pages that are full."""

        def pages_of(number: int) -> Iterable[EncodedPage]:
            return chain.from_iterable(map(self._encoder(number).write, arrays.get(number, ())))

        size = sum([array.nbytes for parts in arrays.values() for array in parts])
        self._num_bytes += size
        self._write_pages(list(arrays), pages_of, size)

    def end_pages(self) -> None:
        """Write the pages of all buffered rows, so that the next rows begin new ones."""
        self._check_open()
        self._guarded(self._write_waiting)

    def add_global_buffer(self, data: BytesLike) -> int:
        """Write a global buffer; returns its number, from 1 on (0 is the ``FileDescriptor``)."""
        self._check_open()
        written, sums = self._guarded(lambda: self._output.write_global(data))
        self._global_buffers.append(written)
        self._global_sums += sums
        return len(self._global_buffers)

    def add_schema_metadata(self, key: str, value: str) -> None:
        """Add a key and value to the metadata of the stored schema."""
        self._check_open()
        self._metadata[key] = value

    def tell(self) -> int:
        """Number of bytes written so far, without the rows buffered for the next page."""
        return self._output.position

    def _finish(self) -> FileWriteResult:
        self._flush()
        return self._finish_metadata()

    def _finish_metadata(self) -> FileWriteResult:
        """Write the metadata of all pages, and make the file visible."""
        result = self._output.write_metadata(
            self._stored,
            self._metadata,
            self.num_rows,
            self._column_metadata(),
            self._global_buffers,
            self._global_sums,
        )
        self._close()
        return result

    def _column_metadata(self) -> list[bytes]:
        """The serialized ``ColumnMetadata`` of all columns."""
        start = serialize_column(VALUES_ENCODING, ())
        columns = [start + pages for pages in self._pages]
        for number, encoder in self._encoders.items():
            first = self._first_columns[number]
            for column, encoding in enumerate(encoder.column_encodings(), first):
                columns[column] = serialize_column(encoding, (self._pages[column],))
        return columns

    def _flush(self) -> None:
        """Write the pages of all waiting rows."""
        if not self._waiting.numbers or self._has_large_fields(self._num_bytes):
            self._write_waiting()
            return
        for pages in self._waiting.flush(self._encoder):
            self._write(pages)

    def _write_waiting(self) -> None:
        """Write the pages of all waiting rows, each field by its own encoder."""
        if parts := self._waiting.parts():
            self._write_arrays(parts)
        size, self._num_bytes = self._num_bytes, 0
        numbers = range(len(self._first_columns))
        self._write_pages(numbers, lambda number: self._encoder(number).flush(), size)

    def _has_large_fields(self, size: int) -> bool:
        """True if the fields of arrays with ``size`` bytes are worth a thread."""
        return size >= max(_PARALLEL_BYTES, len(self._first_columns) * _PARALLEL_FIELD_BYTES)

    def _write_pages(
        self, numbers: Sequence[int], pages_of: Callable[[int], Iterable[EncodedPage]], size: int
    ) -> None:
        """Write the ready pages of fields; ``pages_of`` takes the number of a field.

        ``size`` is the size in bytes of the arrays. Blob fields are encoded first, so that their
        payloads precede all pages; pages are written in the order of the fields. Threads encode the
        other fields if there is enough data. The layout of the file does not depend on threads.
        """
        ready = {number: list(pages_of(number)) for number in self._blobs}

        def source(number: int) -> Iterable[EncodedPage]:
            return ready[number] if number in ready else pages_of(number)

        pages: Generator[tuple[int, EncodedPage], None, None]
        if not self._has_large_fields(size) or len(numbers) - len(ready) < 2:
            pages = (
                (index, page) for index, number in enumerate(numbers) for page in source(number)
            )
        else:
            pages = in_order([partial(source, number) for number in numbers])
        with closing(pages):
            for batch in _batched(pages):
                self._write([(numbers[index], page) for index, page in batch])

    def _write(self, pages: Sequence[tuple[int, EncodedPage]]) -> None:
        """Write pages, each with the number of its field."""
        written = self._output.write_pages([page for _, page in pages])
        for (number, page), message in zip(pages, written, strict=True):
            self._pages[self._first_columns[number] + page.column] += message


def _batched(pages: Iterable[tuple[int, EncodedPage]]) -> Iterator[list[tuple[int, EncodedPage]]]:
    """Consecutive pages in lists, so that small ones are written together."""
    batch, size = [], 0
    for number, page in pages:
        batch.append((number, page))
        size += sum([len(data) for data in page.buffers])
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _waiting_rows(schema: Schema, context: EncodeContext) -> WaitingRows:
    return WAITING_ROWS.first(schema, context) or WaitingRows(schema.num_fields)
