"""Decode small columns of one type together.

A file with thousands of columns and few rows has one small page for each column. Python's fixed
cost of a page exceeds the cost of its values. So the pages of many columns are parsed at once, and
those with equal encodings are decoded as if they were pages of one column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lance_core.datafile.column_map import column_fields
from lance_core.datafile.content import FileContent
from lance_core.datafile.fast.single_pages import column_pages
from lance_core.datafile.metadata import FileMetadata
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import RowRange, run_interleaved
from lance_core.encodings.dispatch import decode_field
from lance_core.encodings.fast.version_paths import decode_columns, group_key
from lance_core.encodings.page import Column, GroupKey
from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError
from lance_core.fast_paths import FastPath, FastPaths
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.datafile.column_metadata import PageEncoding
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page_arrays import PageArrays
    from lance_core.schema import Field

MIN_FIELDS = 32
MIN_NESTED = 4
"""Minimum number of fields of a read, or of lists or of structs among them, to form groups; with
fewer, there is little to save."""

_MIN_MEMBERS = 2
_MAX_ROWS = 1 << 20
_MAX_BYTES = 4 << 20
"""Maximum rows and stored bytes of a group: the arrays of its columns share memory."""

_MAX_PART_ROWS = 1024
"""Maximum rows of a range within nested fields: the rows of all fields are not consecutive."""


Groups: TypeAlias = "tuple[Sequence[ColumnGroup], Sequence[int]]"
"""Groups of fields, and the indices of the fields in no group."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnGroup:
    """Fields of one type to decode together, whose columns have one page each.

    ``positions``: those of ``fields`` among the fields that are read. ``parts``: the parts of the
    first field that have a column, or that field. ``joined``: for each part, the pages of this
    part of all fields, which share ``key``.
    """

    positions: tuple[int, ...]
    fields: tuple[Field, ...]
    parts: tuple[Field, ...]
    joined: tuple[Column, ...]
    key: GroupKey

    def decode(
        self,
        column_of: Mapping[int, int],
        columns: Sequence[Column],
        rows: AnyRows,
        context: DecodeContext,
    ) -> Decoding[list[list[pa.Array]]]:
        """The arrays of each field, as `decode_field` returns them; raises its errors."""
        of_parts = {part.id: number for number, part in enumerate(self.parts)}
        field, joined, key = self.fields[0], self.joined, self.key
        if not self._is_large_part(rows):
            try:
                return (yield from decode_columns(field, of_parts, joined, key, rows, context))
            except (LanceError, MemoryError):
                pass  # Decode each field alone, so that the error names the damaged one.
        alone = [decode_field(member, column_of, columns, rows, context) for member in self.fields]
        return (yield from run_interleaved(alone))

    def _is_large_part(self, rows: AnyRows) -> bool:
        """True for a part of the rows of nested fields that each field finds faster alone."""
        if not self.fields[0].children or not isinstance(rows, RowRange):
            return False
        return _MAX_PART_ROWS < len(rows) < self.joined[0].num_rows // len(self.fields)


class GroupsOfFile:
    """The groups of the fields that are read of one file; keeps those of the last read.

    ``parses_all``: True if the columns of groups are parsed, too, so that they can be read ahead.
    """

    __slots__ = ("_content", "_context", "_last", "_parses_all")

    def __init__(self, content: FileContent, context: DecodeContext, *, parses_all: bool) -> None:
        self._content = content
        self._context = context
        self._parses_all = parses_all
        self._last: tuple[Sequence[Field], Mapping[int, int], Groups] | None = None

    def groups(self, fields: Sequence[Field], column_of: Mapping[int, int]) -> Groups | None:
        """The groups of ``fields``, all of which are checked; None for fields that are few."""
        content = self._content
        if not isinstance(content, FileMetadata) or not _are_many(fields, content.version):
            return None
        if self._last is not None:
            last, columns, groups = self._last
            if columns is column_of and _are_same(last, fields):
                return groups
        groups = column_groups(fields, column_of, content, self._context)
        for position in range(len(fields)) if self._parses_all else groups[1]:
            content.check_field(fields[position], column_of)
        self._last = tuple(fields), column_of, groups
        return groups


COLUMN_GROUPS = FastPaths(FastPath.of(GroupsOfFile.groups))
"""The fields of a read that are decoded together, and the indices of the others.

Without it, opening and reading 3,000 columns of 100 rows takes 5.5 times (2.0) and 8.4 times (2.1)
the processor time, 200 columns of lists of structs 9.2 times.
"""


def _are_same(fields: Sequence[Field], others: Sequence[Field]) -> bool:
    """True if both have the same objects."""
    return len(fields) == len(others) and all(map(is_, fields, others))


def _are_many(fields: Sequence[Field], version: FileVersion) -> bool:
    """True if `column_groups` may find groups of ``fields`` in a file of ``version``."""
    if len(fields) >= MIN_FIELDS:
        return True
    if version.parents_have_columns:
        return False
    nested = [field.logical_type for field in fields if field.children]
    return len(nested) >= MIN_NESTED and max(Counter(nested).values()) >= MIN_NESTED


