"""Structs of fixed-width members stored row by row (message ``PackedStruct``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, PackedStruct
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.coalesced_take import fixed_ranges, fixed_take
from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.v2_0.base import ArrayPlan, EncodeScope, PlanScope, plan_array
from lance_core.encodings.v2_0.flat import Build, FixedWidthPlan
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

_WIDEST = (1 << 31) - 1
"""Maximum bytes of a numpy type."""


@dataclass(frozen=True, slots=True)
class PackedStructPlan(ArrayPlan):
    """Decodes rows of ``layout`` (a numpy struct type) from byte ``start`` of the file."""

    type: pa.StructType
    start: int
    layout: np.dtype[np.void]
    builds: tuple[Build, ...]

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[list[pa.Array]]:
        """See `ArrayPlan`."""
        width = self.layout.itemsize
        if isinstance(rows, RowRange):
            (data,) = yield [
                ByteRange(self.start + rows.start * width, self.start + rows.stop * width)
            ]
            table = np.frombuffer(data, self.layout)
        else:
            ranges, cuts = fixed_ranges(self.start, width, rows.values, context.coalesce_gap)
            buffers = yield ranges
            table = fixed_take(buffers, cuts, rows.values, width).view(self.layout)
        children = [
            build(len(rows), 0, None, pa.py_buffer(np.ascontiguousarray(table[name])))
            for name, build in zip(self.layout.names or (), self.builds, strict=True)
        ]
        return [pa.Array.from_buffers(self.type, len(rows), [None], 0, 0, children)]


def decode_packed_struct(encoding: PackedStruct, scope: PlanScope) -> ArrayPlan:
    """`ArrayDecoder` of ``packed_struct``."""
    type_ = scope.type
    if not pa.types.is_struct(type_) or type_.num_fields == 0:
        raise CorruptFileError(f"a column of type {type_} has packed structs")
    if len(encoding.inner) != type_.num_fields:
        raise UnsupportedFeatureError(
            f"a packed struct of {len(encoding.inner)} members is read as one of "
            f"{type_.num_fields}; read it as a whole"
        )
    byte_range = scope.buffer(encoding.buffer)
    plans = [
        _member(inner, scope.inner(type_.field(i).type, 0))
        for i, inner in enumerate(encoding.inner)
    ]
    widths = [plan.width for plan in plans]
    if scope.num_values * sum(widths) > byte_range.length:
        raise CorruptFileError(
            f"a buffer of {byte_range.length} bytes cannot hold {scope.num_values} packed structs "
            f"of {sum(widths)} bytes",
            offset=byte_range.start,
        )
    if sum(widths) > _WIDEST:
        raise UnsupportedFeatureError(
            f"packed structs of {sum(widths)} bytes each are too wide; the limit is {_WIDEST}"
        )
    builds = tuple(plan.build for plan in plans)
    return PackedStructPlan(type_, byte_range.start, _layout(widths), builds)


def _member(encoding: ArrayEncoding, scope: PlanScope) -> FixedWidthPlan:
    """The plan of a member. Built for zero values, since only its builder and width are used."""
    plan = plan_array(encoding, scope)
    if not isinstance(plan, FixedWidthPlan) or plan.validity is not None:
        raise UnsupportedFeatureError(f"packed structs cannot have a member of type {scope.type}")
    return plan


def _layout(widths: Sequence[int]) -> np.dtype[np.void]:
    # Untyped, because members are only moved.
    return np.dtype([(f"f{i}", np.void, width) for i, width in enumerate(widths)])


def encode_packed_struct(array: pa.Array, scope: EncodeScope) -> ArrayEncoding:
    """`ArrayEncoder` of ``packed_struct``. Neither the struct nor a member may have nulls."""
    if array.null_count or array.type.num_fields == 0:
        raise UnsupportedFeatureError("a packed struct that is null or empty cannot be stored")
    for member in array.type:
        check_member(member.type, member.name)
    rows = len(array)
    messages, columns = [], []
    for i in range(array.type.num_fields):
        inner, member = EncodeScope(scope.registry), array.type.field(i)
        values = array.field(i) if rows else _zeros(member.type, 1)
        messages.append(inner.encode("nullable", values))
        if len(inner.buffers) != 1:
            raise UnsupportedFeatureError(
                f"member {member.name!r} of a packed struct has nulls, which cannot be stored"
            )
        columns.append(inner.buffers[0])
    layout = _layout([buffer.size // max(rows, 1) for buffer in columns])
    table = np.empty(rows, layout)
    if rows:
        for name, buffer in zip(layout.names or (), columns, strict=True):
            table[name] = np.frombuffer(buffer, layout[name])
    packed = PackedStruct(inner=messages, buffer=scope.add(pa.py_buffer(table)))
    return ArrayEncoding(packed_struct=packed)


def _zeros(type_: pa.DataType, count: int) -> pa.Array:
    """``count`` valid values, to describe the members of a struct without rows."""
    if pa.types.is_fixed_size_list(type_):
        items = _zeros(type_.value_type, count * type_.list_size)
        return pa.Array.from_buffers(type_, count, [None], 0, 0, [items])
    if not has_fixed_width(type_):
        raise UnsupportedFeatureError(f"a packed struct cannot have a member of type {type_}")
    size = (type_.bit_width * count + 7) // 8
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(bytes(size))], 0)


def check_member(type_: pa.DataType, path: str) -> None:
    """Raise `UnsupportedFeatureError` if a packed struct cannot have a member of ``type_``."""
    values = type_
    while pa.types.is_fixed_size_list(values):
        values = values.value_type
    if not has_fixed_width(values) or pa.types.is_boolean(values):
        raise UnsupportedFeatureError(
            f"field {path!r}: a packed struct cannot have members of type {type_}"
        )
