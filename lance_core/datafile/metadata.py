"""The metadata of a 2.x data file: schema, columns, global buffers and sizes."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError, Message

from lance_core._pb.file_pb2 import Schema as StoredSchema
from lance_core._pb.frames_pb2 import DescriptorFrame
from lance_core.byte_ranges import ByteRange
from lance_core.checksums.seal import MARK, SEAL_BYTES, is_seal
from lance_core.concurrency.fork_safe import cached_property
from lance_core.datafile.column_map import column_of_schema
from lance_core.datafile.column_metadata import ColumnParser, LazyItems, parse_column_metadata
from lance_core.datafile.footer import ALIGNMENT, FOOTER_LENGTH, TABLE_ENTRY, Footer, parse_footer
from lance_core.datafile.tail import Tail
from lance_core.encodings.page import Column
from lance_core.encodings.v2_0.base import is_byte_lists
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError
from lance_core.imports.on_demand import lazy_module
from lance_core.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.datafile import page_checks
    from lance_core.datafile.page_checks import PageChecks
    from lance_core.datafile.page_statistics import PageStatistics
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.schema import Field
else:
    page_checks = lazy_module("lance_core.datafile.page_checks")

M = TypeVar("M", bound=Message)

MAX_DESCRIPTION = 32 << 20
"""Maximum size in bytes of the ``FileDescriptor`` (the schema); a larger one is a corrupt file."""

_ENTRY = struct.Struct("<QQ")

_MAX_CACHED_BYTES = 1 << 10
_MAX_CACHED_TABLE = 64 * TABLE_ENTRY
"""Maximum bytes of a column's metadata that are cached, and of the table of a file with so few
columns that they do not displace each other."""


class Columns(LazyItems[Column]):
    """The physical columns of a file, each parsed on first access.

    Access raises `CorruptFileError` if the column's metadata is invalid.
    """

    __slots__ = ("_base", "_metadata", "_table", "parser")

    def __init__(self, footer: Footer, table: memoryview, metadata: memoryview) -> None:
        """``table`` is the column offsets table, ``metadata`` the bytes of all column metadata."""
        super().__init__()
        self._base = footer.column_metadata
        self._table = bytes(table)
        self._metadata = bytes(metadata)
        self.parser = ColumnParser(footer.version, footer.column_metadata)

    def __len__(self) -> int:
        return len(self._table) // TABLE_ENTRY

    @property
    def position(self) -> int:
        """The position in the file of the column metadata, at which the data ends."""
        return self._base

    @property
    def raw_table(self) -> bytes:
        """The column offsets table: a u64 position and a u64 size for each column."""
        return self._table

    @property
    def raw_metadata(self) -> bytes:
        """The serialized ``ColumnMetadata`` messages of all columns, from `position` on."""
        return self._metadata

    @property
    def has_sums(self) -> bool:
        """True if the first page of the first column that has buffers has checksums."""
        for position, length in _ENTRY.iter_unpack(self._table):
            start = position - self._base
            column = parse_column_metadata(self._metadata[start : start + length])
            for page in column.pages[:1]:
                if page.buffer_sizes:
                    return bool(page.buffer_crc32c)
        return False

    @property
    def parsed(self) -> list[Column]:
        """The columns that are parsed so far."""
        return list(self._made.copy().values())

    def _make(self, index: int) -> Column:
        if not 0 <= index < len(self):
            raise IndexError(f"column {index} does not exist; the file has {len(self)} columns")
        position, length = _ENTRY.unpack_from(self._table, index * TABLE_ENTRY)
        start = position - self._base
        try:
            if not 0 <= start <= start + length <= len(self._metadata):
                raise CorruptFileError(f"its {length} bytes are outside of the column metadata")
            is_small = length <= _MAX_CACHED_BYTES and len(self._table) <= _MAX_CACHED_TABLE
            parse = self.parser.parse_cached if is_small else self.parser.parse
            return parse(self._metadata[start : start + length])
        except CorruptFileError as error:
            field = f"columns[{index}]" + (f".{error.field}" if error.field else "")
            raise CorruptFileError(error.reason, error.path, position, field) from error


class FileMetadata:
    """The metadata of one file; columns and schema are parsed on first access.

    ``size`` is in bytes. The first range of ``global_buffers`` contains the ``FileDescriptor``.
    ``is_sealed``: True if the metadata has checksums, which are right.
    """

    def __init__(
        self,
        footer: Footer,
        size: int,
        global_buffers: tuple[ByteRange, ...],
        descriptor: DescriptorFrame,
        columns: Columns,
        *,
        is_sealed: bool = False,
    ) -> None:
        self.size = size
        self.is_sealed = is_sealed
        self.global_buffers = global_buffers
        self.columns = columns
        self._footer = footer
        self._descriptor = descriptor

    @property
    def version(self) -> FileVersion:
        """The file version."""
        return self._footer.version

    @property
    def global_sums(self) -> Sequence[int]:
        """The checksums of the global buffers after the first; empty if they have none."""
        return self._descriptor.global_buffer_crc32c

    @property
    def metadata_size(self) -> int:
        """Bytes from the metadata of the first column on."""
        return self.size - self._footer.column_metadata

    @cached_property
    def num_rows(self) -> int:
        """Number of rows in the file."""
        # FileDescriptor.length may be absent; the pages of any top-level column have all rows.
        length = self._descriptor.length
        return length or (self.columns[0].num_rows if len(self.columns) else 0)

    @property
    def rows_per_group(self) -> int | None:
        """None: only 0.1 files have batches."""
        return None

    @cached_property
    def schema(self) -> Schema:
        """The fields of the file with their ids, and the metadata of the schema.

        Raises `CorruptFileError`, with the offset of the schema buffer.
        """
        try:
            return _schema(self._descriptor.schema)
        except CorruptFileError as error:
            raise error.at(offset=self.global_buffers[0].start) from error

    def check_field(self, field: Field, column_of: Mapping[int, int]) -> None:
        """Raise `CorruptFileError` if the field's own column has fewer or more rows than the file.

        Fields without a column of their own are not checked.
        """
        index = column_of.get(field.id)
        if index is None or index < 0:
            return
        try:
            rows = self.column(index).num_rows
        except CorruptFileError as error:
            raise error.at(field=field.name) from error
        if rows != self.num_rows:
            raise CorruptFileError(
                f"the pages of column {index} have {rows} rows, the file has {self.num_rows}",
                field=field.name,
            )

    def decode_fields(
        self,
        fields: Sequence[Field],
        column_of: Mapping[int, int],
        rows: AnyRows,
        context: DecodeContext,
    ) -> Iterator[Decoding[list[pa.Array]]]:
        """See `lance_core.datafile.content.FileContent`."""
        # What `dispatch.decode_field` does, with one look-up of the decoder.
        decode = context.registry.decoder(context.version).decode_field
        arguments = repeat(column_of), repeat(self.columns), repeat(rows), repeat(context)
        return map(decode, fields, *arguments)

    def field_bytes(self, field: Field, index: int) -> int:
        """Bytes in the pages of a field whose column is ``index``."""
        columns = [self.column(index)]
        if self.version.may_have_byte_lists and is_byte_lists(field.storage_type, columns[0]):
            columns.append(self.column(index + 1))
        pages = (page for column in columns for page in column.pages)
        return sum(buffer.length for page in pages for buffer in page.buffers)

    def page_statistics(
        self, fields: Sequence[Field], context: DecodeContext
    ) -> Decoding[PageStatistics | None]:
        """Always None: 2.x files have no page statistics."""
        yield from ()
        return None

    def column(self, index: int) -> Column:
        """Physical column number ``index``. Raises `CorruptFileError` if it does not exist."""
        if index >= len(self.columns):
            raise CorruptFileError(f"column {index} is missing, the file has {len(self.columns)}")
        return self.columns[index]

    def page_checks(self) -> PageChecks:
        """What checks the pages of the file; raises `CorruptFileError`."""
        return page_checks.PageChecks([self.columns], [self.is_sealed], name_of=self._name_of)

    def _name_of(self, column: int) -> str:
        """The name of the field with a column, for errors."""
        columns = column_of_schema(self.schema, self.version)
        fields = {field.id: field for field in self.schema.walk()}
        return next((fields[id_].name for id_, at in columns.items() if at == column), str(column))

    @property
    def num_column_metadata_bytes(self) -> int:
        """Size in bytes of the column metadata and its offsets table."""
        return self._footer.global_offsets - self._footer.column_metadata

    @property
    def num_global_buffer_bytes(self) -> int:
        """Size in bytes of all global buffers, without padding."""
        return sum(buffer.length for buffer in self.global_buffers)

    @property
    def num_data_bytes(self) -> int:
        """Size in bytes of the data before the column metadata, without global buffers."""
        return self._footer.column_metadata - self.num_global_buffer_bytes


def read_metadata(tail: Tail) -> FileMetadata:
    """Read the metadata of the 2.x file whose last bytes are in ``tail``.

    Makes no request if the tail contains all metadata, one request if it contains the offset
    tables, and two otherwise. Raises `CorruptFileError` and `UnsupportedFeatureError`.
    """
    size = tail.size
    (ending,) = tail.read([ByteRange(max(0, size - FOOTER_LENGTH), size)])
    footer = parse_footer(ending, size)
    columns_table, buffers_table = tail.read([footer.column_table, footer.global_table])
    _check_packed(footer, columns_table)
    global_buffers = _global_buffers(footer, buffers_table)
    region = ByteRange(footer.column_metadata, size)
    description, rest = tail.read([global_buffers[0], region])
    end, position = max(0, len(description) - SEAL_BYTES), global_buffers[0].start
    is_sealed = is_seal(description[end:], description[:end], rest, position)
    if not is_sealed and description[: len(MARK)] == MARK:
        raise CorruptFileError("the checksums of the metadata are damaged", offset=position)
    metadata = rest[: footer.column_offsets - footer.column_metadata]
    return FileMetadata(
        footer,
        size,
        global_buffers,
        _descriptor(description, position),
        Columns(footer, columns_table, metadata),
        is_sealed=is_sealed,
    )


def _check_packed(footer: Footer, table: memoryview) -> None:
    """Raise `CorruptFileError` if the metadata region is larger than all columns plus padding.

    Without this check, a wrong position could make a reader read a whole file as metadata.
    """
    used = sum([length for _, length in _ENTRY.iter_unpack(table)])
    region = footer.column_offsets - footer.column_metadata
    if region > used + footer.num_columns * ALIGNMENT:
        raise CorruptFileError(
            f"{footer.num_columns} columns need {used} bytes of metadata, not {region}",
            offset=footer.column_metadata,
            field="footer.column_metadata",
        )


def _global_buffers(footer: Footer, table: memoryview) -> tuple[ByteRange, ...]:
    ranges = []
    for number, (start, length) in enumerate(_ENTRY.iter_unpack(table)):
        if start + length > footer.column_metadata:
            raise CorruptFileError(
                f"{length} bytes at {start} reach into the column metadata",
                offset=footer.global_offsets + number * TABLE_ENTRY,
                field=f"global_buffers[{number}]",
            )
        ranges.append(ByteRange(start, start + length))
    if ranges[0].length > MAX_DESCRIPTION:
        raise CorruptFileError(
            f"a description of {ranges[0].length} bytes is too long",
            offset=footer.global_offsets,
            field="global_buffers[0]",
        )
    return tuple(ranges)


def _descriptor(raw: memoryview, position: int) -> DescriptorFrame:
    """The ``FileDescriptor`` with an undecoded schema, which most reads do not need."""
    try:
        return _parsed(DescriptorFrame, bytes(raw))
    except CorruptFileError as error:
        raise error.at(offset=position) from error


@lru_cache(maxsize=16)
def _schema(data: bytes) -> Schema:
    """The schema of a file. Cached: many files have the same one, such as those of indices."""
    stored = _parsed(StoredSchema, data)
    return Schema.from_proto(stored.fields, stored.metadata)


def _parsed(message_type: type[M], data: bytes) -> M:
    """Decode the ``FileDescriptor`` or a part of it."""
    try:
        return message_type.FromString(data)
    except DecodeError as error:
        raise CorruptFileError(
            "the bytes are not a valid FileDescriptor message", field="global_buffers[0]"
        ) from error