def column_groups(
    fields: Sequence[Field],
    column_of: Mapping[int, int],
    content: FileMetadata,
    context: DecodeContext,
) -> tuple[list[ColumnGroup], list[int]]:
    """The groups of ``fields``, and the indices of the fields in no group.

    The columns of all groups have the rows of the file.
    """
    parts = [_parts(field, context, is_one_of_many=len(fields) >= MIN_FIELDS) for field in fields]
    field_pages = _field_pages(parts, column_of, content)
    if field_pages is None:
        return [], list(range(len(fields)))
    rest: list[int] = []
    alike: dict[tuple[pa.DataType, GroupKey], list[int]] = {}
    # What follows from encodings and numbers of buffers is derived once.
    known: dict[object, tuple[list[int], int]] = {}
    kinds, num_buffers = field_pages.pages.kinds.tolist(), np.diff(field_pages.pages.edges).tolist()
    for position, pages in enumerate(field_pages.of_field):
        if not pages or min(pages) < 0:
            rest.append(position)
            continue
        field, page = fields[position], pages[0]
        signature: object = field.logical_type, kinds[page], num_buffers[page]
        if field.children:
            signature = field.storage_type, *((kinds[page], num_buffers[page]) for page in pages)
        if signature not in known:
            own_pages = [field_pages.pages[page] for page in pages]
            whole = list(zip(parts[position], own_pages, strict=True))
            key = group_key(field, whole, context)
            members = rest if key is None else alike.setdefault((field.storage_type, key), [])
            known[signature] = members, 0 if key is None else key.max_page_bytes
        members, most = known[signature]
        (members if field_pages.sizes[position] <= most else rest).append(position)
    groups = []
    for (_, key), positions in alike.items():
        for members_at in (
            _limited(positions, field_pages, content.num_rows) if key.is_copied else [positions]
        ):
            if len(members_at) < _MIN_MEMBERS:
                rest += members_at
            else:
                groups.append(_group(members_at, fields, parts[members_at[0]], field_pages, key))
    return groups, sorted(rest)


def _parts(field: Field, context: DecodeContext, *, is_one_of_many: bool) -> tuple[Field, ...]:
    """The parts of a field that have a column; none for a field that is read alone."""
    if field.children:
        return tuple(column_fields((field,), context.version))
    return (field,) if is_one_of_many else ()


class _FieldPages(NamedTuple):
    """The pages of the columns of some fields.

    The columns of field i have the pages ``of_field[i]``; -1 for one that has several pages or is
    damaged. ``sizes`` has the stored bytes of the pages of each field. ``encoding`` is that of all
    columns.
    """

    pages: PageArrays
    of_field: list[tuple[int, ...]]
    sizes: list[int]
    encoding: PageEncoding


def _field_pages(
    parts: Sequence[Sequence[Field]], column_of: Mapping[int, int], content: FileMetadata
) -> _FieldPages | None:
    """The pages of the ``parts`` of fields that have a column; None if none can be grouped."""
    count = len(content.columns)
    numbers = [column_of.get(part.id, -1) for parts_of_field in parts for part in parts_of_field]
    columns = np.array(numbers, np.int64)
    is_column = (columns >= 0) & (columns < count)
    single = column_pages(content.columns, np.unique(columns[is_column]))
    if single is None or not content.num_rows:
        return None
    has_rows = np.flatnonzero(single.pages.num_rows == content.num_rows)
    page_of = np.full(count + 1, -1)
    page_of[single.numbers[has_rows]] = has_rows
    chosen = page_of[np.where(is_column, columns, count)]
    pages = iter(chosen.tolist())
    of_field = [tuple(islice(pages, len(parts_of_field))) for parts_of_field in parts]
    ends = edges_of(single.pages.stops - single.pages.starts)
    of_page = np.where(chosen < 0, 0, np.diff(ends[single.pages.edges])[chosen])
    sizes = np.diff(edges_of(of_page)[edges_of(np.array(list(map(len, parts))))]).tolist()
    return _FieldPages(single.pages, of_field, sizes, single.encoding)


def _limited(positions: Sequence[int], field_pages: _FieldPages, num_rows: int) -> list[list[int]]:
    """The fields at ``positions`` in groups of limited size."""
    groups: list[list[int]] = []
    most = max(1, _MAX_ROWS // num_rows)
    size = 0
    for position in positions:
        size_of_field = field_pages.sizes[position]
        size += size_of_field
        if not groups or len(groups[-1]) == most or size > _MAX_BYTES:
            groups.append([])
            size = size_of_field
        groups[-1].append(position)
    return groups


def _group(
    positions: Sequence[int],
    fields: Sequence[Field],
    parts: tuple[Field, ...],
    field_pages: _FieldPages,
    key: GroupKey,
) -> ColumnGroup:
    joined = []
    for numbers in zip(*(field_pages.of_field[position] for position in positions), strict=True):
        pages = field_pages.pages.taken(np.array(numbers))
        starts = [0, *np.cumsum(pages.num_rows).tolist()]
        joined.append(Column(pages, (), field_pages.encoding, starts))
    chosen = tuple([fields[position] for position in positions])
    return ColumnGroup(tuple(positions), chosen, parts, tuple(joined), key)
