"""Explain the score of one row: by the index that covers it, or by the values of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lance_core.dataset.read.ranking.rank_indices import allowed_rows, live_rows, ranking_index
from lance_core.dataset.read.ranking.rank_values import values_of
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_failure
from lance_core.errors import LanceError
from lance_core.index.type_checks import unchecked
from lance_core.table.indices.index_metadata import fragment_bitmap
from lance_core.table.indices.row_flags import RowFlags

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
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
    index, fragment = ranking_index(snapshot, query), address >> 32
    if index is not None:
        query, stored = index.query, index.stored
        try:
            for segment, opened in zip(stored.segments, index.opened, strict=True):
                if fragment in segment.fragments:
                    rows = allowed_rows(snapshot, segment, _only(snapshot, address))
                    return query.explained(unchecked(opened), rows)
            plan = plan.of_spans(
                [one for one in plan.spans if one.fragment.id not in stored.fragments]
            )
        except (LanceError, OSError) as error:
            warn_of_failure(snapshot, stored.name, error)
            query = query.without_index()
    return query.explained_by_values(values_of(snapshot, plan, query.column), address)


def is_live(snapshot: Snapshot, address: int) -> bool:
    """True if the table has a row at ``address``."""
    fragment, offset = address >> 32, address & 0xFFFFFFFF
    if fragment not in snapshot.fragment_positions:
        return False
    if offset >= snapshot.physical_rows(snapshot.fragment(fragment)):
        return False
    rows = live_rows(snapshot, fragment_bitmap([fragment]))
    return bool(rows.contains(np.array([address], np.uint64))[0])


def _only(snapshot: Snapshot, address: int) -> RowFlags:
    fragment = snapshot.fragment(address >> 32)
    offset = np.array([address & 0xFFFFFFFF])
    return RowFlags.of({fragment.id: snapshot.physical_rows(fragment)}, [(fragment.id, offset)])
