"""Write one data file from pages of other files and from rows that are encoded again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.file_versions import Field, FileVersion, FileWriteResult, Schema
from lance_core.hookspecs.stored_pages import (
    VALUES_ENCODING,
    AlignedOutput,
    ArrayEncoding,
    EncodedPage,
    EncodingRegistry,
    FieldEncoder,
    SimpleStruct,
    as_ready,
    field_encoder,
    low_retention_pool,
    page_limits,
    serialize_column,
    serialize_column_encoding,
    serialize_page,
)
from lance_core.hookspecs.stores import BytesLike, ObjectWriter
from lance_core.optimize import CompactionMetrics
from lance_core_compaction.page_copy.copied_pages import PageCopies
from lance_core_compaction.page_copy.field_layout import FieldLayout
from lance_core_compaction.page_copy.file_bytes import FileBytes, SourceFile
from lance_core_compaction.page_copy.file_rewrite import Parts, RowReader
from lance_core_compaction.page_copy.joined_pages import MAX_FIELDS, JoinedPages, value_bytes
from lance_core_compaction.page_copy.pieces import CopiedPages, EncodedRows, Piece, SourceRows
from lance_core_compaction.page_copy.source_pages import SourcePages

STANDARD_ENCODING = serialize_column_encoding(VALUES_ENCODING)[2:]
"""The serialized ``Encoding`` of all columns that pages are copied from, without tag and length.

