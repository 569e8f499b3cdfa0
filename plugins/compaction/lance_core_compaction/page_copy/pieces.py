"""Divide the rows of a field into pieces: pages that are copied, and rows that are encoded again.

A unit is the smallest part: rows between page boundaries that all columns of the field have in
common. A source without deleted rows is one unit. Rows of a unit with deleted rows are encoded
again; so are neighbouring units with small pages, because each page has a fixed cost for readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import edges_of, spans_index
from lance_core.hookspecs.stored_pages import ColumnParser, Ints
from lance_core_compaction.page_copy.field_layout import FieldLayout
from lance_core_compaction.page_copy.nullable_structs import nullable_structs
from lance_core_compaction.page_copy.source_pages import SourcePages

NO_COPY = -1
"""Instead of a column's number, if its pages cannot be copied."""


MERGE_BYTES, MERGE_ROWS = 16 << 10, 4096
"""Average bytes and rows of pages below which neighbouring pages are encoded again.

A page costs readers as much as decoding a few thousand values; pages of more rows or bytes stay.
"""


Parts = tuple[tuple[int, int, int], ...]
"""Physical rows ``start`` to ``stop`` of sources, as (source, start, stop)."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """Rows of one fragment: ``num_rows`` with those at the ascending offsets ``deleted``.

    ``columns``: for each column of the new file, the number of the column in the page table, or
    `NO_COPY`. ``path`` names the fragment in errors.
    """

    num_rows: int
    deleted: Ints
    columns: Ints
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class CopiedPages:
    """Pages to copy: for each column of the field, their numbers in the page table.

    ``shifts``: what to add to the priority of each page. ``headers``: for each column, the rows of
    its header pages, which are not among the pages.
    """

    pages: tuple[Ints, ...]
    shifts: tuple[Ints, ...]
    headers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRows:
    """Live rows to encode again: parts (source, start, stop) in physical rows.

    ``first_row`` is the row of the new file at which they begin. ``num_pages``: number of pages
    whose rows they are, 0 for rows whose pages cannot be copied. ``pages``: for each column of the
    field, the pages with exactly the physical rows of ``parts``; None if parts have other pages.
    ``deleted``: the deleted rows, counted from the first physical row.
    """

    parts: Parts
    first_row: int
    num_rows: int
    num_pages: int
    pages: tuple[Ints, ...] | None
    deleted: Ints


Piece = CopiedPages | EncodedRows


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Units in row order. ``first`` and ``last`` (exclusive): page numbers, by column of the field.

    ``is_copied`` is false for units that must be encoded again. ``has_pages``: true for units whose
    pages are known, even if some of their rows are deleted.
    """

    source: Ints
    start: Ints
    stop: Ints
    live: Ints
    first: Ints
    last: Ints
    is_copied: npt.NDArray[np.bool_]
    has_pages: npt.NDArray[np.bool_]

    def between(self, first: int, stop: int) -> _Units:
        """The units from number ``first`` to ``stop``."""
        return _Units(*(getattr(self, name)[first:stop] for name in _UNIT_FIELDS))


class _Sources(NamedTuple):
    """What all fields need of ``parts``: the columns, rows and deleted rows of each.

    ``spans`` has the parts of pieces that were found, because most fields have equal ones.
    """

    parts: Sequence[SourceRows]
    columns: Ints
    num_rows: Ints
    num_deleted: Ints
    spans: dict[bytes, Parts]

    @classmethod
    def of(cls, parts: Sequence[SourceRows]) -> _Sources:
        columns = np.array([part.columns for part in parts], np.int64).reshape(len(parts), -1)
        rows = np.array([part.num_rows for part in parts], np.int64)
        deleted = np.array([len(part.deleted) for part in parts], np.int64)
        return cls(parts, columns, rows, deleted, {})

    def span(self, units: _Units) -> Parts:
        """The physical rows of ``units``: the same object for the same rows."""
        rows = np.stack([units.source, units.start, units.stop])
        key = rows.tobytes()
        if key not in self.spans:
            self.spans[key] = tuple(zip(*rows.tolist(), strict=True))
        return self.spans[key]


def pieces_of_fields(
    layouts: Sequence[FieldLayout],
    table: SourcePages,
    sources: Sequence[SourceRows],
    parser: ColumnParser,
    *,
    merges: bool,
) -> list[list[Piece]]:
    """The pieces of each field in row order.

    ``parser``: parses the encodings of pages. ``merges``: True to encode neighbouring units with
    small pages again. Raises `CorruptFileError` if a column has more or fewer rows than its source,
    or if an encoding is not a message.
    """
    whole = _Sources.of(sources)
    return [_pieces_of_field(layout, table, whole, parser, merges=merges) for layout in layouts]


