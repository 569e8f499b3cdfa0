"""Explain the score of one row: by the index that covers it, or by the values of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core.dataset.read.ranking.rank_indices import Addressing, live_rows, ranking_index
from lance_core.dataset.read.ranking.rank_values import values_ranking
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_failure
from lance_core.errors import LanceError
from lance_core.index.ranking import AllowedRows
from lance_core.index.type_checks import unchecked

if TYPE_CHECKING:
    import numpy.typing as npt

    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.rank_indices import RankingIndex
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.base import RowNumbers
    from lance_core.index.explanation import Explanation
    from lance_core.index.ranking import RankedQuery


def explain_row(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, address: int
) -> Explanation | None:
    """How the score of the live row at ``address`` is computed; None if it does not match.

    ``plan`` says which rows there are. Raises `UnsupportedFeatureError` for searches that explain
    no scores.
    """
    if query.parts:
        parts = [explain_row(snapshot, plan, part, address) for part in query.parts]
        return query.explained_by_parts(parts)
    index = ranking_index(snapshot, query)
    if index is not None:
        try:
            return _by_index(snapshot, plan, index, address)
        except (LanceError, OSError) as error:
            warn_of_failure(snapshot, index.name, error)
            query = index.query.without_index()
    return values_ranking(snapshot, plan, query, 1).explained(address)


def _by_index(
    snapshot: Snapshot, plan: ScanPlan, index: RankingIndex, address: int
) -> Explanation | None:
    fragment = address >> 32
    for segment in index.segments:
        if fragment in segment.fragments:
            addressing = Addressing(snapshot, segment)
            break
    else:
        others = [span for span in plan.spans if span.fragment.id not in index.fragments]
        ranking = values_ranking(snapshot, plan.of_spans(others), index.query, 1)
        return ranking.explained(address)

    def mask(numbers: RowNumbers) -> npt.NDArray[np.bool_]:
        addresses, exist = addressing.addresses(numbers)
        found: npt.NDArray[np.bool_] = exist & (addresses == np.uint64(address))
        return found

    return index.query.explained(unchecked(segment.index), AllowedRows(mask, 0.0))


def is_live(snapshot: Snapshot, address: int) -> bool:
    """True if the table has a row at ``address``."""
    fragment = address >> 32
    if fragment not in snapshot.fragment_positions:
        return False
    offset = address & 0xFFFFFFFF
    if offset >= snapshot.physical_rows(snapshot.fragment(fragment)):
        return False
    rows = live_rows(snapshot, [fragment])
    return bool(rows.contains(np.array([address], np.uint64))[0])