Only columns of blobs have another one.
"""

_HEADER_ENCODING = ArrayEncoding(struct=SimpleStruct()).SerializeToString()

GROUP_BYTES, JOINED_BYTES = 1 << 20, 2 << 20
"""Bytes of the rows of several fields that are read and encoded together; `JOINED_BYTES` if their
pages join, because alike fields are decoded at once. Fields with more rows are read one by one, so
that threads share them, and few rows are in memory. Memory of this size is used again and again."""

PAGE_BYTES = 1 << 20
"""Maximum bytes of the rows of a field that wait for a page. Most fields are read in one window of
more than half of that, which becomes a page without a copy."""


@dataclass(frozen=True, slots=True)
class CopyInput:
    """Files from which pages can be copied, their pages, and the rows of each fragment."""

    files: Sequence[SourceFile]
    table: SourcePages
    rows: Sequence[SourceRows]


@dataclass(slots=True)
class _Column:
    """A column of the new file: its serialized pages, and the rows of a header column."""

    chunks: list[BytesLike] = dataclass_field(default_factory=list)
    header_rows: int = 0


@dataclass(slots=True)
class _EncodedField:
    """Rows of a field that are encoded again: pages and row counts by column of the field."""

    layout: FieldLayout
    encoder: FieldEncoder
    first_row: int
    pages: list[bytearray]
    num_rows: list[int]


_Wanted = tuple[int, int, EncodedRows]
"""The numbers of a field and of one of its pieces, and that piece."""

_PagesOfRows = list[tuple[_EncodedField, EncodedPage]]


class FileCopy:
    """A writer of one file; call `write` once."""

    def __init__(
        self,
        writer: ObjectWriter,
        schema: Schema,
        version: FileVersion,
        registry: EncodingRegistry,
        layouts: Sequence[FieldLayout],
        *,
        merges: bool,
    ) -> None:
        """``merges``: see `PageCopies`."""
        self._merges = merges
        self._writer = writer
        self._output = AlignedOutput(writer, version, has_sums=registry.sums_pages)
        self._schema = schema
        self._version = version
        self._layouts = layouts
        columns = len(schema.fields)
        self._limits = limits = page_limits(columns, PAGE_BYTES * columns, None)
        self._context = self._output.encode_context(registry, limits)
        writer.copy_with(self._context.kernels.copy_ranges)

    def write(
        self,
        source: CopyInput,
        read: RowReader,
        pieces: Sequence[Sequence[Piece]],
        num_rows: int,
        counts: CompactionMetrics,
    ) -> FileWriteResult:
        """Write the ``pieces`` of each field, and add to ``counts``.

        ``read`` reads the rows of pages that are not copied. The caller aborts the writer after an
        error.
        """
        content = FileBytes(source.table, source.files)
        self._output.has_sums |= source.table.has_sums
        copies = PageCopies(source.table, content, self._context, merges=self._merges)
        chunk_keys = {
            (field, number): copies.add(piece)
            for field, of_field in enumerate(pieces)
            for number, piece in enumerate(of_field)
            if isinstance(piece, CopiedPages)
        }
        joined = JoinedPages(source.table, content, self._version, self._context.registry)
        encoded = self._write_pages(copies, joined, read, pieces)
        columns: list[_Column] = []
        for field, (layout, of_field) in enumerate(zip(self._layouts, pieces, strict=True)):
            added = [_Column() for _ in layout.columns]
            for number, piece in enumerate(of_field):
                for index, column in enumerate(added):
                    if isinstance(piece, CopiedPages):
                        column.chunks += copies.chunks(*chunk_keys[field, number][index])
                        column.header_rows += piece.headers[index]
                    elif piece.num_rows:
                        self._add_encoded(column, index, encoded[field, number])
            columns += added
        result = self._finish(columns, num_rows)
        counts.pages_copied += copies.num_copied
        counts.bytes_copied += copies.num_bytes
        counts.pages_reencoded += copies.num_packed + sum(
            piece.num_pages
            for of_field in pieces
            for piece in of_field
            if isinstance(piece, EncodedRows)
        )
        return result

    def _add_encoded(self, column: _Column, index: int, rows: _EncodedField) -> None:
        if rows.layout.columns[index].is_header:
            column.header_rows += rows.num_rows[index]
        else:
            column.chunks.append(rows.pages[index])

    def _write_pages(
        self,
        copies: PageCopies,
        joined: JoinedPages,
        read: RowReader,
        pieces: Sequence[Sequence[Piece]],
    ) -> dict[tuple[int, int], _EncodedField]:
        """Write all pages: the copied ones and those of `EncodedRows`.

        The store copies while threads encode, and whenever a page is encoded, it is written.
        Returns what was encoded, by the numbers of field and piece.
        """
        encoded: dict[tuple[int, int], _EncodedField] = {}
        groups: list[Callable[[], Iterable[_PagesOfRows]]] = []
        for (parts, joins), rows_of_fields in self._jobs(pieces).items():
            for group in self._groups(rows_of_fields, JOINED_BYTES if joins else GROUP_BYTES):
                rows = [self._start(field, piece) for field, _, piece in group]
                encoded |= {
                    member[:2]: encoded_field
                    for member, encoded_field in zip(group, rows, strict=True)
                }
                fields = [encoded_field.layout.field for encoded_field in rows]
                arrays: Callable[[], Iterable[Sequence[pa.Array]]] = partial(read, fields, parts)
                if joins:
                    layouts, merged = (
                        [encoded_field.layout for encoded_field in rows],
                        [piece for *_, piece in group],
                    )
                    arrays = partial(_named, partial(joined.read, layouts, merged), arrays)
                groups.append(partial(_encoded_pages, arrays, rows))

        merges = copies.merged()
        self._output.reserve(copies.total_bytes)
        steps = copies.copy(self._output)

        def copies_more() -> bool:
            return next(steps, None) is not None

        # Groups take longer than merges.
        sources: list[Callable[[], Iterable[Any]]] = [*groups, *merges]
        with closing(as_ready(sources, copies_more)) as pages:
            for number, found_pages in pages:
                if number >= len(groups):
                    copies.write_merged(self._output, number - len(groups), found_pages)
                else:
                    for rows_of_page, page in found_pages:
                        self._write(rows_of_page, page)
                del found_pages
        while copies_more():
            pass
        return encoded

    def _jobs(
        self, pieces: Sequence[Sequence[Piece]]
    ) -> Mapping[tuple[Parts, bool], list[_Wanted]]:
        """The rows to encode, by what can be read together: their parts, and whether pages join."""
        jobs: dict[tuple[Parts, bool], list[_Wanted]] = {}
        for field, of_field in enumerate(pieces):
            for number, piece in enumerate(of_field):
                if isinstance(piece, EncodedRows) and piece.num_rows:
                    joins = piece.pages is not None and _can_join(self._layouts[field].field)
                    jobs.setdefault((piece.parts, joins), []).append((field, number, piece))
        return jobs

    def _groups(self, rows_of_fields: Sequence[_Wanted], limit: int) -> Iterator[Sequence[_Wanted]]:
        """Groups of ``rows_of_fields`` of up to ``limit`` bytes, to read and encode together."""
        group: list[_Wanted] = []
        size = 0
        for member in rows_of_fields:
            own = value_bytes(self._layouts[member[0]].field) * member[2].num_rows
            if group and (size + own > limit or len(group) == MAX_FIELDS):
                yield group
                group, size = [], 0
            group.append(member)
            size += own
        if group:
            yield group

    def _start(self, field: int, piece: EncodedRows) -> _EncodedField:
        layout = self._layouts[field]
        encoder = field_encoder(layout.field, self._context)
        pages = [bytearray() for _ in layout.columns]
        return _EncodedField(layout, encoder, piece.first_row, pages, [0] * len(pages))

    def _write(self, rows: _EncodedField, page: EncodedPage) -> None:
        (written,) = self._output.write_pages([page], rows.first_row)
        rows.pages[page.column] += written
        rows.num_rows[page.column] += page.num_rows

    def _finish(self, columns: Sequence[_Column], num_rows: int) -> FileWriteResult:
        layouts = [column for layout in self._layouts for column in layout.columns]
        url = self._version.page_encoding_url
        serialized = []
        for column, layout in zip(columns, layouts, strict=True):
            if layout.is_header:
                column.chunks = [
                    serialize_page((), column.header_rows, url, _HEADER_ENCODING, priority=0)
                ]
            serialized.append(serialize_column(VALUES_ENCODING, column.chunks))
        result = self._output.write_metadata(
            self._schema, self._schema.metadata, num_rows, serialized, []
        )
        self._writer.close()
        return result


def _can_join(field: Field) -> bool:
    """True if arrays of several files can be joined; each dictionary must stay with its pages."""
    return not any(pa.types.is_dictionary(part.storage_type) for part in field.walk())


def _encoded_pages(
    read: Callable[[], Iterable[Sequence[pa.Array]]], rows: Sequence[_EncodedField]
) -> Iterator[_PagesOfRows]:
    """The pages of rows of several fields, as soon as they are full."""

    def written(arrays: Sequence[pa.Array]) -> _PagesOfRows:
        pairs = zip(rows, arrays, strict=True)
        with low_retention_pool():
            return [(field, page) for field, array in pairs for page in field.encoder.write(array)]

    def flushed(rows: Sequence[_EncodedField]) -> _PagesOfRows:
        with low_retention_pool():
            rest = [(field, page) for field in rows for page in field.encoder.flush()]
        # Some functions of Arrow have no other pool; it would retain memory for each thread.
        pa.default_memory_pool().release_unused()
        return rest

    # While pages wait for the writer, nothing else is in memory.
    yield from filter(None, chain(map(written, read()), map(flushed, [rows])))


def _named(
    joined: Callable[[], Iterable[Sequence[pa.Array]]],
    one_by_one: Callable[[], Iterable[Sequence[pa.Array]]],
) -> Iterator[Sequence[pa.Array]]:
    """The arrays of joined files; reads the files one by one if they are corrupt, to name one."""
    try:
        yield from joined()
    except CorruptFileError:
        for _ in one_by_one():
            pass
        raise
