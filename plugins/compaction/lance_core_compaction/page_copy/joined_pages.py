"""Read the pages of many files as columns of one file: each column is planned and decoded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from google.protobuf.empty_pb2 import Empty

from lance_core.hookspecs.arrays import (
    concat_arrays,
    edges_of,
    from_numpy,
    has_fixed_width,
    spans_index,
)
from lance_core.hookspecs.file_versions import (
    DecodeContext,
    Decoding,
    Field,
    FileVersion,
    RowRange,
    Rows,
    run_interleaved,
)
from lance_core.hookspecs.stored_pages import (
    GAP,
    Column,
    ColumnEncoding,
    ColumnParser,
    EncodingRegistry,
    Ints,
    PageArrays,
    PageEncoding,
    bit_width,
    decode_field,
    is_plain,
    low_retention_pool,
    packed_rows,
    run_decoding,
    split_columns,
    take_rows,
)
from lance_core_compaction.page_copy.field_layout import FieldLayout
from lance_core_compaction.page_copy.file_bytes import FileBytes
from lance_core_compaction.page_copy.pieces import EncodedRows
from lance_core_compaction.page_copy.source_pages import SourcePages

_VALUES = ColumnEncoding(values=Empty())

WINDOW_BYTES, NUMBERS_BYTES = 4 << 20, 2 << 20
"""Target bytes of the rows that are decoded at once, and of those of one field of fixed width.

