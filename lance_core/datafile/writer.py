"""Write one data file of version 2.0 or later: encode record batches into pages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial

import pyarrow as pa

from lance_core.datafile.aligned_output import AlignedOutput
from lance_core.datafile.column_metadata import WrittenPage, serialize_column
from lance_core.datafile.file_output import (
    DEFAULT_FILE_OPTIONS,
    FileOptions,
    FileOutput,
    FileWriteResult,
)
from lance_core.datafile.page_limits import page_limits
from lance_core.datafile.parallel import in_order
from lance_core.encodings.context import BlobPlaces, FieldEncoder
from lance_core.encodings.dispatch import field_encoder, flush_encoders
from lance_core.encodings.page import EncodedPage
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import Part, load
from lance_core.schema import (
    Field,
    Schema,
    described_in_file,
    has_blobs_v2,
    is_blob_v2,
)
from lance_core.store.base import ByteRange, BytesLike, ObjectWriter

_PARALLEL_BYTES = 1 << 20
_PARALLEL_FIELD_BYTES = 128 << 10
"""Minimum bytes of arrays, and of each field, to use threads: smaller arrays are encoded faster
than handed over."""

_MIN_FIELDS = 32
"""Minimum number of fields to encode small columns together."""


@dataclass(slots=True)
class _FieldState:
    """The encoder of a top-level field, whose physical columns start at ``first_column``."""

    field: Field
    encoder: FieldEncoder
    first_column: int


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
        load(Part.NEW_FILES_2_0 if version is FileVersion.V2_0 else Part.NEW_FILES_2_1)
        if blobs is None and has_blobs_v2(schema.fields):
            raise UnsupportedFeatureError("a file outside of a table cannot store version 2 blobs")
        limits = page_limits(len(schema.fields), options.data_cache_bytes, options.max_page_bytes)
        super().__init__(writer, schema, version)
        self._num_bytes = 0
        self._stored = replace(schema, fields=tuple(map(described_in_file, schema.fields)))
        self._output = AlignedOutput(writer, version)
        self._metadata = dict(schema.metadata)
        self._global_buffers: list[ByteRange] = []
        self._context = context = self._output.encode_context(registry, limits, blobs)
        self._states: list[_FieldState] = []
        self._pages: list[list[WrittenPage]] = []
        for field in schema.fields:
            encoder = field_encoder(field, context)
            self._states.append(_FieldState(field, encoder, len(self._pages)))
            self._pages += [[] for _ in range(encoder.num_columns)]
        self._blobs = [
            number
            for number, field in enumerate(schema.fields)
            if any(part.is_blob or is_blob_v2(part) for part in field.walk())
        ]

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append the rows of ``batch``, which has the columns of `Schema.storage_schema`.

        `lance_core.schema.align_batch` creates such batches. Raises `SchemaMismatchError` before
        writing if the number or the types of the columns differ.
        """
        self._check_open()
        arrays = batch.columns
        self._check_columns(arrays)
        if batch.num_rows == 0:
            return
        by_state = list(zip(self._states, arrays, strict=True))

        def pages_of(number: int) -> Iterable[EncodedPage]:
            state, array = by_state[number]
            return state.encoder.write(array)

        size = batch.nbytes
        self._num_bytes += size
        self._guarded(lambda: self._write_pages(pages_of, size))
        self.num_rows += batch.num_rows

    def add_global_buffer(self, data: BytesLike) -> int:
        """Write a global buffer; returns its number, from 1 on (0 is the ``FileDescriptor``)."""
        self._check_open()
        self._guarded(lambda: self._global_buffers.append(self._output.write_aligned(data)))
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
        encodings = [raw for state in self._states for raw in state.encoder.column_encodings()]
        columns = list(map(serialize_column, encodings, self._pages))
        result = self._output.write_metadata(
            self._stored, self._metadata, self.num_rows, columns, self._global_buffers
        )
        self._close()
        return result

    def _flush(self) -> None:
        """Write the pages of all waiting rows."""
        encoders = [state.encoder for state in self._states]
        is_wide = len(encoders) >= _MIN_FIELDS and not self._blobs
        if not is_wide or self._has_large_fields(self._num_bytes):
            self._write_pages(lambda number: encoders[number].flush(), self._num_bytes)
            return
        for number, page in flush_encoders(encoders, self._context):
            self._write_page(self._states[number].first_column + page.column, page)

    def _has_large_fields(self, size: int) -> bool:
        """True if the fields of arrays with ``size`` bytes are worth a thread."""
        return size >= max(_PARALLEL_BYTES, len(self._states) * _PARALLEL_FIELD_BYTES)

    def _write_pages(self, pages_of: Callable[[int], Iterable[EncodedPage]], size: int) -> None:
        """Write the ready pages of all fields; ``pages_of`` takes the number of a field.

        ``size`` is the size in bytes of the arrays. Blob fields are encoded first, so that their
        payloads precede all pages; pages are written in the order of the fields. Threads encode the
        other fields if there is enough data. The layout of the file does not depend on threads.
        """
        ready = {number: list(pages_of(number)) for number in self._blobs}

        def source(number: int) -> Iterable[EncodedPage]:
            return ready[number] if number in ready else pages_of(number)

        numbers = range(len(self._states))
        pages: Generator[tuple[int, EncodedPage], None, None]
        if not self._has_large_fields(size) or len(self._states) - len(ready) < 2:
            pages = ((number, page) for number in numbers for page in source(number))
        else:
            pages = in_order([partial(source, number) for number in numbers])
        with closing(pages):
            for number, page in pages:
                self._write_page(self._states[number].first_column + page.column, page)

    def _write_page(self, column: int, page: EncodedPage) -> None:
        self._pages[column].append(self._output.write_page(page))
