"""Decode the fields of 2.1 and 2.2 files: by the first fast path that applies, or plainly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.arrow.ordered_rows import OrderedRows, reorder
from lance_core.encodings.decoding import RowIndices, RowRange, packed_rows
from lance_core.encodings.v2_1.fast.tables import COLUMN_READS, FIELD_READS
from lance_core.encodings.v2_1.read.fields import column_of_leaf, decode_rows, field_tree
from lance_core.errors import CorruptFileError, PluginError

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page import Column
    from lance_core.schema import Field


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """The 2.1 and 2.2 implementation of `lance_core.encodings.dispatch.decode_field`."""
    if isinstance(rows, RowIndices):
        values = rows.values
        if not len(values) or int(values[-1]) - int(values[0]) < len(values):
            rows = packed_rows(values)
    leaf = column_of_leaf(field, column_of, columns)
    if isinstance(rows, RowRange):  # its length, and those of the others, are calls
        is_empty = rows.start >= rows.stop
    else:
        is_empty = isinstance(rows, OrderedRows) and not len(rows.indices)
    if leaf is not None and not is_empty:
        fast = COLUMN_READS.first(leaf, rows, context)
        if fast is not None:
            return fast
    return _decode_plainly(field, column_of, columns, rows, context)


def _decode_plainly(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    if not len(rows):
        return []
    if isinstance(rows, OrderedRows):
        distinct = decode_field(field, column_of, columns, rows.distinct, context)
        return (yield from reorder(distinct, rows))
    tree = field_tree(field, column_of, columns)
    context = tree.shared(context)
    try:
        return (
            yield from FIELD_READS.first(tree, rows, context) or decode_rows(tree, rows, context)
        )
    except (CorruptFileError, PluginError) as error:
        raise error.at(field=field.name) from error
