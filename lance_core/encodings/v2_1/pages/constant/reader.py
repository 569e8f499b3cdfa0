"""Constant pages (message ``ConstantLayout``): all values are null or all are equal.

Page buffers: none, [scalar], [repetition, definition], or all three; a buffer of levels that the
page does not have is empty. The scalar is in the message or in the scalar buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_NULLABLE_ITEM,
    CompressiveEncoding,
    ConstantLayout,
)
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.nulls import all_null
from lance_core.encodings.v2_1.levels.repdef import LevelArray, Levels, check_levels
from lance_core.encodings.v2_1.pages.base import (
    LayoutPlan,
    LeafPart,
    PageScope,
    kinds_of,
    level_rows,
)
from lance_core.encodings.v2_1.pages.constant.scalar import inline_scalar, repeated, stored_scalar
from lance_core.encodings.v2_1.pages.level_codecs import decode_level_block, raw_levels
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows

_MAX_NULLS = 1 << 28


class ConstantPlan(LayoutPlan):
    """Decodes a page of one value, or of nulls if ``scalar`` and ``scalar_buffer`` are None."""

    __slots__ = ("_levels", "kinds", "level_buffers", "message", "scalar", "scalar_buffer", "scope")

    def __init__(self, message: ConstantLayout, scope: PageScope) -> None:
        self.message = message
        self.scope = scope
        self.kinds = kinds_of(message.layers, message.num_def_values)
        self.scalar: pa.Array | None = None
        if message.HasField("inline_value"):
            self.scalar = inline_scalar(message.inline_value, scope.type)
        buffers = scope.buffers
        self.scalar_buffer: ByteRange | None = buffers[0] if len(buffers) in (1, 3) else None
        self.level_buffers = buffers[-2:] if len(buffers) in (2, 3) else ()
        self._levels: Levels | None = None

    @property
    def is_all_null(self) -> bool:
        """See `LayoutPlan`."""
        return (
            not self.scope.buffers
            and self.scalar is None
            and self.kinds.kinds == (REPDEF_NULLABLE_ITEM,)
            and not is_empty_struct(self.scope.type)
        )

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        ranges: list[ByteRange] = []
        # Another thread may set either attribute while this decoder waits for buffers.
        wants_scalar = self.scalar is None and self.scalar_buffer is not None
        if wants_scalar and self.scalar_buffer is not None:
            ranges.append(self.scalar_buffer)
        if self._levels is None:
            ranges.extend(self.level_buffers)
        if ranges:
            buffers = list((yield ranges))
            if wants_scalar:
                self.scalar = stored_scalar(buffers.pop(0), self.scope.type)
            if buffers:
                self._levels = self._decoded(buffers, context)
        if self._levels is None:
            levels = self._implied(len(rows))
        else:
            levels = level_rows(self._levels, rows)
        return LeafPart(levels, self._values(levels))

    def _values(self, levels: Levels) -> pa.Array:
        visible = levels.visible()
        count = levels.count if visible is None else int(np.count_nonzero(visible))
        type_ = self.scope.type
        if self.scalar is not None:
            return repeated(self.scalar, count)
        if is_empty_struct(type_):
            return pa.Array.from_buffers(type_, count, [None], 0)
        if not pa.types.is_null(type_) and count:
            definition = levels.definition
            if definition is None or not definition.all():
                raise CorruptFileError("a page of nulls has values")
        return all_null(type_, count)

    def _implied(self, count: int) -> Levels:
        """The levels if none are stored: all null if there is no value, else all valid."""
        definition = None
        if self.kinds.max_rep:
            raise CorruptFileError("a page has lists but no levels", field="ConstantLayout")
        nothing = self.scalar is None and not is_empty_struct(self.scope.type)
        if nothing and self.kinds.max_def:
            if self.kinds.max_def > 1:
                raise CorruptFileError(
                    "the page does not state which values are null", field="ConstantLayout"
                )
            if count > _MAX_NULLS:
                raise UnsupportedFeatureError(
                    f"{count} nulls of a nested column are too many to be read at once; the limit "
                    f"is {_MAX_NULLS}"
                )
            definition = np.ones(count, np.uint16)
        return Levels(self.kinds, None, definition, count)

    def _decoded(self, buffers: list[pa.Buffer], context: DecodeContext) -> Levels:
        message = self.message
        packed_rep = message.rep_compression if message.HasField("rep_compression") else None
        packed_def = message.def_compression if message.HasField("def_compression") else None
        rep = _stored_levels(buffers[0], packed_rep, message.num_rep_values, context)
        definition = _stored_levels(buffers[1], packed_def, message.num_def_values, context)
        levels = self._joined(rep, definition)
        check_levels(levels, context.kernels)
        starts = levels.row_starts()
        num_rows = levels.count if starts is None else len(starts)
        if num_rows != self.scope.num_rows:
            raise CorruptFileError(
                f"the levels have {num_rows} rows, but the page has {self.scope.num_rows}"
            )
        return levels

    def _joined(self, rep: LevelArray | None, definition: LevelArray | None) -> Levels:
        if not self.kinds.max_rep:
            rep = None
        if rep is not None and definition is not None and len(rep) != len(definition):
            raise CorruptFileError(
                f"the page has {len(rep)} repetition levels but {len(definition)} definition levels"
            )
        known = rep if rep is not None else definition
        count = self.scope.num_rows if known is None else len(known)
        if known is None and self.kinds.max_def:
            return self._implied(count)
        return Levels(self.kinds, rep, definition, count)


def _stored_levels(
    buffer: pa.Buffer, encoding: CompressiveEncoding | None, count: int, context: DecodeContext
) -> LevelArray | None:
    """The levels in a buffer; None if it is empty. Raw levels have no ``encoding`` (None)."""
    if not buffer.size:
        return None
    if encoding is None:
        return raw_levels(buffer)
    return decode_level_block(encoding, buffer, count, context)


def is_empty_struct(type_: pa.DataType) -> bool:
    """True if values of ``type_`` are structs without members, which take no bytes."""
    return bool(pa.types.is_struct(type_)) and type_.num_fields == 0


def decode_constant(message: ConstantLayout, scope: PageScope) -> LayoutPlan:
    """`LayoutDecoder` of ``constant_layout``."""
    if len(scope.buffers) > 3:
        raise CorruptFileError(f"a constant page has {len(scope.buffers)} buffers")
    if message.HasField("inline_value") and len(scope.buffers) in (1, 3):
        raise CorruptFileError("a constant page has two values", field="ConstantLayout")
    return ConstantPlan(message, scope)
