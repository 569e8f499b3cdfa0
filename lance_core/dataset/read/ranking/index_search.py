"""`IndexSearch`: the best rows by an index that satisfy a filter, in the way that costs least.

Rows that a filter excludes never cost results. Few rows that satisfy it are ranked by their values,
which is exact. Of more, the index ranks only those that satisfy the filter. Where testing all rows
would take longer than a search, the index ranks without the filter, and only the best rows are
tested; if too many of them fail, all rows are tested after all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.read import scan
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, select
from lance_core.dataset.read.columns.widths import probable_bytes
from lance_core.dataset.read.ranking.rank_indices import count_rows, live_rows, rank_index
from lance_core.dataset.read.ranking.rank_values import rank_again, rank_rows, rank_spans
from lance_core.dataset.read.ranking.row_flags import RowFlags
from lance_core.dataset.read.ranking.scored_rows import stored_columns
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_uncovered_rows
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.index.ranking import Hits, merged
from lance_core.table.indices.row_set import RowSet

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.rank_indices import RankingIndex
    from lance_core.dataset.snapshot.snapshot import Snapshot

AllowedSet: TypeAlias = RowSet | RowFlags


class IndexSearch:
    """The search for the best rows of ``plan``, by ``index`` or, of those that it lacks, by values.

    ``skips_others``: rows that the index does not cover are not returned.
    """

    def __init__(
        self, snapshot: Snapshot, plan: ScanPlan, index: RankingIndex, *, skips_others: bool
    ) -> None:
        self._snapshot = snapshot
        self._index = index
        self._query = index.query
        covered: list[Span] = []
        others: list[Span] = []
        for span in plan.spans:
            (covered if span.fragment.id in index.fragments else others).append(span)
        self._covered = plan.of_spans(covered) if others else plan
        self._plan = plan
        self._other_spans = [] if skips_others else others
        self._is_whole = all(
            span.start == 0 and span.stop == snapshot.physical_rows(span.fragment)
            for span in covered
        )

    @property
    def num_others(self) -> int:
        """The number of spans that the index does not cover: they are ranked by their values."""
        return len(self._other_spans)

    @cached_property
    def tests_best(self) -> bool:
        """True if the filter is tested for the best rows first."""
        plan = self._covered
        condition = plan.filter
        if not isinstance(plan.rows, SpanRows) or condition is None or plan.mask is not None:
            return False
        rows = sum(self._snapshot.physical_rows(span.fragment) for span in plan.spans)
        size = rows * probable_bytes(plan.filter_fields)
        return bool(condition.columns) and self._is_whole and size >= tuning().ranking.tested_bytes

    def hits(self) -> list[Hits]:
        """The best rows for each query, by address."""
        query = self._query
        unindexed = []
        if self._other_spans:
            self._warn_of_others()
            others = self._plan.of_spans(self._other_spans)
            unindexed = rank_spans(self._snapshot, others, query, query.k)
        is_mixed = any(len(one.rows) for one in unindexed)
        is_inexact = is_mixed and not query.is_final
        hits = self._of_index(refines=query.refines or is_inexact)
        if is_mixed:
            count = query.num_candidates
            pairs = zip(hits, unindexed, strict=True)
            hits = [merged(pair, count, ascending=query.ascending) for pair in pairs]
        return hits

    def _warn_of_others(self) -> None:
        """Warn if the rows that the index does not cover are many."""
        rows, others = (
            sum(self._snapshot.physical_rows(span.fragment) for span in spans)
            for spans in (self._covered.spans, self._other_spans)
        )
        if others >= tuning().ranking.uncovered_rows and 4 * others > rows:
            warn_of_uncovered_rows(self._snapshot, self._index.name, others)

    def _of_index(self, *, refines: bool) -> list[Hits]:
        """The best rows that the index covers, with exact scores if ``refines``."""
        snapshot, plan = self._snapshot, self._covered
        has_all_fragments = len(plan.spans) >= len(self._index.fragments)
        if self._is_whole and has_all_fragments and not plan.is_selective:
            return self._ranked(None, refines=refines)
        if self.tests_best:
            hits = self._tested(refines=refines)
            if hits is not None:
                return hits
        rows = self._matching()
        count = count_rows(snapshot, rows)
        self._note(f"{count} rows satisfy the filter" if plan.is_selective else "")
        is_few = not self._query.is_final and count <= max(self._few_rows, self._query.k)
        if isinstance(rows, RowFlags) and is_few:
            self._note("they are ranked by their values")
            return rank_rows(snapshot, plan, self._query, rows.addresses(), self._query.k)
        return self._ranked(rows, refines=refines)

    def _ranked(self, rows: AllowedSet | None, *, refines: bool) -> list[Hits]:
        """The best of ``rows``, or of all, by the index.

        Where the best scores are excluded, exact ones decide: more rows are ranked until as many as
        wanted have others.
        """
        query, count = self._query, self._query.num_candidates
        while True:
            hits = rank_index(self._snapshot, self._index, rows, count)
            if not refines:
                return hits
            exact = rank_again(self._snapshot, self._covered, query, hits, count)
            if all(self._is_enough(one, count) for one in exact):
                return exact
            count *= tuning().ranking.growth
            if count > tuning().ranking.few_rows:
                self._note("ranked by their values, for the range of scores")
                return rank_spans(self._snapshot, self._covered, query, query.k)

    def _is_enough(self, hits: Hits, count: int) -> bool:
        """True if ``count`` ranked rows are as many as wanted beside those with a better score."""
        query = self._query
        best = query.best_score
        if best is None or len(hits.rows) < count:
            return True
        worse = hits.scores >= best if query.ascending else hits.scores <= best
        return int(worse.sum()) >= query.num_candidates

    def _tested(self, *, refines: bool) -> list[Hits] | None:
        """The best rows that satisfy the filter, tested after they are ranked; None if too few."""
        snapshot, plan, query = self._snapshot, self._covered, self._query
        count = query.num_candidates * tuning().ranking.growth
        hits = rank_index(snapshot, self._index, None, count)
        addresses = np.unique(np.concatenate([one.rows for one in hits]))
        assert plan.filter is not None
        data = stored_columns(snapshot, plan.schema, addresses, plan.filter.columns)
        mask = plan.filter.mask(data) if len(addresses) else np.empty(0, np.bool_)
        self._note(f"tested for {len(addresses)} ranked rows, of which {mask.sum()} satisfy it")
        found = []
        for one in hits:
            kept = mask[np.searchsorted(addresses, one.rows)]
            if kept.sum() < query.num_candidates and len(one.rows) >= count:
                return None
            some = np.flatnonzero(kept)[: query.num_candidates]
            found.append(Hits(one.rows[some], one.scores[some]))
        if not refines:
            return found
        exact = rank_again(snapshot, plan, query, found, query.num_candidates)
        return exact if all(self._is_enough(one, query.num_candidates) for one in exact) else None

    @property
    def _few_rows(self) -> int:
        """Rows whose values are read in less time than the index takes, about."""
        numbers = tuning().ranking
        width = probable_bytes(select(self._covered.schema, [self._query.column]).fields)
        if self._snapshot.is_io_bound:
            width = max(width, numbers.request_bytes)
        return min(numbers.few_rows, numbers.few_bytes // max(1, width))

    def _matching(self) -> AllowedSet:
        """The addresses of the rows that the index covers and that may be returned."""
        snapshot, plan = self._snapshot, self._covered
        if self._is_whole and not plan.is_selective:
            return live_rows(snapshot, [span.fragment.id for span in plan.spans])
        if plan.mask is not None:
            addresses = replace(
                plan, projection=select(plan.schema, [ROW_ADDRESS]), limit=None, offset=0
            )
            found = [batch.column(0).to_numpy() for batch in scan.scan_batches(snapshot, addresses)]
            return RowSet.of(np.concatenate([np.empty(0, np.uint64), *found]))
        sizes = {span.fragment.id: snapshot.physical_rows(span.fragment) for span in plan.spans}
        parts = ((fragment.id, rows) for fragment, rows in scan.matching(snapshot, plan))
        return RowFlags.of(sizes, parts)

    def _note(self, text: str) -> None:
        metrics = self._covered.metrics
        if metrics is not None and text:
            metrics.ranking.append(text)
