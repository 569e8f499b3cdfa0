"""Validity of values (message ``Nullable``): no nulls, a bitmap, or all null."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Flat, Nullable
from lance_core.encodings.arrow.fixed_width import bits_from
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.encodings.decoding import RowRange, run_interleaved
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.encodings.v2_0.flat import BitmapPlan, encode_flat, with_validity
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True)
class AllNullPlan(ArrayPlan):
    """Returns nulls; nothing is stored for them."""

    type: pa.DataType

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        yield from ()
        return [all_null(self.type, len(rows))]


@dataclass(frozen=True, slots=True)
class NullablePlan(ArrayPlan):
    """Decodes values and a separate boolean array that says which of them are valid."""

    values: ArrayPlan
    validity: ArrayPlan

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        skip = 0
        if isinstance(rows, RowRange):  # a bitmap that starts at a byte boundary needs no copy
            skip = rows.start & 7
            rows = RowRange(rows.start - skip, rows.stop)
        values, (valid,) = yield from run_interleaved(
            [self.values.decode(rows, context), self.validity.decode(rows, context)]
        )
        if valid.null_count:
            raise CorruptFileError("whether a value is null is null", field="Nullable.validity")
        position, arrays = 0, []
        for array in values:
            arrays.append(_masked(array, valid.slice(position, len(array))))
            position += len(array)
        if skip:
            arrays[0] = arrays[0].slice(skip)
        return arrays


def decode_nullable(encoding: Nullable, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``nullable``."""
    form = encoding.WhichOneof("nullability")
    if form == "no_nulls":
        return plan_array(encoding.no_nulls.values, scope)
    if form == "all_nulls":
        return AllNullPlan(scope.type)
    if form != "some_nulls":
        raise CorruptFileError(
            "the encoding does not state which values are null", field="Nullable"
        )
    values = plan_array(encoding.some_nulls.values, scope)
    validity = plan_array(encoding.some_nulls.validity, scope.inner(pa.bool_()))
    if isinstance(validity, BitmapPlan) and validity.validity is None:
        combined = with_validity(values, validity.start)
        if combined is not None:
            return combined
    return NullablePlan(values, validity)


def _masked(array: pa.Array, valid: pa.BooleanArray) -> pa.Array:
    """``array`` with nulls where ``valid`` is false."""
    if array.null_count == len(array):
        return array
    if array.null_count or array.offset or not _rebuildable(array.type):
        return pc.if_else(valid, array, to_scalar(None, array.type))
    bitmap = bits_from(valid.buffers()[1], valid.offset, len(valid))
    if pa.types.is_fixed_size_list(array.type):
        return pa.Array.from_buffers(
            array.type, len(array), [bitmap], -1, 0, children=[array.values]
        )
    return pa.Array.from_buffers(array.type, len(array), [bitmap, *array.buffers()[1:]])


def _rebuildable(type_: pa.DataType) -> bool:
    if pa.types.is_fixed_size_list(type_):
        return True
    return not (pa.types.is_nested(type_) or pa.types.is_dictionary(type_))


def encode_nullable(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``nullable``, for fixed-width types and fixed-size lists of such types."""
    nulls = array.null_count
    if pa.types.is_null(array.type) or nulls == len(array):
        return ArrayEncoding(nullable=Nullable(all_nulls=Nullable.AllNull()))
    if not nulls:
        values = _encode_values(array, scope)
        return ArrayEncoding(nullable=Nullable(no_nulls=Nullable.NoNull(values=values)))
    bitmap = bits_from(array.buffers()[0], array.offset, len(array))
    validity = ArrayEncoding(flat=Flat(bits_per_value=1, buffer=scope.add(bitmap)))
    some_null = Nullable.SomeNull(validity=validity, values=_encode_values(array, scope))
    return ArrayEncoding(nullable=Nullable(some_nulls=some_null))


def _encode_values(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    if pa.types.is_fixed_size_list(array.type):
        return scope.encode("fixed_size_list", array)
    return encode_flat(array, scope)