Alike fields are decoded at once, and strings are estimated generously. More windows would take
longer for them.
"""

_PROBABLE_BYTES, _MAX_EXPANSION = 16, 4
"""Assumed bytes of a value, and of a stored byte, in memory."""

_SPARSE = 8
"""Windows of which at most one row in this many is live are read row by row."""

MAX_FIELDS = 4096
"""Maximum number of fields to read together."""

_MAX_SHARED_BYTES = 256
"""Maximum bytes of the encoding of a page that is kept for other columns: encodings that are larger
have the symbols of one page."""


def value_bytes(field: Field) -> int:
    """The assumed bytes of a value of ``field`` in memory."""
    type_ = field.storage_type
    return max(1, bit_width(type_) // 8) if has_fixed_width(type_) else _PROBABLE_BYTES


class _Group(NamedTuple):
    """``num_fields`` fields like ``field``, whose rows follow each other in ``columns``."""

    field: Field
    num_fields: int
    column_of: Mapping[int, int]
    columns: Sequence[Column]

    def decode(
        self, rows: Rows, total: int, context: DecodeContext
    ) -> Decoding[list[list[pa.Array]]]:
        """The arrays of each field with ``rows`` of its ``total`` rows."""
        all_rows = rows
        if self.num_fields > 1:
            firsts = total * np.arange(self.num_fields)
            all_rows = RowRange(0, total * self.num_fields)
            if len(rows) < total:
                all_rows = packed_rows(np.add.outer(firsts, rows.numbers).ravel())
        arrays = yield from decode_field(
            self.field, self.column_of, self.columns, all_rows, context
        )
        if self.num_fields == 1:
            return [arrays]
        return split_columns(arrays, self.num_fields, len(rows))


def _alike(layouts: Sequence[FieldLayout]) -> list[list[int]]:
    """The numbers of neighbouring fields that are decoded together, in order."""
    groups: list[list[int]] = []
    last: pa.DataType | None = None
    for number, layout in enumerate(layouts):
        type_ = layout.field.storage_type
        if is_plain(type_) and groups and type_ == last:
            groups[-1].append(number)
        else:
            groups.append([number])
        last = type_ if is_plain(type_) else None
    return groups


class JoinedPages:
    """Presents several files as one (`FileBytes`), so that each column is decoded once."""

    def __init__(
        self,
        table: SourcePages,
        content: FileBytes,
        version: FileVersion,
        registry: EncodingRegistry,
    ) -> None:
        self._table = table
        self._content = content
        end = content.ranges.span * MAX_FIELDS
        self._context = DecodeContext(GAP, end, version, registry)
        self._parser = ColumnParser(version, end)
        self._encodings: dict[bytes, PageEncoding] = {}

    def read(
        self, layouts: Sequence[FieldLayout], pieces: Sequence[EncodedRows]
    ) -> Iterator[list[pa.Array]]:
        """The live rows of the pieces of several fields, which have the same parts.

        Each field is an array of its storage type. An error does not name the file.
        """
        first = pieces[0]
        total = sum(stop - start for _, start, stop in first.parts)
        step = self._window_rows(total, layouts, pieces)
        together = _alike(layouts) if step >= total else [[n] for n in range(len(layouts))]
        groups = [
            self._group([layouts[n] for n in own], [pieces[n] for n in own]) for own in together
        ]
        for start in range(0, total, step):
            stop = min(total, start + step)
            gone = first.deleted[slice(*np.searchsorted(first.deleted, [start, stop]))]
            if len(gone) == stop - start:
                continue
            rows: Rows = RowRange(start, stop)
            live_positions = None
            if len(gone):
                live = np.delete(np.arange(stop - start), gone - start)
                # To decode all rows takes less time than to find most of them.
                if len(live) * _SPARSE > stop - start:
                    live_positions = from_numpy(live)
                else:
                    rows = packed_rows(live + start)
            decodings = [group.decode(rows, total, self._context) for group in groups]
            yield self._decoded(decodings, live_positions)

    def _group(self, layouts: Sequence[FieldLayout], pieces: Sequence[EncodedRows]) -> _Group:
        columns: list[Column] = []
        column_of: dict[int, int] = {}
        for number, layout in enumerate(layouts[0].columns):
            pages = [piece.pages[number] for piece in pieces if piece.pages is not None]
            column_of[layout.field_id] = number
            columns.append(self._column(pages))
        return _Group(layouts[0].field, len(layouts), column_of, columns)

    def _decoded(
        self, decodings: Sequence[Decoding[list[list[pa.Array]]]], positions: pa.Array | None
    ) -> list[pa.Array]:
        """An array for each field, with the rows at the positions ``positions`` if it is given."""
        with low_retention_pool():
            groups = run_decoding(run_interleaved(decodings), self._content.get)
            arrays = [concat_arrays(chunks) for group in groups for chunks in group]
            return (
                arrays if positions is None else [take_rows(array, positions) for array in arrays]
            )

    def _window_rows(
        self, total: int, layouts: Sequence[FieldLayout], pieces: Sequence[EncodedRows]
    ) -> int:
        table, size = self._table, 0
        for layout, piece in zip(layouts, pieces, strict=True):
            if has_fixed_width(layout.field.storage_type):
                size += total * value_bytes(layout.field)
                continue
            stored = 0
            for pages in piece.pages or ():
                stored += int(table.sizes_of(pages).sum())
            size += max(stored * _MAX_EXPANSION, total * value_bytes(layout.field))
        is_one = len(layouts) == 1 and has_fixed_width(layouts[0].field.storage_type)
        return max(1, total // max(1, size // (NUMBERS_BYTES if is_one else WINDOW_BYTES)))

    def _column(self, pages_of_fields: Sequence[Ints]) -> Column:
        """The pages of a column of one field after those of another, as one column."""
        table, pages = self._table, np.concatenate(pages_of_fields)
        # Decoders read pages together whose positions ascend; those of the next field would not.
        copies = np.repeat(np.arange(len(pages_of_fields)), list(map(len, pages_of_fields)))
        messages, numbers_of_messages = self._messages(pages)
        counts = table.num_buffers_of(pages)
        buffers = spans_index(table.first_buffer[pages], table.first_buffer[pages + 1])
        owners = np.repeat(table.files_of(pages), counts)
        begins = table.offsets[buffers] + self._content.ranges.bases[owners]
        begins += np.repeat(copies, counts) * self._content.ranges.span
        rows = table.rows[pages]
        arrays = PageArrays(
            [self._encoding(message) for message in messages],
            numbers_of_messages,
            rows,
            edges_of(counts),
            begins,
            begins + table.sizes[buffers],
        )
        return Column(arrays, (), _VALUES, [0, *np.cumsum(rows).tolist()])

    def _messages(self, pages: Ints) -> tuple[Sequence[bytes], Ints]:
        """The distinct serialized encodings of ``pages``, and for each page the number of its."""
        table, raw = self._table, self._table.raw
        starts, stops = table.encoding_starts[pages], table.middle_stops[pages]
        size = int(stops[0] - starts[0]) if len(pages) else 0
        if size <= _MAX_SHARED_BYTES and (stops - starts == size).all():
            octets = np.frombuffer(raw, np.uint8)[starts[:, None] + np.arange(size)]
            if (octets == octets[:1]).all():  # as of most columns of numbers
                return [octets[0].tobytes()] if len(pages) else [], np.zeros_like(pages)
        ranges = zip(starts.tolist(), stops.tolist(), strict=True)
        messages = [raw[start:stop] for start, stop in ranges]
        numbers = dict(zip(dict.fromkeys(messages), count(), strict=False))
        return list(numbers), np.array([numbers[message] for message in messages], np.int64)

    def _encoding(self, raw: bytes) -> PageEncoding:
        encoding = self._encodings.get(raw)
        if encoding is None:
            encoding = self._parser.page_encoding(raw)
            if len(raw) <= _MAX_SHARED_BYTES:
                self._encodings[raw] = encoding
        return encoding
