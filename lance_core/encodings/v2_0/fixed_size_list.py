"""Fixed-size lists (message ``FixedSizeList``): the items of all lists, one list after the other.

A ``nullable`` encoding around this one says which lists are null, and a ``nullable`` inside it says
which items are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, FixedSizeList
from lance_core.encodings.arrow.memory_pool import concat_arrays
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.encodings.v2_0.flat import Build, FixedWidthPlan
from lance_core.encodings.v2_0.nullable import AllNullPlan
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True)
class FixedSizeListPlan(ArrayPlan):
    """Decodes lists whose items need a plan of their own (nullable or nested items)."""

    type: pa.FixedSizeListType
    items: ArrayPlan

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        arrays = yield from self.items.decode(self._item_rows(rows), context)
        items = concat_arrays(arrays)
        return [pa.Array.from_buffers(self.type, len(rows), [None], 0, 0, [items])]

    def _item_rows(self, rows: Rows) -> Rows:
        size = self.type.list_size
        if isinstance(rows, RowRange):
            return RowRange(rows.start * size, rows.stop * size)
        if isinstance(self.items, AllNullPlan):  # all items are equal, so decode no positions
            return RowRange(0, len(rows) * size)
        items = rows.values[:, None] * size + np.arange(size, dtype=np.int64)
        return RowIndices(items.ravel())


def decode_fixed_size_list(encoding: FixedSizeList, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``fixed_size_list``."""
    type_ = scope.type
    if not pa.types.is_fixed_size_list(type_):
        raise CorruptFileError(f"lists of fixed size in a column of {type_}")
    if encoding.dimension != type_.list_size:
        raise CorruptFileError(
            f"lists of {encoding.dimension} items where the schema says {type_.list_size}",
            field="FixedSizeList.dimension",
        )
    if encoding.has_validity:
        raise UnsupportedFeatureError(
            "fixed-size lists that store their own validity are not supported"
        )
    if encoding.dimension == 0:
        raise UnsupportedFeatureError("lists of fixed size 0 are not supported")
    count = scope.num_values * type_.list_size
    items = plan_array(encoding.items, scope.inner(type_.value_type, count))
    if isinstance(items, FixedWidthPlan) and items.validity is None:
        width = items.width * type_.list_size
        build = list_builder(type_, items.build)
        return FixedWidthPlan(type_, width, items.start, build, items.alignment)
    return FixedSizeListPlan(type_, items)


def list_builder(type_: pa.FixedSizeListType, build_items: Build) -> Build:
    """A builder of fixed-size lists without nulls from the values of their items."""
    size = type_.list_size

    def build(count: int, skip: int, validity: pa.Buffer | None, values: pa.Buffer) -> pa.Array:
        items = build_items((skip + count) * size, 0, None, values)
        nulls = 0 if validity is None else -1
        return pa.Array.from_buffers(type_, count, [validity], nulls, skip, [items])

    return build


def encode_fixed_size_list(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``fixed_size_list``: encodes the items and ignores the lists' validity."""
    size = array.type.list_size
    if size == 0:
        raise UnsupportedFeatureError("lists of fixed size 0 cannot be stored")
    items = array.values.slice(array.offset * size, len(array) * size)
    inner = scope.encode("nullable", items)
    return ArrayEncoding(fixed_size_list=FixedSizeList(dimension=size, items=inner))
