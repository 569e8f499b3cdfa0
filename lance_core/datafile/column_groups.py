"""Decode small columns of one type together.

A file with thousands of columns and few rows has one small page for each column. Python's fixed
cost of a page exceeds the cost of its values. So the pages of many columns are parsed at once, and
those with equal encodings are decoded as if they were pages of one column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.datafile.single_pages import column_pages
from lance_core.encodings.dispatch import decode_columns, decode_field, group_key
from lance_core.encodings.page import Column, GroupKey
from lance_core.errors import LanceError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.datafile.column_metadata import PageEncoding
    from lance_core.datafile.metadata import FileMetadata
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page_arrays import PageArrays
    from lance_core.schema import Field

MIN_FIELDS = 32
"""Minimum number of fields of a read to form groups; with fewer, there is little to save."""

_MIN_COLUMNS = 2
_MAX_ROWS = 1 << 20
_MAX_BYTES = 4 << 20
"""Maximum rows and stored bytes of a group: the arrays of its columns share memory."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnGroup:
    """Columns to decode together.

    ``places``: the positions of ``fields`` among the fields that are read. ``numbers``: the numbers
    of their columns in the file. ``joined`` has the pages of all columns, which share ``key``.
    """

    places: tuple[int, ...]
    fields: tuple[Field, ...]
    numbers: tuple[int, ...]
    joined: Column
    key: GroupKey

    def decode(
        self, columns: Sequence[Column], rows: AnyRows, context: DecodeContext
    ) -> Decoding[list[list[pa.Array]]]:
        """The arrays of each column, as `decode_field` returns them; raises its errors."""
        try:
            return (yield from decode_columns(self.fields[0], self.joined, self.key, rows, context))
        except (LanceError, MemoryError):
            # Decode each column alone, so that the error names the damaged one.
            results = []
            for field, number in zip(self.fields, self.numbers, strict=True):
                column_of = {field.id: number}
                results.append((yield from decode_field(field, column_of, columns, rows, context)))
            return results


def column_groups(
    fields: Sequence[Field],
    column_of: Mapping[int, int],
    content: FileMetadata,
    context: DecodeContext,
) -> tuple[list[ColumnGroup], list[int]]:
    """The groups of the columns of ``fields``, and the indices of the fields in no group.

    The columns of all groups have the rows of the file.
    """
    numbers = [-1 if field.children else column_of.get(field.id, -1) for field in fields]
    found = _field_pages(numbers, content)
    if found is None:
        return [], list(range(len(fields)))
    rest: list[int] = []
    alike: dict[tuple[pa.DataType, GroupKey], list[int]] = {}
    # What follows from an encoding and a number of buffers is found once.
    known: dict[tuple[str, int, int], tuple[list[int], int]] = {}
    kinds, num_buffers = found.pages.kinds.tolist(), np.diff(found.pages.edges).tolist()
    for place, page in enumerate(found.of_field):
        if page < 0:
            rest.append(place)
            continue
        kind = fields[place].logical_type, kinds[page], num_buffers[page]
        if kind not in known:
            type_ = fields[place].storage_type
            key = group_key(found.pages[page], type_, context)
            members = rest if key is None else alike.setdefault((type_, key), [])
            known[kind] = members, 0 if key is None else key.max_page_bytes
        members, most = known[kind]
        (members if found.sizes[page] <= most else rest).append(place)
    groups = []
    for (_, key), places in alike.items():
        for part in _parts(places, found, content.num_rows) if key.is_copied else [places]:
            if len(part) < _MIN_COLUMNS:
                rest += part
            else:
                groups.append(_group(part, fields, numbers, found, key))
    return groups, sorted(rest)


class _FieldPages(NamedTuple):
    """The pages of the columns of some fields.

    Field i has the page ``of_field[i]``, or -1 if it has several or is damaged. ``sizes`` has the
    stored bytes of each page. ``encoding`` is that of all columns.
    """

    pages: PageArrays
    of_field: list[int]
    sizes: list[int]
    encoding: PageEncoding


def _field_pages(numbers: Sequence[int], content: FileMetadata) -> _FieldPages | None:
    """The pages of fields, which are the columns ``numbers``; None if none can be grouped."""
    count = len(content.columns)
    columns = np.array(numbers, np.int64)
    is_column = (columns >= 0) & (columns < count)
    found = column_pages(content.columns, np.unique(columns[is_column]))
    if found is None or not content.num_rows:
        return None
    has_rows = np.flatnonzero(found.pages.num_rows == content.num_rows)
    page_of = np.full(count + 1, -1)
    page_of[found.numbers[has_rows]] = has_rows
    of_field = page_of[np.where(is_column, columns, count)].tolist()
    ends = np.concatenate([[0], np.cumsum(found.pages.stops - found.pages.starts)])
    sizes = np.diff(ends[found.pages.edges]).tolist()
    return _FieldPages(found.pages, of_field, sizes, found.encoding)


def _parts(places: Sequence[int], found: _FieldPages, num_rows: int) -> list[list[int]]:
    """The fields at ``places`` in groups of limited size."""
    parts: list[list[int]] = []
    most = max(1, _MAX_ROWS // num_rows)
    size = 0
    for place in places:
        mine = found.sizes[found.of_field[place]]
        size += mine
        if not parts or len(parts[-1]) == most or size > _MAX_BYTES:
            parts.append([])
            size = mine
        parts[-1].append(place)
    return parts


def _group(
    places: Sequence[int],
    fields: Sequence[Field],
    numbers: Sequence[int],
    found: _FieldPages,
    key: GroupKey,
) -> ColumnGroup:
    pages = found.pages.taken(np.array([found.of_field[place] for place in places]))
    starts = [0, *np.cumsum(pages.num_rows).tolist()]
    return ColumnGroup(
        tuple(places),
        tuple([fields[place] for place in places]),
        tuple([numbers[place] for place in places]),
        Column(pages, (), found.encoding, starts),
        key,
    )
