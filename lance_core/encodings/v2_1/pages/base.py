"""The interface of page layouts: a plan per page that decodes the levels and values of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import Int64Array, RowRange, ValuePositions
from lance_core.encodings.v2_1.levels.repdef import LayerKinds, Levels, layer_kinds
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, Rows


@dataclass(frozen=True, slots=True, eq=False)
class LeafPart:
    """Some rows of a leaf column: checked levels, and one value for each visible level.

    The values have no validity of their own; a value whose level is null is arbitrary.
    """

    levels: Levels
    values: pa.Array


class LayoutPlan(ABC):
    """Decodes rows of one page. Immutable as far as callers can observe."""

    __slots__ = ()

    kinds: LayerKinds

    @property
    def is_all_null(self) -> bool:
        """True if all rows are null and no levels are stored."""
        return False

    @abstractmethod
    def decode(self, rows: Rows, context: DecodeContext) -> Decoding[LeafPart]:
        """Decode ``rows``, at least one and all within the page, in order.

        Raises `CorruptFileError` without the field's path; the caller adds offset and field.
        """


@dataclass(frozen=True, slots=True)
class PageScope:
    """The environment of a layout decoder for one page.

    ``type`` is the storage type of the leaf. Every buffer must lie within ``file_size`` bytes.
    """

    buffers: tuple[ByteRange, ...]
    type: pa.DataType
    num_rows: int
    file_size: int

    def __post_init__(self) -> None:
        for buffer in self.buffers:
            if not 0 <= buffer.start <= buffer.stop <= self.file_size:
                raise CorruptFileError(
                    f"a buffer ends at byte {buffer.stop} of a file of {self.file_size} bytes",
                    offset=buffer.start,
                )


LayoutDecoder = Callable[[Any, PageScope], LayoutPlan]
"""Makes a plan from the message of a layout; checks all that does not require reading.

Raises `CorruptFileError` or `UnsupportedFeatureError` for pages that cannot be decoded.
"""


def kinds_of(layers: Any, count: int) -> LayerKinds:
    """The layers of a page that claims ``count`` values or levels. Raises `CorruptFileError`."""
    if count > 1 << 48:
        raise CorruptFileError(f"a page cannot have {count} values")
    return layer_kinds(tuple(layers))


def level_rows(levels: Levels, rows: Rows) -> Levels:
    """The levels of ``rows`` among those of a whole page."""
    starts = levels.row_starts()
    where: ValuePositions
    if isinstance(rows, RowRange):
        # Without lists, each row is one level.
        if starts is None:
            return levels.part(rows.start, rows.stop)
        stop = levels.count if rows.stop >= len(starts) else int(starts[rows.stop])
        return levels.part(int(starts[rows.start]), stop)
    if starts is None:
        where = rows.values
    else:
        ends = np.append(starts[1:], levels.count)
        where = spans_index(starts[rows.values], ends[rows.values])
    return picked_levels(levels, where)


def picked_levels(levels: Levels, where: Int64Array) -> Levels:
    """The levels at the positions ``where``."""
    rep = None if levels.rep is None else levels.rep.take(where)
    definition = None if levels.definition is None else levels.definition.take(where)
    return Levels(levels.kinds, rep, definition, len(where))


def cut_part(part: LeafPart, rows: RowRange) -> LeafPart:
    """The ``rows`` of a part, counted from its first row."""
    levels = level_rows(part.levels, rows)
    visible = part.levels.visible()
    starts = part.levels.row_starts()
    first = rows.start if starts is None else int(starts[rows.start])
    if visible is None:
        return LeafPart(levels, part.values.slice(first, levels.count))
    before = int(np.count_nonzero(visible[:first]))
    count = int(np.count_nonzero(visible[first : first + levels.count]))
    return LeafPart(levels, part.values.slice(before, count))
