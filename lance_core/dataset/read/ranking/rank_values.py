"""Rank rows by the values of their column, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read import scan
from lance_core.dataset.read.columns.projection import (
    META_FIELDS,
    ROW_ADDRESS,
    Output,
    Projection,
    required,
)
from lance_core.dataset.read.columns.searched_field import searched_field
from lance_core.dataset.read.columns.widths import probable_bytes
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import from_numpy, to_numpy
from lance_core.index.ranking import Hits, best_of

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery
    from lance_core.schema import Schema

Addresses = npt.NDArray[np.uint64]


def rank_spans(snapshot: Snapshot, plan: ScanPlan, query: RankedQuery) -> Sequence[Hits]:
    """The best rows of ``plan`` for each query, by address, with exact scores."""
    return query.rank(values_of(snapshot, plan, query.column), query.k)


def values_of(snapshot: Snapshot, plan: ScanPlan, column: str) -> Iterator[tuple[pa.Array, Any]]:
    """The values of all rows of ``plan``, and their addresses; its projection is not used."""
    field = searched_field(plan.schema, column)
    projection = field.projection(plan.schema, column, [ROW_ADDRESS])
    size = tuning().ranking.window_rows
    plan = replace(plan, projection=projection, batch_size=size, limit=None, offset=0)
    for batch in scan.scan_batches(snapshot, plan):
        values, addresses = batch.columns
        yield field.values(_storage(values)), to_numpy(addresses)


def rank_rows(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, addresses: Addresses
) -> Sequence[Hits]:
    """The best of the rows at ``addresses``, which ascend, for each query, with exact scores."""
    return query.rank(_values_at(snapshot, plan, query.column, addresses), query.k)


def rank_again(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, hits: Sequence[Hits], count: int
) -> list[Hits]:
    """The best ``count`` of ``hits``, which are addresses, with exact scores."""
    addresses = np.unique(np.concatenate([ranked.rows for ranked in hits]))
    scores = [np.full(len(ranked.rows), np.nan, np.float32) for ranked in hits]
    for values, rows in _values_at(snapshot, plan, query.column, addresses):
        for number, ranked in enumerate(hits):
            here = np.flatnonzero((ranked.rows >= rows[0]) & (ranked.rows <= rows[-1]))
            if len(here):
                chosen = values.take(from_numpy(np.searchsorted(rows, ranked.rows[here])))
                scores[number][here] = query.scores(chosen, number)
    pairs = zip(hits, scores, strict=True)
    return [
        best_of(ranked.rows, exact, count, ascending=query.ascending) for ranked, exact in pairs
    ]


def _values_at(
    snapshot: Snapshot, plan: ScanPlan, column: str, addresses: Addresses
) -> Iterator[tuple[pa.Array, Addresses]]:
    """The values of the rows at ``addresses`` as they are stored, in parts, with the addresses."""
    limits, field = tuning().ranking, searched_field(plan.schema, column)
    projection = field.projection(plan.schema, column)
    width = max(1, probable_bytes(projection.fields))
    step = max(1, min(limits.taken_rows, limits.taken_bytes // width))
    for start in range(0, len(addresses), step):
        rows = addresses[start : start + step]
        taken = take_addresses(snapshot, rows.astype(np.int64), projection)
        yield field.values(_storage(combine_chunks(taken.column(0)))), rows


def stored_columns(
    snapshot: Snapshot,
    schema: Schema,
    addresses: npt.NDArray[np.int64],
    paths: Sequence[tuple[str, ...]],
) -> pa.Table:
    """The top-level columns that ``paths`` need, as they are stored, of rows by address."""
    fields, meta = required(schema, paths)
    outputs = [Output(field.to_arrow(), (field.name,)) for field in fields]
    outputs += [Output(META_FIELDS[name], (name,)) for name in meta]
    return take_addresses(snapshot, addresses, Projection.of(schema, outputs))


def _storage(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values
