"""Decode many constant pages of a top-level leaf at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_ALL_VALID_ITEM,
    REPDEF_NULLABLE_ITEM,
    PageLayout,
)
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.v2_1.pages.constant.reader import is_empty_struct
from lance_core.encodings.v2_1.pages.constant.scalar import inline_scalar, stored_scalar
from lance_core.encodings.v2_1.pages.level_codecs import raw_levels
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Decoding, Int64Array
    from lance_core.encodings.page_arrays import PageArrays
    from lance_core.encodings.v2_1.levels.repdef import BoolArray, LevelArray

VALUE, NULLS = b"value", b"nulls"
"""Kinds of pages: with one value, which may have nulls, and with nulls only."""


def constant_kind(encoding: Any, num_buffers: int, type_: pa.DataType) -> bytes:
    """The kind of a page of a top-level leaf; empty for pages that are decoded one by one.

    Pages with equal messages may differ: a value that is not in the message, and raw levels, are in
    buffers, of which the message says nothing.
    """
    if not isinstance(encoding, PageLayout) or not encoding.HasField("constant_layout"):
        return b""
    message, layers = encoding.constant_layout, list(encoding.constant_layout.layers)
    has_packed = message.HasField("rep_compression") or message.HasField("def_compression")
    if has_packed or is_empty_struct(type_):
        return b""
    # The message of nulls equals that of one long value and nulls; only the buffers differ.
    num_stored = 0 if message.HasField("inline_value") else 1
    if layers == [REPDEF_NULLABLE_ITEM]:
        if num_stored and not num_buffers:
            return NULLS
        return VALUE if num_buffers in (num_stored, num_stored + 2) else b""
    is_valid = layers == [REPDEF_ALL_VALID_ITEM] and num_buffers == num_stored
    return VALUE if is_valid else b""


def decode_constants(
    pages: PageArrays, numbers: Int64Array, counts: Int64Array, type_: pa.DataType
) -> Decoding[pa.Array]:
    """Rows of ``pages``, each of which is of one of the two kinds.

    The next ``counts[p]`` of the ``numbers`` are rows of page p, counted from its start. Raises
    `CorruptFileError`, which does not tell the page.
    """
    buffers: list[pa.Buffer] = []
    if len(pages.starts):
        spans = zip(pages.starts.tolist(), pages.stops.tolist(), strict=True)
        buffers += yield [ByteRange(*span) for span in spans]
    edges, rows = pages.edges.tolist(), pages.num_rows.tolist()
    inline = [_inline(encoding, type_) for encoding in pages.encodings]
    values: list[pa.Array] = []
    is_null: BoolArray | None = None
    stops = counts.cumsum().tolist()
    for page, kind in enumerate(pages.kinds.tolist()):
        own = buffers[edges[page] : edges[page + 1]]
        value = inline[kind]
        if value is None:
            value = stored_scalar(own[0], type_) if own else pa.nulls(1, type_)
        values.append(value)
        if len(own) > 1 and own[-1].size:
            if is_null is None:
                is_null = np.zeros(len(numbers), np.bool_)
            part = slice(stops[page - 1] if page else 0, stops[page])
            is_null[part] = _raw_definition(own[-1], rows[page]).take(numbers[part])
    if is_variable(type_):
        spend(int(np.array([value.nbytes for value in values]) @ counts))
    owners = np.repeat(np.arange(len(pages)), counts)
    indices = from_numpy(owners) if is_null is None else pa.array(owners, mask=is_null)
    return take_rows(concat_arrays(values), indices)


def _inline(encoding: Any, type_: pa.DataType) -> pa.Array | None:
    """The value in the message, as an array of length 1."""
    message = encoding.constant_layout
    return inline_scalar(message.inline_value, type_) if message.HasField("inline_value") else None


def _raw_definition(buffer: pa.Buffer, num_rows: int) -> LevelArray:
    """The raw definition levels of a page: 1 for nulls."""
    levels = raw_levels(buffer)
    if len(levels) != num_rows or (num_rows and levels.max() > 1):
        raise CorruptFileError("the definition levels of a constant page are invalid")
    return levels
