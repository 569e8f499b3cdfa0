"""`IndexSearch`: the best rows by an index that satisfy a filter, in the way that costs least.

Rows that a filter excludes never cost results. Few rows that satisfy it are ranked by their values,
which is exact. Of more, the index ranks only those that satisfy the filter. Where testing all rows
would take longer than a search, the index ranks without the filter, and only the best rows are
tested; if too many of them fail, all rows are tested after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lance_core.concurrency.fork_safe import cached_property
from lance_core.dataset.read.columns.searched_field import searched_field
from lance_core.dataset.read.columns.widths import probable_bytes
from lance_core.dataset.read.ranking.matching_rows import FilterRows
from lance_core.dataset.read.ranking.rank_indices import live_rows, rank_index
from lance_core.dataset.read.ranking.rank_values import (
    rank_again,
    rank_rows,
    rank_spans,
    stored_columns,
)
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.fragment_spans import FragmentSpans
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_uncovered_rows
from lance_core.index.ranking import Hits, merged
from lance_core.table.indices.row_flags import RowFlags

if TYPE_CHECKING:
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.rank_indices import RankingIndex
    from lance_core.dataset.snapshot.snapshot import Snapshot


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
        self._others: Sequence[Span]
        self._plan = plan
        spans, fragments = plan.spans, index.stored.fragments
        if isinstance(spans, FragmentSpans) and spans.has_all_rows and len(fragments) == len(spans):
            # Mostly so: a loop over many fragments takes longer than a search.
            self._covered, self._others, self._is_whole = plan, (), True
            return
        covered: list[Span] = []
        others: list[Span] = []
        for span in spans:
            (covered if span.fragment.id in fragments else others).append(span)
        self._covered = plan.of_spans(covered) if others else plan
        self._others = () if skips_others else others
        self._is_whole = all(
            span.start == 0 and span.stop == snapshot.physical_rows(span.fragment)
            for span in covered
        )

    @cached_property
    def _filter_rows(self) -> FilterRows:
        return FilterRows(self._snapshot, self._covered)

    @property
    def num_others(self) -> int:
        """The number of spans that the index does not cover: they are ranked by their values."""
        return len(self._others)

    @cached_property
    def tests_best(self) -> bool:
        """True if the filter is tested for the best rows first."""
        rows, numbers = self._filter_rows, tuning().ranking
        fields = self._covered.filter_fields if rows.are_tested else ()
        if not fields or rows.are_known or self._num_tested > numbers.tested_rows:
            return False
        size = self._num_rows(self._covered) * probable_bytes(fields)
        if size >= numbers.tested_bytes:
            return True
        return size >= numbers.cheap_bytes and self._query.ranks_deep and not rows.are_repeated

    @property
    def _num_tested(self) -> int:
        """The rows of each query for which the filter is tested, if it is tested for the best."""
        numbers, count = tuning().ranking, self._query.num_candidates
        return max(numbers.growth * count, numbers.deep_rows if self._query.ranks_deep else 0)

    def hits(self) -> Sequence[Hits]:
        """The best rows for each query, by address."""
        query, others = self._query, self._best_others()
        is_mixed = any(len(ranked.rows) for ranked in others)
        hits = self._best_covered(refines=query.refines or (is_mixed and not query.is_final))
        if not is_mixed:
            return hits
        pairs, count = zip(hits, others, strict=True), query.num_candidates
        return [merged(pair, count, ascending=query.ascending) for pair in pairs]

    def _best_others(self) -> Sequence[Hits]:
        """The best of the rows that the index does not cover; warns if these are many."""
        if not self.num_others:
            return ()
        plan = self._plan.of_spans(self._others)
        rows, others = self._num_rows(self._covered), self._num_rows(plan)
        if others >= tuning().ranking.uncovered_rows and 4 * others > rows:
            warn_of_uncovered_rows(self._snapshot, self._index.stored.name, others)
        return rank_spans(self._snapshot, plan, self._query)

    def _best_covered(self, *, refines: bool) -> Sequence[Hits]:
        """The best rows that the index covers, with exact scores if ``refines``."""
        plan, query = self._covered, self._query
        has_all_fragments = len(plan.spans) >= len(self._index.stored.fragments)
        if self._is_whole and has_all_fragments and not plan.is_selective:
            return self._ranked(None, refines=refines)
        if self.tests_best:
            hits = self._tested(refines=refines)
            if hits is not None:
                return hits
        rows = self._matching()
        self._note(f"{rows.count} rows satisfy the filter" if plan.is_selective else "")
        if not query.is_final and rows.count <= max(self._few_rows, query.k):
            self._note("they are ranked by their values")
            return rank_rows(self._snapshot, plan, query, rows.addresses())
        return self._ranked(rows, refines=refines)

    def _ranked(self, rows: RowFlags | None, *, refines: bool) -> Sequence[Hits]:
        """The best of ``rows``, or of all, by the index; more of them where they are too few."""
        count = self._query.num_candidates
        while True:
            hits = rank_index(self._snapshot, self._index, rows, count)
            enough = self._refined(hits, count) if refines else hits
            if enough is not None:
                return enough
            count *= tuning().ranking.growth
            if count > tuning().ranking.few_rows:
                self._note("ranked by their values, for the range of scores")
                return rank_spans(self._snapshot, self._covered, self._query)

    def _tested(self, *, refines: bool) -> Sequence[Hits] | None:
        """The best rows that satisfy the filter, tested after they are ranked; None if too few."""
        snapshot, plan, condition = self._snapshot, self._covered, self._covered.filter
        assert condition is not None
        num_candidates = self._query.num_candidates
        count = self._num_tested
        self._filter_rows.note()
        hits = rank_index(snapshot, self._index, None, count)
        addresses = np.unique(np.concatenate([ranked.rows for ranked in hits]))
        data = stored_columns(snapshot, plan.schema, addresses.astype(np.int64), condition.columns)
        mask = condition.mask(data) if len(addresses) else np.empty(0, np.bool_)
        self._note(f"tested for {len(addresses)} ranked rows, of which {mask.sum()} satisfy it")
        passed = []
        for ranked in hits:
            at = np.flatnonzero(mask[np.searchsorted(addresses, ranked.rows)])[:num_candidates]
            if len(at) < num_candidates and len(ranked.rows) >= count:
                return None
            passed.append(ranked.take(at))
        return self._refined(passed, num_candidates) if refines else passed

    def _refined(self, hits: Sequence[Hits], count: int) -> Sequence[Hits] | None:
        """The ``count`` best of ``hits`` with exact scores.

        None if there may be more rows, and fewer than wanted have none of the scores that are
        better than those of results.
        """
        query = self._query
        exact = rank_again(self._snapshot, self._covered, query, hits, count)
        if query.best_score is not None:
            for ranked in exact:
                scores, best = ranked.scores, query.best_score
                worse = scores >= best if query.ascending else scores <= best
                if len(scores) >= count and worse.sum() < query.num_candidates:
                    return None
        return exact

    @property
    def _few_rows(self) -> int:
        """Rows whose values are read in less time than the index takes, about."""
        numbers = tuning().ranking
        width = probable_bytes([searched_field(self._covered.schema, self._query.column).read])
        if self._snapshot.is_io_bound:
            width = max(width, numbers.request_bytes)
        return min(numbers.few_rows, numbers.few_bytes // max(1, width))

    def _matching(self) -> RowFlags:
        """The rows that the index covers and that may be returned."""
        snapshot, plan = self._snapshot, self._covered
        if self._is_whole and not plan.is_selective:
            ids = {span.fragment.id for span in plan.spans}
            return live_rows(snapshot, self._index.stored.fragments).within(ids.__contains__)
        return self._filter_rows.flags()

    def _num_rows(self, plan: ScanPlan) -> int:
        return sum(self._snapshot.physical_rows(span.fragment) for span in plan.spans)

    def _note(self, text: str) -> None:
        metrics = self._covered.metrics
        if metrics is not None and text:
            metrics.ranking.append(text)
