"""Several queries at once: each partition is compared with all queries that search it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.searches import Hits, best_of
from lance_core_vector.flat_search import rounding_errors, terms
from lance_core_vector.loops.batch_scan import BestOfQueries, Block
from lance_core_vector.loops.float_scan import SPARE_ROWS
from lance_core_vector.quantizers.flat import vectors_at

if TYPE_CHECKING:
    from lance_core.hookspecs.searches import AllowedRows
    from lance_core_vector.distances import Metric
    from lance_core_vector.partitions.partition_cache import Partition

FEW_ALLOWED = 0.02
"""The share of allowed rows below which all rows are masked before they are ranked: to rank many
times as many rows as are wanted takes longer."""


def best_of_queries(
    metric: Metric,
    vectors: npt.NDArray[Any],
    searched: Sequence[tuple[Partition, npt.NDArray[np.int64]]],
    count: int,
    allowed: AllowedRows | None,
) -> list[Hits | None]:
    """The ``count`` best rows for each of ``vectors``, of partitions that have the vectors of rows.

    ``searched``: partitions, and the numbers of the vectors that search each. None for a vector if
    rounding leaves open which rows are the best, or numbers are not 32-bit floats, or infinite.
    """
    partitions = [partition for partition, _ in searched]
    bounds = np.array(
        [partition.codes[2][1] for partition in partitions if len(partition.codes) > 2]
    )
    is_float = all(partition.codes[0].dtype == np.float32 for partition in partitions)
    if not is_float or len(bounds) < len(partitions) or not np.isfinite(bounds).all():
        return [None] * len(vectors)
    vectors = vectors.astype(np.float32, copy=False)  # they are float64 where the centroids are
    masks_first = allowed is not None and allowed.share < FEW_ALLOWED
    capacity = count + SPARE_ROWS
    if allowed is not None and not masks_first:
        capacity += int(0.25 * count / allowed.share) + SPARE_ROWS
    # Never full with all rows.
    capacity = min(capacity, sum(len(partition.rows) for partition in partitions) + 1)
    best = BestOfQueries(vectors, capacity)
    position = 0
    for partition, queries in searched:
        codes, squares, _ = partition.codes
        mask = allowed.mask(partition.rows) if allowed is not None and masks_first else None
        block = Block(codes, partition.rows, *terms(metric.name, squares), mask)
        best.offer(block, queries, position)
        position += len(squares)
    best_rows = [best.of_query(number) for number in range(len(vectors))]
    ends = np.cumsum([len(rows_of_query.rows) for rows_of_query in best_rows])[:-1]
    rows = np.concatenate([rows_of_query.rows for rows_of_query in best_rows])
    counts = np.ones(len(rows), np.bool_)
    if allowed is not None and not masks_first:
        counts = allowed.mask(rows)
    near = vectors_at(
        partitions, np.concatenate([rows_of_query.positions for rows_of_query in best_rows])
    )
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    errors = rounding_errors(metric.name, float(np.sqrt(bounds.max())), lengths, vectors.shape[1])
    answers: list[Hits | None] = []
    parts = zip(best_rows, np.split(counts, ends), np.split(near, ends), strict=True)
    for number, (own, mask, some) in enumerate(parts):
        scores = own.scores[mask]
        is_full, is_enough = len(own.scores) == capacity, len(scores) >= count
        if is_full and not (is_enough and own.scores[-1] - scores[count - 1] > 2 * errors[number]):
            answers.append(None)
            continue
        exact = metric.exact(some[mask], vectors[number].astype(some.dtype))
        answers.append(best_of(own.rows[mask], exact, count, ascending=True))
    return answers
