"""Read the same rows of many constant columns at once: one value, or nothing but nulls, in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import REPDEF_ALL_VALID_ITEM, REPDEF_NULLABLE_ITEM
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.split import can_split
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.page_arrays import PageArrays
from lance_core.encodings.v2_1.pages.constant.scalar import inline_scalar, repeated, stored_scalar
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import ConstantLayout, PageLayout
    from lance_core.encodings.decoding import Decoding

INLINE, STORED, NULLS = b"inline constant", b"stored constant", b"nulls"
"""Keys of pages without levels: with the value in the message, in the only buffer, or nowhere."""

CONSTANTS = frozenset({INLINE, STORED, NULLS})


def constant_key(message: ConstantLayout, type_: pa.DataType) -> bytes:
    """One of the keys; empty for other pages. Pages with the key `STORED` alone have buffers."""
    layers = tuple(message.layers)
    if layers == (REPDEF_NULLABLE_ITEM,) and not message.HasField("inline_value"):
        return NULLS if can_split(type_) or pa.types.is_null(type_) else b""
    if layers != (REPDEF_ALL_VALID_ITEM,) or not can_split(type_):
        return b""
    if message.HasField("inline_value"):
        return INLINE
    return STORED if is_variable(type_) else b""


def decode_constants(
    pages: PageArrays, type_: pa.DataType, count: int, key: bytes
) -> Decoding[list[list[pa.Array]]]:
    """``count`` rows of each of ``pages``, which have the same ``key``.

    Raises `CorruptFileError` if a page has another number of buffers than its key says.
    """
    if (np.diff(pages.edges) != int(key == STORED)).any():
        raise CorruptFileError("a constant page has the wrong number of buffers")
    if key == NULLS:
        return [[all_null(type_, count)] for _ in range(len(pages))]
    if key == STORED:
        spans = zip(pages.starts.tolist(), pages.stops.tolist(), strict=True)
        stored = yield [ByteRange(*span) for span in spans]
        return [[repeated(stored_scalar(one, type_), count)] for one in stored]
    encodings: Sequence[Any] = pages.encodings
    values = [repeated(_inline(one, type_), count) for one in encodings]
    return [[values[kind]] for kind in pages.kinds.tolist()]


def _inline(encoding: PageLayout, type_: pa.DataType) -> pa.Array:
    return inline_scalar(encoding.constant_layout.inline_value, type_)
