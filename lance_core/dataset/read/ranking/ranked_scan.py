"""`RankedScan`: the best rows for a query, with their scores, as a table.

The filter decides which rows may be returned, indices of the column rank the rows that they cover,
all others are ranked by their values, and the columns of the best rows are read last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.dataset.expressions.filters import Value
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.ranking.index_search import IndexSearch
from lance_core.dataset.read.ranking.measured_rows import MeasuredRows
from lance_core.dataset.read.ranking.rank_indices import RankingIndex, ranking_index
from lance_core.dataset.read.ranking.rank_values import rank_spans
from lance_core.dataset.read.ranking.scored_rows import ScoredRows, own_fields
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_failure
from lance_core.errors import LanceError
from lance_core.index.ranking import Hits
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.read.ranking.scored_rows import Order
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery


@dataclass(frozen=True, slots=True, eq=False)
class RankedScan:
    """A scan that returns the best rows for ``query``, best first.

    ``plan`` has the rows that may be returned and the columns, without those that the search adds;
    ``columns``: the name of each column of the result, in order, and the column of the plan, or of
    the search, that it is, or the expression that computes it. ``condition``: which of the ranked
    rows are returned; the filter of the plan decides which rows are ranked. ``order``: the columns
    to sort the ranked rows by; the limit and offset of the plan count rows in this order.
    ``skips_others``: rows that an index does not cover are not returned if an index is used.
    """

    query: RankedQuery
    plan: ScanPlan
    columns: tuple[tuple[str, str | Value], ...]
    condition: Filter | None = None
    order: Order = ()
    skips_others: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        stored, own = self.plan.projection.schema, own_fields(self.query)
        fields = []
        for name, source in self.columns:
            if isinstance(source, Value):
                fields.append(source.field(name))
            else:
                fields.append((own.get(source) or stored.field(source)).with_name(name))
        return pa.schema(fields, stored.metadata)

    def table(self, snapshot: Snapshot) -> pa.Table:
        """The result."""
        plan, rows = self.plan, self._rows(snapshot)
        if self.order:
            rows = rows.ordered(snapshot, plan.schema, self.order)
        if plan.offset or plan.limit is not None:
            rows = rows.at(slice(plan.offset, plan.up_to(len(rows.scores))))
        stored = take_addresses(snapshot, rows.addresses, plan.projection)
        columns = rows.own()
        computed = [source for _, source in self.columns if isinstance(source, Value)]
        if computed:
            data = rows.data(snapshot, plan.schema, [p for one in computed for p in one.columns])
        found = []
        for _, source in self.columns:
            if isinstance(source, Value):
                found.append(source.evaluate(data))
            else:
                found.append(columns[source] if source in columns else stored.column(source))
        return pa.Table.from_arrays(found, schema=self.schema)

    def count(self, snapshot: Snapshot) -> int:
        """The number of rows of the result."""
        found = len(self._rows(snapshot).scores)
        return len(range(found)[self.plan.offset :][: self.plan.limit])

    def _rows(self, snapshot: Snapshot) -> ScoredRows:
        """The ranked rows that satisfy the condition, best first."""
        rows = ScoredRows.of(self._hits(snapshot), self.query)
        if self.condition is None:
            return rows
        data = rows.data(snapshot, self.plan.schema, self.condition.columns)
        return rows.at(self.condition.mask(data))

    def index(self, snapshot: Snapshot) -> RankingIndex | None:
        """The index that is searched, if there is one, with what is known of it by now."""
        found = ranking_index(snapshot, self.query)
        if found is None:
            return None
        known = found.query.tuned_if_known(MeasuredRows(snapshot, self.plan, found))
        return replace(found, query=known)

    def _hits(self, snapshot: Snapshot) -> list[Hits]:
        """The best rows for each query, by address, with the scores of the result."""
        query, plan = self.query, self.plan
        if plan.limit is not None and self.condition is None and not self.order:
            query = query.up_to(max(1, plan.offset + plan.limit))
        query, hits = self._ranked(snapshot, query)
        accepted = [query.accepts(one.scores) for one in hits]
        return [
            Hits(one.rows[mask][: query.k], one.scores[mask][: query.k])
            for one, mask in zip(hits, accepted, strict=True)
        ]

    def _ranked(self, snapshot: Snapshot, query: RankedQuery) -> tuple[RankedQuery, list[Hits]]:
        """The query as it is answered, and its best rows, by an index or by the values."""
        if query.parts:
            answers = [self._ranked(snapshot, part)[1][0] for part in query.parts]
            return query, [query.combined(answers)]
        index = ranking_index(snapshot, query)
        if index is not None:
            query = index.query
            try:
                tuned = query.tuned(MeasuredRows(snapshot, self.plan, index))
                if tuned is not query:
                    query, index = tuned, replace(index, query=tuned)
                search = IndexSearch(snapshot, self.plan, index, skips_others=self.skips_others)
                return query, search.hits()
            except (LanceError, OSError) as error:
                warn_of_failure(snapshot, index.name, error)
                query = query.without_index()
        return query, rank_spans(snapshot, self.plan, query, query.k)
