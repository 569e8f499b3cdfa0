"""`MeasuredRows`: the rows that an index covers, for queries that measure what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.read.ranking.rank_indices import RankingIndex, live_rows, rank_index
from lance_core.dataset.read.ranking.rank_values import rank_spans, values_at
from lance_core.dataset.read.sources.fragment_spans import all_spans
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.index.ranking import Hits, RankedQuery, RankedRows

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.base import RowNumbers


class MeasuredRows(RankedRows):
    """The live rows that ``index`` covers, whatever ``plan`` returns of them."""

    def __init__(self, snapshot: Snapshot, plan: ScanPlan, index: RankingIndex) -> None:
        self._snapshot = snapshot
        self._index = index
        self._scanned = plan
        self.segments = [segment.index for segment in index.segments]

    @cached_property
    def _plan(self) -> ScanPlan:
        """A scan of all covered rows. Most queries measure nothing, and need none."""
        covered, spans = self._index.fragments, all_spans(self._snapshot)
        rows = SpanRows(tuple(span for span in spans if span.fragment.id in covered))
        plan = self._scanned
        return replace(plan, rows=rows, mask=None, limit=None, offset=0, metrics=None)

    def sample(self, count: int) -> tuple[RowNumbers, pa.Array]:
        ids = np.array([span.fragment.id for span in self._plan.spans], np.uint64)
        ends = np.cumsum([span.stop for span in self._plan.spans])
        total = int(ends[-1]) if len(ids) else 0
        random = np.random.default_rng(0)
        some = np.unique(random.integers(0, max(1, total), min(4 * count, total)))
        number = np.searchsorted(ends, some, side="right")
        low = some - np.append(0, ends)[number]
        addresses = ids[number] << np.uint64(32) | low.astype(np.uint64)
        addresses = addresses[live_rows(self._snapshot, ids.tolist()).contains(addresses)]
        addresses = np.sort(random.permutation(addresses)[:count])
        column = self._index.query.column
        return addresses, values_at(self._snapshot, self._plan, column, addresses)

    def exact(self, query: RankedQuery) -> Sequence[Hits]:
        return rank_spans(self._snapshot, self._plan, query, query.k)

    def indexed(self, query: RankedQuery) -> Sequence[Hits]:
        index = replace(self._index, query=query)
        return rank_index(self._snapshot, index, None, query.num_candidates)
