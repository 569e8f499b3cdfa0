"""Rank rows by the values of their column, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.dataset.read import scan
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, select
from lance_core.dataset.read.columns.widths import probable_bytes
from lance_core.dataset.read.given_rows.take import take_addresses
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.index.ranking import Hits, best_of

if TYPE_CHECKING:
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.ranking import RankedQuery, ValueRanking


def rank_spans(snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, count: int) -> list[Hits]:
    """The best ``count`` rows of ``plan`` for each query, by address, with exact scores.

    ``plan`` says which rows there are; its projection is not used.
    """
    return values_ranking(snapshot, plan, query, count).hits()


def values_ranking(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, count: int
) -> ValueRanking:
    """The ranking to which all rows of ``plan`` are added, by address."""
    projection = select(plan.schema, [query.column], [ROW_ADDRESS])
    plan = replace(
        plan, projection=projection, batch_size=tuning().ranking.window_rows, limit=None, offset=0
    )
    ranking = query.ranking(count)
    for batch in scan.scan_batches(snapshot, plan):
        values, addresses = batch.columns
        ranking.add(_storage(values), addresses.to_numpy())
    return ranking


def rank_rows(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, addresses: np.ndarray, count: int
) -> list[Hits]:
    """The best ``count`` of the rows at ``addresses`` for each query, with exact scores."""
    ranking = query.ranking(count)
    for start, values in _values_of(snapshot, plan, query.column, addresses):
        ranking.add(values, addresses[start : start + len(values)])
    return ranking.hits()


def rank_again(
    snapshot: Snapshot, plan: ScanPlan, query: RankedQuery, hits: Sequence[Hits], count: int
) -> list[Hits]:
    """The best ``count`` of ``hits``, which are addresses, with exact scores."""
    addresses = np.unique(np.concatenate([one.rows for one in hits]))
    places = [np.searchsorted(addresses, one.rows) for one in hits]
    scores = [np.full(len(one.rows), np.nan, np.float32) for one in hits]
    for start, values in _values_of(snapshot, plan, query.column, addresses):
        for number, at in enumerate(places):
            some = np.flatnonzero((at >= start) & (at < start + len(values)))
            if len(some):
                own = values.take(from_numpy(at[some] - start))
                scores[number][some] = query.scores(own, number)
    return [
        best_of(one.rows, own, count, ascending=query.ascending)
        for one, own in zip(hits, scores, strict=True)
    ]


def values_at(snapshot: Snapshot, plan: ScanPlan, column: str, addresses: np.ndarray) -> pa.Array:
    """The values of ``column`` of the rows at ``addresses``, as they are stored."""
    projection = select(plan.schema, [column])
    taken = take_addresses(snapshot, addresses.astype(np.int64), projection)
    chunks = [_storage(chunk) for chunk in taken.column(0).chunks]
    if not chunks:
        return pa.nulls(0, projection.fields[0].storage_type)
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _values_of(
    snapshot: Snapshot, plan: ScanPlan, column: str, addresses: np.ndarray
) -> Iterator[tuple[int, pa.Array]]:
    """The values of the rows at ``addresses`` in parts; each has the position of its first row."""
    limits, width = tuning().ranking, probable_bytes(select(plan.schema, [column]).fields)
    step = max(1, min(limits.taken_rows, limits.taken_bytes // max(1, width)))
    for start in range(0, len(addresses), step):
        yield start, values_at(snapshot, plan, column, addresses[start : start + step])


def _storage(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values
