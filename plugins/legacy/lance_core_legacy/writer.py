"""Write one data file of version 0.1 as batches of a fixed number of rows.

Order of the parts in the file: the pages of each batch; the page table; the pages of the statistics
and their page table; the dictionary values; the schema; the metadata; the footer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import concat_arrays
from lance_core.hookspecs.file_versions import (
    Field,
    FileOptions,
    FileOutput,
    FileVersion,
    FileWriteResult,
    Manifest,
    Metadata,
    Schema,
    check_dictionary,
    dictionary_fields,
    encode_metadata,
    encoding_of,
    logical_type_of,
    refuse_value_encodings,
    serialize_dictionary,
    with_changed_dictionaries,
)
from lance_core.hookspecs.stores import BytesLike, ObjectWriter
from lance_core_legacy.metadata import FOOTER, LENGTH
from lance_core_legacy.pages import write_pages
from lance_core_legacy.statistics_collector import Collector, covered


def open_legacy_writer(
    writer: ObjectWriter, schema: Schema, options: FileOptions, **_: Any
) -> LegacyFileWriter:
    """A writer of a 0.1 file, which needs neither a registry nor a storage of blobs."""
    return LegacyFileWriter(writer, schema, options)


MAGIC = b"LANC"
"""The last bytes of each file."""

MAX_ROWS = (1 << 31) - 1
"""Maximum number of rows in a file: the format stores row numbers as int32."""


_DEFAULT_OPTIONS = FileOptions()


class LegacyFileWriter(FileOutput):
    """Writes one 0.1 file. Rows are buffered until they fill a batch."""

    def __init__(
        self, writer: ObjectWriter, schema: Schema, options: FileOptions = _DEFAULT_OPTIONS
    ) -> None:
        """Dictionary fields of ``schema`` must have ``dictionary_values``.

        Raises `UnsupportedFeatureError` if a field's metadata requests an encoding of a plugin.
        """
        super().__init__(writer, schema, FileVersion("0.1"))
        refuse_value_encodings(schema.fields, self.version)
        self._pages = _Pages(writer)
        self._rows_per_group = options.max_rows_per_group
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._edges = [0]
        self._statistics = {
            field.id: Collector(field.storage_type) for field in covered(schema.fields)
        }

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append the rows of ``batch``, which has the columns of `Schema.storage_schema`.

        Raises `SchemaMismatchError` before writing if the columns or the values of a dictionary
        differ from the schema, and `InvalidInputError` for more than `MAX_ROWS` rows.
        """
        self._check_open()
        self._check_columns(batch.schema)
        for array, field in zip(batch.columns, self.schema.fields, strict=True):
            check_dictionary(array, field)
        if self.num_rows + batch.num_rows > MAX_ROWS:
            raise InvalidInputError(f"a file of version 0.1 cannot have more than {MAX_ROWS} rows")
        self.num_rows += batch.num_rows
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, self._rows_per_group - self._waiting_rows)
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            start += part.num_rows
            if self._waiting_rows == self._rows_per_group:
                self._guarded(self._write_group)

    def tell(self) -> int:
        """Number of bytes written so far, without the rows buffered for the next batch."""
        return self._pages.tell()

    def _write_group(self) -> None:
        waiting, self._waiting = self._waiting, []
        rows, self._waiting_rows = self._waiting_rows, 0
        for number, field in enumerate(self.schema.fields):
            array = concat_arrays([batch.column(number) for batch in waiting])
            self._collect(field, array)
            write_pages(field, array, self._pages)
        self._pages.next_batch()
        self._edges.append(self._edges[-1] + rows)

    def _collect(self, field: Field, array: pa.Array) -> None:
        collector = self._statistics.get(field.id)
        if collector is not None:
            collector.add(array)
        elif field.is_struct:
            for number, child in enumerate(field.children):
                self._collect(child, array.field(number))

    def _finish(self) -> FileWriteResult:
        if self._waiting_rows:
            self._write_group()
        pages, ids = self._pages, self.schema.field_ids
        metadata = Metadata(batch_offsets=self._edges)
        metadata.page_table_position = pages.write_table(min(ids, default=0))
        if self._statistics and len(self._edges) > 1:
            self._write_statistics(metadata.statistics)
        schema = self._write_dictionaries()
        manifest = Manifest(
            fields=schema.to_proto(), schema_metadata=encode_metadata(schema.metadata), version=1
        )
        manifest.data_format.file_format, manifest.data_format.version = "lance", "0.1"
        metadata.manifest_position = pages.write_block(
            manifest.SerializeToString(deterministic=True)
        )
        position = pages.write_block(metadata.SerializeToString(deterministic=True))
        pages.write(FOOTER.pack(position, *self.version.footer, MAGIC))
        self._close()
        return FileWriteResult(self.num_rows, pages.tell(), tuple(sorted(ids)), (), self.version)

    def _write_statistics(self, message: Metadata.StatisticsMetadata) -> None:
        pages = _Pages(self._writer, self._pages.tell())
        fields = []
        for number, (field_id, collector) in enumerate(sorted(self._statistics.items())):
            struct = _statistics_field(number * 4, field_id, self.schema.field_by_id(field_id))
            for child, column in zip(struct.children, collector.columns(), strict=True):
                write_pages(child, column, pages)
            fields.append(struct)
        pages.next_batch()
        schema = Schema(tuple(fields))
        message.schema.extend(schema.to_proto())
        message.fields.extend(schema.field_ids)
        message.page_table_position = pages.write_table(0)
        self._pages.position = pages.position

    def _write_dictionaries(self) -> Schema:
        """Write the dictionary values; returns the schema with their positions."""
        placed = {}
        for field in dictionary_fields(self.schema):
            content, placed[field.id] = serialize_dictionary(
                field.dictionary_values, self._pages.tell()
            )
            self._pages.write(content)
        return with_changed_dictionaries(
            self.schema, lambda field: dataclasses.replace(field, dictionary=placed[field.id])
        )