def _pieces_of_field(
    layout: FieldLayout,
    table: SourcePages,
    sources: _Sources,
    parser: ColumnParser,
    *,
    merges: bool,
) -> list[Piece]:
    units = _units(layout, table, sources)
    count = np.zeros(len(units.source), np.int64)
    size = count.copy()
    for number in layout.data_columns:
        first, last = units.first[:, number], units.last[:, number]
        count += last - first
        size += table.byte_ends[last] - table.byte_ends[first]
    values = (units.stop - units.start) * len(layout.data_columns)
    is_small = units.is_copied & (size < MERGE_BYTES * count) & (values < MERGE_ROWS * count)
    is_small &= merges
    encoded = _encoded(units.is_copied, is_small, count, len(layout.data_columns))
    if layout.has_structs_of_lists:
        encoded |= _other_structs(layout, table, units, encoded, parser)
    rows = edges_of(units.live)
    edges = [0, *(np.flatnonzero(np.diff(encoded)) + 1).tolist(), len(encoded)]
    pieces: list[Piece] = []
    for start, stop in pairwise(edges):
        if start == stop:
            continue
        if not encoded[start]:
            pieces.append(_copied(layout, table, units, rows, slice(start, stop)))
            continue
        num_pages = int(count[start:stop].sum())
        first_row, num_rows = int(rows[start]), int(rows[stop] - rows[start])
        units_of_piece = units.between(start, stop)
        pieces.append(
            _encoded_rows(layout, sources, units_of_piece, first_row, num_rows, num_pages)
        )
    return pieces


def _other_structs(
    layout: FieldLayout,
    table: SourcePages,
    units: _Units,
    encoded: npt.NDArray[np.bool_],
    parser: ColumnParser,
) -> npt.NDArray[np.bool_]:
    """Units with pages that must not be in one file with the others, of which some are ``encoded``.

    See `lance_core_compaction.page_copy.nullable_structs`.
    """
    is_excluded = np.zeros(len(encoded), np.bool_)
    is_mixed = bool(encoded.any())
    for number, column in enumerate(layout.columns):
        if not column.has_struct_of_lists:
            continue
        first, last = units.first[:, number], units.last[:, number]
        pages = spans_index(first, last)
        starts, stops = table.encoding_starts[pages].tolist(), table.middle_stops[pages].tolist()
        encodings = [table.raw[start:stop] for start, stop in zip(starts, stops, strict=True)]
        structs = {
            encoding: nullable_structs(parser.page_encoding(encoding))
            for encoding in set(encodings)
        }
        is_mixed |= len(set(structs.values())) > 1
        is_other = np.array([not all(structs[encoding]) for encoding in encodings], np.bool_)
        is_excluded[np.repeat(np.arange(len(is_excluded)), last - first)[is_other]] = True
    return is_excluded if is_mixed else np.zeros_like(is_excluded)


def _encoded_rows(
    layout: FieldLayout,
    sources: _Sources,
    units: _Units,
    first_row: int,
    num_rows: int,
    num_pages: int,
) -> EncodedRows:
    parts, pages = sources.span(units), None
    if units.has_pages.all():
        columns = range(len(layout.columns))
        pages = tuple(spans_index(units.first[:, n], units.last[:, n]) for n in columns)
    deleted, base = [np.empty(0, np.int64)], 0
    for source, start, stop in parts if num_rows < (units.stop - units.start).sum() else ():
        gone = sources.parts[source].deleted
        first, last = np.searchsorted(gone, [start, stop])
        deleted.append(gone[first:last] + (base - start))
        base += stop - start
    return EncodedRows(parts, first_row, num_rows, num_pages, pages, np.concatenate(deleted))


def _encoded(
    is_copied: npt.NDArray[np.bool_],
    is_small: npt.NDArray[np.bool_],
    count: Ints,
    columns: int,
) -> npt.NDArray[np.bool_]:
    """The units to encode again: all that must be, and small ones in a run with several pages."""
    candidate = is_small | ~is_copied
    edges = [0, *(np.flatnonzero(np.diff(candidate)) + 1).tolist(), len(candidate)]
    encoded = ~is_copied
    for start, stop in pairwise(edges):
        if start < stop and candidate[start]:
            several = count[start:stop].sum() > columns or not is_copied[start:stop].all()
            encoded[start:stop] |= several
    return encoded


