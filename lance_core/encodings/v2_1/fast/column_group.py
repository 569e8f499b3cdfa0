"""Read the same rows of many small columns at once, as if their pages were those of one column."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.ordered_rows import OrderedRows
from lance_core.encodings.arrow.split import can_split, split_array, split_columns
from lance_core.encodings.arrow.strings import is_plain
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.decoding import RowRange, packed_rows
from lance_core.encodings.page import ForeignEncoding, GroupKey
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.v2_1.fast.constant_pages import (
    NULLS,
    VALUE,
    constant_kind,
    decode_constants,
)
from lance_core.encodings.v2_1.fast.mini_block_run import encoding_fingerprint
from lance_core.encodings.v2_1.fast.page_runs import SimilarPages
from lance_core.encodings.v2_1.read.fields import field_tree

if TYPE_CHECKING:
    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows
    from lance_core.encodings.page import Column, Page
    from lance_core.schema import Field


MAX_WHOLE = 2
MIN_WHOLE_ROWS = 800
"""Maximum ratio of all rows to those of a range, and minimum of all rows, to decode all of them.

The rows of a range are not consecutive if columns are joined, so that each takes longer; to cut
the array of each column takes as long as a few hundred rows.
"""


MAX_NESTED_BYTES = 256 << 10
"""Maximum stored bytes of a nested field: of a larger one, the copy to an array of its own takes
longer than a plan of its own."""


def group_key(
    field: Field, parts: Sequence[tuple[Field, Page]], context: DecodeContext
) -> GroupKey | None:
    """See `lance_core.encodings.fast.version_paths.group_key`."""
    type_ = field.storage_type
    if not field.children:
        page = parts[0][1]
        kind = constant_kind(page.encoding, len(page.buffers), type_)
        if kind == NULLS:
            return GroupKey(NULLS, is_copied=False)
        if kind and is_plain(type_):
            return GroupKey(kind)
    prints = [_fingerprint(page.encoding, part.storage_type) for part, page in parts]
    if not all(prints) or not can_split(type_):
        return None
    return GroupKey(tuple(prints), MAX_NESTED_BYTES if field.children else sys.maxsize)


def _fingerprint(encoding: Any, type_: pa.DataType) -> bytes:
    """`encoding_fingerprint` of a page; empty for other pages."""
    if isinstance(encoding, ForeignEncoding) or not encoding.HasField("mini_block_layout"):
        return b""
    return encoding_fingerprint(encoding.mini_block_layout, type_)


def decode_columns(
    field: Field,
    column_of: Mapping[int, int],
    joined: Sequence[Column],
    key: Any,
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[list[pa.Array]]]:
    """See `lance_core.encodings.fast.version_paths.decode_columns`."""
    count = len(joined[0].pages)
    if key == NULLS:
        return [[all_null(field.storage_type, len(rows))] for _ in range(count)]
    if key == VALUE:
        pages, counts = PageArrays.of(joined[0].pages), np.full(count, len(rows))
        numbers = np.tile(rows.numbers, count)
        array = yield from decode_constants(pages, numbers, counts, field.storage_type)
        return split_columns([array], count, len(rows))
    length = joined[0].num_rows // count
    is_part = max(len(rows), MIN_WHOLE_ROWS - 1) < length <= MAX_WHOLE * len(rows)
    if is_part and isinstance(rows, RowRange):
        whole = RowRange(0, length)
        columns = yield from decode_columns(field, column_of, joined, key, whole, context)
        return [_rows_of(arrays, rows) for arrays in columns]
    distinct = rows.distinct if isinstance(rows, OrderedRows) else rows
    all_rows = _rows_of_all(distinct, length, count)
    tree = field_tree(field, column_of, joined)
    arrays = yield from SimilarPages(tree, all_rows, tree.shared(context)).decode()
    if isinstance(rows, OrderedRows):
        arrays = [_reordered(array, rows) for array in arrays]
    return split_columns(arrays, count, len(rows))


def _rows_of(arrays: Sequence[pa.Array], rows: RowRange) -> list[pa.Array]:
    """A range of the rows of a column."""
    parts = []
    start = rows.start
    left = len(rows)
    for array in arrays:
        part = array.slice(min(start, len(array)), left)
        start -= min(start, len(array))
        left -= len(part)
        if len(part):
            parts += split_array(part, len(part))
    return parts


def _rows_of_all(rows: Rows, length: int, count: int) -> Rows:
    """``rows`` of each of ``count`` columns of ``length`` rows, as rows of all columns joined."""
    if isinstance(rows, RowRange) and len(rows) == length:
        return RowRange(0, length * count)
    return packed_rows(np.add.outer(length * np.arange(count), rows.numbers).ravel())


def _reordered(array: pa.Array, rows: OrderedRows) -> pa.Array:
    """The requested ``rows`` of some columns, from an array of their distinct rows."""
    length = len(rows.distinct)
    firsts = np.arange(0, len(array), length)
    return take_rows(array, from_numpy(np.add.outer(firsts, rows.indices).ravel()))
