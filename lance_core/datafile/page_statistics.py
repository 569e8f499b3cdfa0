"""Statistics of the values in runs of rows: null count, lower and upper bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.decoding import Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class ValueBounds:
    """Statistics of one field, with one entry per run of rows.

    No value of a run is below ``lowest`` or above ``highest``, but the bounds may not be values of
    the run. A null bound is unknown. Bounds do not cover NaN. ``null_counts`` are the numbers of
    values that were null when written; readers may return them as other values.
    """

    null_counts: Int64Array
    lowest: pa.Array
    highest: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class PageStatistics:
    """Statistics of fields, by id. Run ``i`` has the rows ``edges[i]`` to ``edges[i + 1]``."""

    edges: Int64Array
    fields: Mapping[int, ValueBounds]