def _units(layout: FieldLayout, table: SourcePages, sources: _Sources) -> _Units:
    numbers = sources.columns[:, layout.first_column : layout.last_column]
    is_copied = (numbers != NO_COPY).all(axis=1)
    first = np.zeros_like(numbers)
    last = first.copy()
    first[is_copied] = table.first_page[numbers[is_copied]]
    last[is_copied] = table.first_page[numbers[is_copied] + 1]
    rows, parts = sources.num_rows, sources.parts
    _check_rows(
        layout, parts, np.where(is_copied, rows, -1), table.row_ends[last] - table.row_ends[first]
    )
    deleted = sources.num_deleted
    whole = _Units(
        *(np.arange(len(parts)), np.zeros_like(rows), rows, rows - deleted, first, last),
        is_copied & (deleted == 0),
        is_copied,
    )
    has_several = (last - first)[:, layout.data_columns].max(axis=1, initial=0) > 1
    cut_units, start = [], 0
    for number in np.flatnonzero(is_copied & (deleted > 0) & has_several).tolist():
        cut_units.append(whole.between(start, number))
        cut_units.append(_cut(layout, table, whole, number, parts[number].deleted))
        start = number + 1
    return _joined([*cut_units, whole.between(start, len(parts))])


_UNIT_FIELDS = ("source", "start", "stop", "live", "first", "last", "is_copied", "has_pages")


def _joined(parts: Sequence[_Units]) -> _Units:
    if len(parts) == 1:
        return parts[0]
    names = _UNIT_FIELDS
    return _Units(*(np.concatenate([getattr(units, name) for units in parts]) for name in names))


def _check_rows(
    layout: FieldLayout, sources: Sequence[SourceRows], expected: Ints, actual: Ints
) -> None:
    """Raise `CorruptFileError` unless columns have the ``expected`` rows; -1 stands for any."""
    for number, column in enumerate(layout.columns):
        if column.scale is None:
            continue
        wrong = np.flatnonzero((expected >= 0) & (actual[:, number] != expected * column.scale))
        if len(wrong):
            source = int(wrong[0])
            raise CorruptFileError(
                f"the pages of a column have {actual[source, number]} rows, the fragment has "
                f"{expected[source]}",
                path=sources[source].path,
                field=layout.field.name,
            )


def _cut(
    layout: FieldLayout, table: SourcePages, whole: _Units, source: int, deleted: Ints
) -> _Units:
    """The units of one source with deleted rows, cut where its pages with such rows begin and end.

    ``whole``: the units of all sources, of which this one's pages are known.
    """
    at = slice(source, source + 1)
    edges = np.array([0, int(whole.stop[source])])
    if all(column.scale is not None for column in layout.columns):
        edges = _common_edges(layout, table, whole.first[source], whole.last[source])
    gone = np.diff(np.searchsorted(deleted, edges))
    is_edge = np.ones(len(edges), np.bool_)
    # Neighbouring units that are both copied, or both not, are one unit.
    is_edge[1:-1] = (gone[1:] > 0) != (gone[:-1] > 0)
    edges = edges[is_edge]
    live = np.diff(edges) - np.diff(np.searchsorted(deleted, edges))
    first = np.repeat(whole.first[at], len(live), axis=0)
    last = np.repeat(whole.last[at], len(live), axis=0)
    if len(live) > 1:
        for number in layout.data_columns:
            scale = layout.columns[number].scale or 1
            pages = slice(first[0, number], last[0, number] + 1)
            starts = table.row_ends[pages] - table.row_ends[pages.start]
            pages_at_edges = np.searchsorted(starts, edges * scale) + pages.start
            first[:, number], last[:, number] = pages_at_edges[:-1], pages_at_edges[1:]
    return _Units(
        *(np.full(len(live), source), edges[:-1], edges[1:], live, first, last),
        live == np.diff(edges),
        np.ones(len(live), np.bool_),
    )


def _common_edges(layout: FieldLayout, table: SourcePages, first: Ints, last: Ints) -> Ints:
    """The rows at which pages of all columns of the field begin, and the number of rows."""

    def edges(number: int) -> Ints:
        ends = table.row_ends[first[number] : last[number] + 1]
        scale = layout.columns[number].scale or 1
        relative = ends - ends[0]
        return np.unique(relative[relative % scale == 0] // scale)

    return reduce(np.intersect1d, map(edges, layout.data_columns))


def _copied(
    layout: FieldLayout, table: SourcePages, units: _Units, rows: Ints, at: slice
) -> CopiedPages:
    shift = rows[at] - units.start[at]
    pages, shifts, headers = [], [], []
    for number, column in enumerate(layout.columns):
        first, last = units.first[at, number], units.last[at, number]
        header = 0
        if column.is_header:
            inside = table.row_ends[last] - table.row_ends[first]
            header = int((inside if column.scale is None else units.live[at]).sum())
            last = first
        pages.append(spans_index(first, last))
        shifts.append(np.repeat(shift, last - first))
        headers.append(header)
    return CopiedPages(tuple(pages), tuple(shifts), tuple(headers))
