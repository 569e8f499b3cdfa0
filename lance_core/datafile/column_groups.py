"""Decode small columns of one type together, as if they were pages of one column.

A file with thousands of columns and few rows has one small page for each column. Python's fixed
cost of a page exceeds the cost of its values, and the decoders of 2.1 and 2.2 pay it once for
consecutive pages with equal encodings. So a column is built from the pages of several columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.dispatch import decode_field
from lance_core.encodings.page import Column, ForeignEncoding
from lance_core.encodings.version import FileVersion
from lance_core.errors import LanceError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import lazy_module

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.v2_1.pages.mini_block import page_run
    from lance_core.schema import Field
else:
    page_run = lazy_module("lance_core.encodings.v2_1.pages.mini_block.page_run")

MIN_FIELDS = 32
"""Minimum number of fields of a read to form groups; with fewer, there is little to save."""

_MIN_COLUMNS = 2
_MAX_ROWS = 1 << 18
_MAX_BYTES = 4 << 20
"""Maximum rows and stored bytes of a group: the arrays of its columns share memory."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnGroup:
    """Columns to decode together.

    ``places``: the positions of ``fields`` among the fields that are read. ``numbers``: the numbers
    of their columns in the file. ``joined`` has the pages of all columns.
    """

    places: tuple[int, ...]
    fields: tuple[Field, ...]
    numbers: tuple[int, ...]
    joined: Column

    def decode(
        self, columns: Sequence[Column], rows: AnyRows, context: DecodeContext
    ) -> Decoding[list[list[pa.Array]]]:
        """The arrays of each column, as `decode_field` returns them; raises its errors."""
        first = self.fields[0]
        distinct = rows.distinct if isinstance(rows, OrderedRows) else rows
        wanted = self._rows_of_all(distinct)
        try:
            arrays = yield from decode_field(first, {first.id: 0}, [self.joined], wanted, context)
            if isinstance(rows, OrderedRows):
                arrays = [_reordered(array, rows) for array in arrays]
            return split_columns(arrays, len(self.fields), len(rows))
        except (LanceError, MemoryError):
            # Decode each column alone, so that the error names the damaged one.
            results = []
            for field, number in zip(self.fields, self.numbers, strict=True):
                column_of = {field.id: number}
                results.append((yield from decode_field(field, column_of, columns, rows, context)))
            return results

    def _rows_of_all(self, rows: Rows) -> Rows:
        count = self.joined.num_rows // len(self.fields)
        if isinstance(rows, RowRange) and len(rows) == count:
            return RowRange(0, self.joined.num_rows)
        firsts = count * np.arange(len(self.fields))
        return RowIndices(np.add.outer(firsts, rows.numbers).ravel())


def column_groups(
    fields: Sequence[Field],
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    version: FileVersion,
) -> tuple[list[ColumnGroup], list[int]]:
    """The groups of the columns of ``fields``, and the indices of the fields in no group.

    All columns have the same number of rows.
    """
    if version not in (FileVersion.V2_1, FileVersion.V2_2):
        return [], list(range(len(fields)))
    rest: list[int] = []
    alike: dict[Hashable, list[int]] = {}
    # Equal encodings of a file are one object.
    prints: dict[tuple[int, str], bytes] = {}
    for place, field in enumerate(fields):
        number = column_of.get(field.id, -1)
        column = columns[number] if 0 <= number < len(columns) else None
        if column is None or field.children or len(column.pages) != 1 or not column.num_rows:
            rest.append(place)
            continue
        encoding, type_ = column.pages[0].encoding, field.storage_type
        key = id(encoding), field.logical_type
        if key not in prints:
            prints[key] = _fingerprint(encoding, type_)
        if prints[key]:
            alike.setdefault((type_, prints[key]), []).append(place)
        else:
            rest.append(place)
    groups = []
    for places in alike.values():
        for part in _parts(places, fields, column_of, columns):
            if len(part.places) >= _MIN_COLUMNS:
                groups.append(part)
            else:
                rest += part.places
    return groups, sorted(rest)


def _fingerprint(encoding: Message | ForeignEncoding, type_: pa.DataType) -> bytes:
    """A key of pages that are decoded together; empty for others."""
    layout: Any = encoding
    if isinstance(encoding, ForeignEncoding) or not _is_plain(type_):
        return b""
    if not layout.HasField("mini_block_layout"):
        return b""
    return page_run.encoding_fingerprint(layout.mini_block_layout, type_)


def _parts(
    places: Sequence[int],
    fields: Sequence[Field],
    column_of: Mapping[int, int],
    columns: Sequence[Column],
) -> list[ColumnGroup]:
    """The fields at ``places`` in groups of limited size."""
    parts: list[list[int]] = []
    rows = size = 0
    for place in places:
        page = columns[column_of[fields[place].id]].pages[0]
        rows += page.num_rows
        size += sum(buffer.length for buffer in page.buffers)
        if not parts or rows > _MAX_ROWS or size > _MAX_BYTES:
            parts.append([])
            rows, size = page.num_rows, sum(buffer.length for buffer in page.buffers)
        parts[-1].append(place)
    return [_group(part, fields, column_of, columns) for part in parts]


def _group(
    places: Sequence[int],
    fields: Sequence[Field],
    column_of: Mapping[int, int],
    columns: Sequence[Column],
) -> ColumnGroup:
    mine = tuple(fields[place] for place in places)
    numbers = tuple(column_of[field.id] for field in mine)
    pages = tuple(columns[number].pages[0] for number in numbers)
    joined = Column(pages, (), columns[numbers[0]].encoding)
    return ColumnGroup(tuple(places), mine, numbers, joined)


def _is_plain(type_: pa.DataType) -> bool:
    """True for types whose values are one number or one string."""
    types = pa.types
    is_text = types.is_string(type_) or types.is_large_string(type_)
    is_bytes = types.is_binary(type_) or types.is_large_binary(type_)
    return bool(types.is_primitive(type_) or is_text or is_bytes)


def _reordered(array: pa.Array, rows: OrderedRows) -> pa.Array:
    """The requested ``rows`` of each column, from the distinct rows of some columns."""
    length = len(rows.distinct)
    firsts = np.arange(0, len(array), length)
    return take_rows(array, from_numpy(np.add.outer(firsts, rows.places).ravel()))


def split_columns(arrays: Sequence[pa.Array], count: int, length: int) -> list[list[pa.Array]]:
    """The arrays of ``count`` columns of ``length`` rows, which follow each other in ``arrays``."""
    found: list[list[pa.Array]] = [[]]
    missing = length
    for array in arrays:
        start = 0
        while start < len(array):
            if not missing:
                found.append([])
                missing = length
            part = array.slice(start, missing)
            found[-1].append(part)
            start += len(part)
            missing -= len(part)
    assert len(found) == count
    return found