class _Pages:
    """The `PageSink` of a file: writes bytes, and collects page positions for the page table."""

    def __init__(self, writer: ObjectWriter, position: int = 0) -> None:
        self.position = position
        self._writer = writer
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        self._batch = 0

    def tell(self) -> int:
        return self.position

    def write(self, data: BytesLike) -> None:
        self._writer.write(data)
        self.position += memoryview(data).nbytes

    def write_block(self, content: bytes) -> int:
        """Write a u32 length and a message; returns the position of the length."""
        start = self.position
        self.write(LENGTH.pack(len(content)) + content)
        return start

    def add_page(self, field_id: int, position: int, length: int) -> None:
        self._places.setdefault(field_id, []).append((self._batch, position, length))

    def next_batch(self) -> None:
        self._batch += 1

    def write_table(self, first: int) -> int:
        """Write the page table of the field ids from ``first`` on; returns its position."""
        start = self.position
        last = max(self._places, default=first - 1)
        for field_id in range(first, last + 1):
            entries = np.zeros((self._batch, 2), "<i8")
            if field_id in self._places:
                table = np.array(self._places[field_id], "<i8")
                entries[table[:, 0]] = table[:, 1:]
            self.write(pa.py_buffer(entries))
        return start


def _statistics_field(id_: int, field_id: int, about: Field | None) -> Field:
    """The statistics struct of a field; the struct and its members get the ids from ``id_`` on."""
    assert about is not None
    bound = logical_type_of(about.storage_type)
    assert bound is not None
    members: Sequence[tuple[str, str, bool]] = [
        ("null_count", "int64", False),
        ("min_value", bound, True),
        ("max_value", bound, True),
    ]
    children = tuple(
        Field(name, member_type, nullable, id_ + number, id_, encoding=encoding_of(member_type))
        for number, (name, member_type, nullable) in enumerate(members, 1)
    )
    return Field(str(field_id), "struct", False, id_, children=children)
