"""Decode the fields of 2.0 files from their columns to Arrow arrays.

In pre-order, every field has a column of its own, except the descendants of a packed struct.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core.encodings.arrow.ordered_rows import OrderedRows, reorder
from lance_core.encodings.decoding import RowIndices, packed_rows
from lance_core.encodings.v2_0.base import is_byte_lists
from lance_core.encodings.v2_0.blob import BlobPlan
from lance_core.encodings.v2_0.byte_lists import ByteListPlan
from lance_core.encodings.v2_0.column import ColumnPlan, FieldPlan
from lance_core.encodings.v2_0.list import ListPlan
from lance_core.encodings.v2_0.struct import StructPlan
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page import Column
    from lance_core.encodings.registry import EncodingRegistry
    from lance_core.schema import Field


class _Kept(NamedTuple):
    """A cached plan and the arguments for which it was made."""

    field: Field
    registry: EncodingRegistry
    plan: FieldPlan


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """The 2.0 implementation of `lance_core.encodings.dispatch.decode_field`."""
    if isinstance(rows, OrderedRows):
        distinct = decode_field(field, column_of, columns, rows.distinct, context)
        return (yield from reorder(distinct, rows))
    if isinstance(rows, RowIndices):
        rows = packed_rows(rows.values)
    if not len(rows):
        return []
    column = _column(field, column_of, columns, field.name)
    cache: _Kept | None = column.decoder_cache
    if cache is None or cache.field is not field or cache.registry is not context.registry:
        plan = _plan(field, column_of, columns, field.name)
        cache = column.decoder_cache = _Kept(field, context.registry, plan)
    return (yield from cache.plan.decode(rows, context))


def _column(
    field: Field, column_of: Mapping[int, int], columns: Sequence[Column], path: str
) -> Column:
    number = column_of.get(field.id, -1)
    if not 0 <= number < len(columns):
        raise CorruptFileError(
            f"column {number} of a file that has {len(columns)} columns", field=path
        )
    return columns[number]


def _plan(
    field: Field, column_of: Mapping[int, int], columns: Sequence[Column], path: str
) -> FieldPlan:
    column = _column(field, column_of, columns, path).without_cache()
    if not isinstance(column.encoding, ColumnEncoding):
        raise UnsupportedFeatureError(f"field {path!r}: the encoding of the column is unknown")
    form = column.encoding.WhichOneof("column_encoding")
    type_ = field.storage_type
    if form == "blob" and not pa.types.is_struct(type_):
        if not pa.types.is_large_binary(type_):
            raise CorruptFileError(f"a column of type {type_} has blobs", field=path)
        return BlobPlan(column, path)
    if form not in ("values", "blob"):
        raise UnsupportedFeatureError(f"field {path!r}: column encoding {form!r} is not supported")
    if field.is_list:
        (item,) = field.children
        below = _plan(item, column_of, columns, f"{path}.{item.name}")
        return ListPlan(column, type_, below, path)
    if field.is_struct and _has_header(column):
        members = [
            _plan(child, column_of, columns, f"{path}.{child.name}") for child in field.children
        ]
        return StructPlan(column, type_, members, path)
    if is_byte_lists(type_, column):
        # The column of the bytes belongs to no field, so no manifest names it.
        after = column_of[field.id] + 1
        if after >= len(columns):
            raise CorruptFileError("a page stores ends of values, but not their bytes", field=path)
        return ByteListPlan(column, columns[after].without_cache(), type_, path)
    return ColumnPlan(column, type_, path)


def _has_header(column: Column) -> bool:
    """True if the column of a struct is a header, false if it holds packed structs."""
    return not column.pages or (
        isinstance(column.pages[0].encoding, ArrayEncoding)
        and column.pages[0].encoding.HasField("struct")
    )
