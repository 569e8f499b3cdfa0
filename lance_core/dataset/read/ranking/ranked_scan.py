"""`RankedScan`: the best rows for a query, with their scores, as a table.

The filter decides which rows may be returned, indices of the column rank the rows that they cover,
all others are ranked by their values, and the columns of the best rows are read last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.expressions.filters import Value
from lance_core.dataset.read.columns.projection import ROW_ADDRESS
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.output.sort_keys import sort_order
from lance_core.dataset.read.ranking.index_search import IndexSearch
from lance_core.dataset.read.ranking.rank_indices import column_indices, ranking_index
from lance_core.dataset.read.ranking.rank_values import rank_spans, stored_columns
from lance_core.dataset.read.sources.prefilter.usable_indices import warn_of_failure
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy
from lance_core.errors import LanceError
from lance_core.index.loads import Loads
from lance_core.index.ranking import NO_HITS, Hits
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.columns.ordering import ColumnOrdering
    from lance_core.dataset.read.columns.projection import Output
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery

QUERY_INDEX = "query_index"
"""The column with the number of the query, from 0, in an answer to several queries."""

ELEMENT_POSITIONS = pa.list_(pa.field("item", pa.uint32(), nullable=False))
"""The type of the column that says which element of a list was ranked, as pylance has it."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedScan:
    """A scan that returns the best rows for ``query``, best first.

    ``plan`` has the rows that may be returned and the columns of the table, without those that the
    search adds. ``outputs``: the columns of the result; the source of each is the name of a column
    of the search or of the plan, or an expression about columns of the search and of the table.
    ``condition``: which of the ranked rows are returned; the filter of the plan decides which rows
    are ranked. ``order``: the columns to sort the ranked rows by; the limit and offset of the plan
    count rows in this order. ``skips_others``: rows that an index does not cover are not returned,
    unless no index of the column can be used.
    """

    query: RankedQuery
    plan: ScanPlan
    outputs: Sequence[Output]
    condition: Filter | None = None
    order: Sequence[tuple[ColumnOrdering, Output]] = ()
    skips_others: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        fields = [output.field for output in self.outputs]
        return pa.schema(fields, self.plan.projection.schema.metadata)

    def table(self, snapshot: Snapshot) -> pa.Table:
        """The result."""
        plan, rows = self.plan, self._rows(snapshot)
        if self.order:
            paths: list[Any] = [output.source for _, output in self.order]
            data = self._with_stored(snapshot, rows, paths)
            keys = [output.of(data) for _, output in self.order]
            rows = rows.take(sort_order(keys, [by for by, _ in self.order]))
        if plan.offset or plan.limit is not None:
            rows = rows.slice(plan.offset, plan.limit)
        stored = take_addresses(snapshot, _addresses(rows), plan.projection)
        values = [output.source for output in self.outputs if isinstance(output.source, Value)]
        data = self._with_stored(
            snapshot, rows, [path for value in values for path in value.columns]
        )
        columns = []
        for output in self.outputs:
            if isinstance(output.source, Value):
                columns.append(output.source.evaluate(data))
            else:
                name = output.source[0]
                columns.append((rows if name in rows.column_names else stored).column(name))
        return pa.Table.from_arrays(columns, schema=self.schema)

    def count(self, snapshot: Snapshot) -> int:
        """The number of rows of the result."""
        rows = self._rows(snapshot)
        return int(rows.slice(self.plan.offset, self.plan.limit).num_rows)

    def _rows(self, snapshot: Snapshot) -> pa.Table:
        """The ranked rows that satisfy the condition, best first: their addresses and scores.

        The queries of a batch follow each other, with the number of each.
        """
        query, plan = self.query, self.plan
        if plan.limit is not None and self.condition is None and not self.order:
            query = query.up_to(max(1, plan.offset + plan.limit))
        hits = []
        with Loads() as loads:
            answers = self._hits(snapshot, query)
        if plan.metrics is not None:
            plan.metrics.loads.append(loads)
        for ranked in answers:
            mask = query.accepts(ranked.scores)
            own = ranked if mask.all() else ranked.take(mask)
            hits.append(own.take(slice(query.k)) if len(own.rows) > query.k else own)
        columns = {
            ROW_ADDRESS: np.concatenate([ranked.rows for ranked in hits]),
            query.score_name: np.concatenate([ranked.scores for ranked in hits]),
        }
        if query.is_batch:
            numbers = np.arange(len(hits), dtype=np.int32)
            columns[QUERY_INDEX] = np.repeat(numbers, [len(ranked.rows) for ranked in hits])
        rows = pa.table({name: from_numpy(values) for name, values in columns.items()})
        if query.element_name is not None:
            rows = rows.append_column(query.element_name, _element_lists(hits))
        if self.condition is None:
            return rows
        data = self._with_stored(snapshot, rows, self.condition.columns)
        return rows.filter(from_numpy(self.condition.mask(data)))

    def _with_stored(
        self, snapshot: Snapshot, rows: pa.Table, paths: Sequence[tuple[str, ...]]
    ) -> pa.Table:
        """``rows`` with the columns of the table that ``paths`` need, as they are stored."""
        paths = [path for path in paths if path[0] not in rows.column_names]
        if not paths:
            return rows
        stored = stored_columns(snapshot, self.plan.schema, _addresses(rows), paths)
        names = rows.column_names + stored.column_names
        return pa.table(rows.columns + stored.columns, names=names)

    def _hits(self, snapshot: Snapshot, query: RankedQuery) -> Sequence[Hits]:
        """The best rows for each query, by an index or by the values."""
        if query.parts:
            return [query.combined([self._hits(snapshot, part)[0] for part in query.parts])]
        index, skips_others = ranking_index(snapshot, query), self.skips_others
        if index is not None:
            try:
                tuned = index.query.tuned()
                if tuned is not index.query:
                    index = replace(index, query=tuned)
                search = IndexSearch(snapshot, self.plan, index, skips_others=skips_others)
                return search.hits()
            except (LanceError, OSError) as error:
                warn_of_failure(snapshot, index.stored.name, error)
                query = index.query.without_index()
        elif skips_others and query.uses_indices and not column_indices(snapshot, query.column):
            return [NO_HITS] * query.num_queries
        return rank_spans(snapshot, self.plan, query)


def _element_lists(hits: Sequence[Hits]) -> pa.Array:
    """The position of each hit in the list of its row, as a list of one number."""
    elements = [ranked.elements for ranked in hits if ranked.elements is not None]
    numbers = np.concatenate([np.empty(0, np.uint32), *elements])
    offsets = from_numpy(np.arange(len(numbers) + 1, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, from_numpy(numbers), type=ELEMENT_POSITIONS)


def _addresses(rows: pa.Table) -> npt.NDArray[np.int64]:
    addresses: npt.NDArray[np.int64] = to_numpy(rows.column(ROW_ADDRESS)).astype(np.int64)
    return addresses
