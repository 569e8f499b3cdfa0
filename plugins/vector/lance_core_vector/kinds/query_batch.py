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
from lance_core_vector.loops.threads import PART_PRODUCTS, blocks_of, in_threads, parts_of
from lance_core_vector.quantizers.flat import vectors_at

if TYPE_CHECKING:
    from lance_core.hookspecs.searches import AllowedRows
    from lance_core_vector.distances import Metric
    from lance_core_vector.partitions.partition_cache import Partition
    from lance_core_vector.quantizers.product import ProductQuantizer

Floats = npt.NDArray[np.float32]

_DECODED_BYTES = 16 << 20
"""Bytes of decoded vectors that are compared at once."""

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


def best_by_decoded(
    quantizer: ProductQuantizer,
    vectors: Floats,
    searched: Sequence[tuple[Partition, npt.NDArray[np.int64]]],
    count: int,
    allowed: AllowedRows | None,
) -> list[Hits | None]:
    """As `best_of_queries`, of partitions with codes: scores are rounded, to be refined.

    Without compiled loops, products with decoded vectors take half the time of look-ups.
    """
    name = "dot" if quantizer.metric == "dot" else "l2"
    capacity = min(count, sum(len(partition.rows) for partition, _ in searched))
    step = max(1, _DECODED_BYTES // (4 * vectors.shape[1]))
    starts = np.cumsum([0, *(len(partition.rows) for partition, _ in searched)]).tolist()

    def search(some: range) -> BestOfQueries:
        best = BestOfQueries(vectors, capacity)
        # One array for all: memory that is asked for anew takes as long as what is stored in it.
        buffer = np.empty((step, vectors.shape[1]), np.float32)
        for number in some:
            partition, queries = searched[number]
            for block in blocks_of(len(partition.rows), step):
                own = slice(block.start, block.stop)
                decoded = quantizer.decode(partition, own, buffer)
                rows = partition.rows[own]
                each = terms(name, np.einsum("ij,ij->i", decoded, decoded))
                mask = None if allowed is None else allowed.mask(rows)
                best.offer(Block(decoded, rows, *each, mask), queries, starts[number] + own.start)
        return best

    every = list(in_threads(search, parts_of(len(searched), 1)))
    bases = np.einsum("ij,ij->i", vectors, vectors) if name == "l2" else np.ones(len(vectors))
    answers: list[Hits | None] = []
    for number, base in enumerate(bases):
        own = merged_best([best.of_query(number) for best in every], capacity)
        answers.append(Hits(own.rows, own.scores + np.float32(base)))
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
