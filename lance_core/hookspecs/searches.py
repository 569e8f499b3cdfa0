"""Everything that the author of a search needs: queries that rank rows, and indices for them.

A search implements `RankedSearch`, is described by a `SearchSpec`, and makes queries, each a
`RankedQuery`. An index type whose open indices are a `RankedIndex` answers them for many rows.
"""

from lance_core.index.ranking import (
    NO_HITS,
    AllowedRows,
    Elements,
    Hits,
    RankedIndex,
    RankedQuery,
    RankedSearch,
    SearchedColumns,
    ValueBatches,
    best_of,
    lowest,
    merged,
)
from lance_core.index.spec import SearchSpec

__all__ = [
    "NO_HITS",
    "AllowedRows",
    "Elements",
    "Hits",
    "RankedIndex",
    "RankedQuery",
    "RankedSearch",
    "SearchSpec",
    "SearchedColumns",
    "ValueBatches",
    "best_of",
    "lowest",
    "merged",
]
