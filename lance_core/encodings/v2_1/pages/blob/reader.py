"""Pages of blobs (message ``BlobLayout``): the position and size of each payload in the file.

The inner layout holds (position, size). Position 0 with size 0 is an empty value. Another position
with size 0 is a null; the position then holds its levels: ``definition << 16 | repetition``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import BlobLayout
from lance_core.encodings.blob_payloads import DESCRIPTION, payloads
from lance_core.encodings.v2_1.levels.repdef import Levels, check_levels
from lance_core.encodings.v2_1.pages.base import LayoutPlan, LeafPart, PageScope, kinds_of
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


class BlobLayoutPlan(LayoutPlan):
    """Decodes a page of blobs as payloads or as (position, size)."""

    __slots__ = ("inner", "kinds", "type")

    def __init__(self, message: BlobLayout, inner: LayoutPlan, type_: pa.DataType) -> None:
        self.kinds = kinds_of(message.layers, 0)
        self.inner = inner
        self.type = type_

    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """See `LayoutPlan`."""
        part = yield from self.inner.decode(rows, context)
        where = part.values
        positions, sizes = (where.field(number).to_numpy() for number in range(2))
        # A null has its levels in place of the position: definition << 16 | repetition. An empty
        # blob has position 0.
        missing = (sizes == 0) & (positions != 0)
        definition = None
        if missing.any():
            levels = np.where(missing, positions, 0)
            if (levels & 0xFFFF).any() or (levels >> 32).any():
                raise CorruptFileError("a blob of no bytes has impossible levels")
            definition = (levels >> 16).astype(np.uint16)
        levels_ = Levels(self.kinds, None, definition, len(where))
        check_levels(levels_, context.kernels)
        if pa.types.is_struct(self.type):
            members = [where.field(number) for number in range(2)]
            described = pa.Array.from_buffers(self.type, len(where), [None], 0, 0, members)
            return LeafPart(levels_, described)
        positions = np.where(missing, 0, positions)
        taken = yield from payloads(positions, sizes, context)
        return LeafPart(levels_, taken)


def decode_blob(
    message: BlobLayout, scope: PageScope, plan_inner: Callable[[PageScope], LayoutPlan]
) -> LayoutPlan:
    """The plan for a page of blobs; ``plan_inner`` makes the plan of the inner layout."""
    type_ = scope.type
    if not pa.types.is_large_binary(type_) and type_ != DESCRIPTION and not _describes(type_):
        raise CorruptFileError(f"a column of type {type_} has a blob page")
    described = PageScope(scope.buffers, DESCRIPTION, scope.num_rows, scope.file_size)
    plan = BlobLayoutPlan(message, plan_inner(described), type_)
    if plan.kinds.max_rep:
        raise UnsupportedFeatureError("a blob page cannot contain blobs in lists")
    if plan.inner.kinds.max_def or plan.inner.kinds.max_rep:
        raise CorruptFileError("a position or size of a blob is null", field="BlobLayout")
    return plan


def _describes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_struct(type_)) and [f.type for f in type_] == [pa.uint64()] * 2
