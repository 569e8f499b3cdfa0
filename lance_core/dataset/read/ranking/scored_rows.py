"""`ScoredRows`: rows with their scores, and the columns that are read or computed for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.columns.projection import (
    META_FIELDS,
    Output,
    Projection,
    queryable,
    required,
)
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.output.sort_keys import sort_order
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.read.columns.ordering import ColumnOrdering
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import Hits, RankedQuery
    from lance_core.schema import Schema

QUERY_INDEX = "query_index"
"""The column with the number of the query, from 0, in an answer to several queries."""

Order = Sequence["tuple[ColumnOrdering, Output]"]


def own_fields(query: RankedQuery) -> dict[str, pa.Field]:
    """The columns that a search adds to those of the table, by name."""
    score = pa.field(query.score_name, pa.float32())
    if not query.is_batch:
        return {query.score_name: score}
    number = pa.field(QUERY_INDEX, pa.int32(), nullable=False)
    return {QUERY_INDEX: number, query.score_name: score}


def queryable_with(schema: Schema, own: Iterable[pa.Field]) -> pa.Schema:
    """The columns that expressions about ranked rows may name."""
    found = queryable(schema)
    for field in own:
        found = found if field.name in found.names else found.append(field)
    return found


def stored_columns(
    snapshot: Snapshot,
    schema: Schema,
    addresses: npt.NDArray[Any],
    paths: Sequence[tuple[str, ...]],
) -> pa.Table:
    """The top-level columns that ``paths`` need, as they are stored, of rows by address."""
    fields, meta = required(schema, paths)
    outputs = [Output(field.to_arrow(), (field.name,)) for field in fields]
    outputs += [Output(META_FIELDS[name], (name,)) for name in meta]
    return take_addresses(snapshot, addresses.astype(np.int64), Projection.of(schema, outputs))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Rows of a table in some order, by address.

    ``query``: which the rows answer, with these ``scores``; several ones by their ``numbers``.
    """

    addresses: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    query: RankedQuery

    @classmethod
    def of(cls, hits: Sequence[Hits], query: RankedQuery) -> ScoredRows:
        """The rows of all queries, one query after the other."""
        lengths = [len(one.rows) for one in hits]
        return cls(
            np.concatenate([one.rows for one in hits]).astype(np.int64),
            np.repeat(np.arange(len(hits), dtype=np.int32), lengths),
            np.concatenate([one.scores for one in hits]),
            query,
        )

    def at(self, which: slice | npt.NDArray[Any]) -> ScoredRows:
        """The rows at some positions, or with a True."""
        some = self.addresses[which], self.numbers[which], self.scores[which]
        return ScoredRows(*some, self.query)

    def own(self) -> dict[str, pa.Array]:
        """The columns that the search adds, by name."""
        own = {self.query.score_name: from_numpy(self.scores)}
        return own | {QUERY_INDEX: from_numpy(self.numbers)} if self.query.is_batch else own

    def data(
        self, snapshot: Snapshot, schema: Schema, paths: Iterable[tuple[str, ...]]
    ) -> pa.Table:
        """A table with the columns that ``paths`` need, as they are stored, and with `own`."""
        columns = dict(self.own())
        some = [path for path in paths if path[0] not in columns]
        if some:
            stored = stored_columns(snapshot, schema, self.addresses, some)
            columns |= dict(zip(stored.column_names, stored.columns, strict=True))
        return pa.table(columns)

    def ordered(self, snapshot: Snapshot, schema: Schema, order: Order) -> ScoredRows:
        """The rows in the order of columns; equal ones stay as they are."""
        data = self.data(snapshot, schema, [one.source for _, one in order])  # type: ignore[misc]  # stored columns
        keys = [output.of(data) for _, output in order]
        return self.at(sort_order(keys, [by for by, _ in order]))
