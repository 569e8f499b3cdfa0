"""What files say about the values of a run of rows: null count, lower and upper bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.decoding import Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class ValueBounds:
    """Statistics of one field, with an entry for each run of rows.

    No stored value is below its ``lowest`` or above its ``highest``, but none need equal them; a
    bound that is null is unknown. NaN is outside of all bounds. ``null_counts`` counts the values
    that were null when they were written, whatever they are read as.
    """

    null_counts: Int64Array
    lowest: pa.Array
    highest: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class PageStatistics:
    """Statistics of fields, by id. Run ``i`` has the rows ``edges[i]`` to ``edges[i + 1]``."""

    edges: Int64Array
    fields: Mapping[int, ValueBounds]
