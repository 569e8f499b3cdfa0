"""Several queries at once: each partition is compared with all queries that search it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lance_core.hookspecs.searches import Hits, best_of
from lance_core_vector.flat_search import rounding_errors, terms
from lance_core_vector.loops.batch_scan import BestOfQueries, Block
from lance_core_vector.loops.best_rows import BestRows, merged_best
from lance_core_vector.loops.float_scan import SPARE_ROWS
from lance_core_vector.loops.threads import PART_PRODUCTS, in_threads, parts_of
from lance_core_vector.quantizers.flat import vectors_at

if TYPE_CHECKING:
    from lance_core.hookspecs.searches import AllowedRows
    from lance_core_vector.distances import Metric
    from lance_core_vector.partitions.partition_cache import Partition

Floats = npt.NDArray[np.float32]

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
    blocks = []
    for partition in partitions:
        codes, squares, _ = partition.codes
        mask = allowed.mask(partition.rows) if allowed is not None and masks_first else None
        blocks.append(Block(codes, partition.rows, *terms(metric.name, squares), mask))
    searching = [queries for _, queries in searched]
    best_rows = _best_of_blocks(vectors, capacity, blocks, searching)
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


def _best_of_blocks(
    queries: Floats,
    capacity: int,
    blocks: Sequence[Block],
    searching: Sequence[npt.NDArray[np.int64]],
) -> list[BestRows]:
    """The best rows for each query, of the blocks that it searches: each thread has some blocks."""
    products = [
        block.vectors.size * len(numbers) for block, numbers in zip(blocks, searching, strict=True)
    ]
    starts = np.cumsum([0, *(len(block.rows) for block in blocks)])
    ends = np.cumsum(products)
    parts = parts_of(int(ends[-1]), PART_PRODUCTS)
    cuts = np.searchsorted(ends, [part.stop for part in parts]) + 1

    def search(some: tuple[int, int]) -> BestOfQueries:
        best = BestOfQueries(queries, capacity)
        for number in range(*some):
            best.offer(blocks[number], searching[number], int(starts[number]))
        return best

    every = list(in_threads(search, itertools.pairwise([0, *cuts.tolist()])))
    return [
        merged_best([best.of_query(number) for best in every], capacity)
        for number in range(len(queries))
    ]
