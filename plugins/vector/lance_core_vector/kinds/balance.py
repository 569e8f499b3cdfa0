"""Split the partitions of an index that have grown, and join those that have shrunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core_vector.training.build import (
    Training,
    centroids_of,
    owners_of,
    rounded,
    vectors_of,
)
from lance_core_vector.training.parameters import PARTITION_ROWS, BuildParameters
from lance_core_vector.training.sample import as_floats

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexRows
    from lance_core_vector.training.partitioned_rows import PartitionedRows

MAX_GROWTH = 4
"""A partition is split if it has more than so many times the rows that it should have."""

MAX_SHRINKAGE = 4
"""Partitions are joined if all of them have fewer than this part of the rows, on average."""

Numbers = npt.NDArray[np.int64]


def balanced(
    training: Training,
    partitioned: PartitionedRows,
    rows: Sequence[IndexRows],
    parameters: BuildParameters,
) -> Training:
    """``training`` with further centroids; ``partitioned`` has the partitions that are chosen.

    ``rows``: all rows of the index. The rows of a partition that is split or joined are read, and
    go to the nearest of the centroids that are left; those of other partitions stay. Partitions are
    joined only if the index states how many rows one should have.
    """
    split, joined = _unbalanced(partitioned.lengths, parameters)
    if not len(split) + len(joined) or any(not _has_one_vector(source.type) for source in rows):
        return training
    dissolved = np.union1d(split, joined)
    moving = _MovingRows(partitioned, dissolved)
    new = _new_centroids(split, moving, rows, parameters)
    if len(dissolved) == len(training.centroids) and not len(new):
        return training  # none of these rows exists any more
    grown = np.concatenate([training.centroids, new]).astype(np.float32)
    partitioned.replace(dissolved, len(new))
    chosen = partitioned.chosen
    for numbers, vectors in _chosen(rows, parameters, moving.rows):
        owners = chosen[owners_of(vectors, grown[chosen], parameters)]
        partitioned.add(owners, numbers, training.encoder.encode(vectors, grown, owners))
    return replace(training, centroids=grown)


def _unbalanced(lengths: Numbers, parameters: BuildParameters) -> tuple[Numbers, Numbers]:
    """The partitions to split, and those to join."""
    target = parameters.partition_rows or PARTITION_ROWS[parameters.kind]
    split = np.flatnonzero(lengths > MAX_GROWTH * target)
    total, count = int(lengths.sum()), len(lengths)
    if parameters.partition_rows is None or total * MAX_SHRINKAGE >= target * count:
        return split, np.empty(0, np.int64)
    left = max(1, -(-total // target))
    order = np.argsort(lengths, kind="stable")
    joined = order[: count - left]
    return split, joined[lengths[joined] < target]


def _has_one_vector(data_type: pa.DataType) -> bool:
    """True unless a row has several vectors, which are in partitions of their own."""
    return bool(pa.types.is_fixed_size_list(data_type))


class _MovingRows:
    """The rows of some partitions. ``rows``: their numbers, ascending; ``owners``: of each."""

    def __init__(self, partitioned: PartitionedRows, partitions: Numbers) -> None:
        numbers = [partitioned.rows_of(number) for number in partitions.tolist()]
        rows = np.concatenate(numbers)
        owners = np.repeat(partitions, [len(members) for members in numbers])
        order = np.argsort(rows, kind="stable")
        self.rows = rows[order]
        self.owners = owners[order]


def _new_centroids(
    split: Numbers, moving: _MovingRows, rows: Sequence[IndexRows], parameters: BuildParameters
) -> npt.NDArray[np.float32]:
    """The centroids of all partitions to split, each trained by a sample of its rows."""
    width = rows[0].type.list_size
    none = np.empty((0, width), np.float32)
    if not len(split):
        return none
    random = np.random.default_rng(parameters.seed)
    target = parameters.partition_rows or PARTITION_ROWS[parameters.kind]
    members = {number: np.flatnonzero(moving.owners == number) for number in split.tolist()}
    counts = {number: -(-len(own) // target) for number, own in members.items()}
    size = width * 4 * (8 if parameters.metric.of_bits else 1)
    most = parameters.budget // size
    rate = max(1, min(parameters.sample_rate, most // sum(counts.values())))
    samples = [
        random.choice(own, min(len(own), rate * counts[number]), replace=False)
        for number, own in members.items()
    ]
    sampled = moving.rows[np.sort(np.concatenate(samples))]
    batches = list(_chosen(rows, parameters, sampled))
    if not batches:
        return none
    sample = np.concatenate([as_floats(vectors) for _, vectors in batches])
    indices = np.searchsorted(moving.rows, np.concatenate([numbers for numbers, _ in batches]))
    own_samples = {number: sample[moving.owners[indices] == number] for number in members}
    centroids = [
        centroids_of(own, counts[number], parameters, random)[0]
        for number, own in own_samples.items()
        if len(own)
    ]
    return rounded(np.concatenate([none, *centroids]), rows[0].type.value_type)


def _chosen(
    rows: Sequence[IndexRows], parameters: BuildParameters, numbers: npt.NDArray[np.uint64]
) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]]:
    """Those of ``rows`` that have one of the ``numbers``, which ascend."""
    for source in rows:
        for own, vectors in vectors_of(source, parameters.metric):
            indices = np.minimum(np.searchsorted(numbers, own), max(0, len(numbers) - 1))
            mask = numbers[indices] == own if len(numbers) else np.zeros(len(own), np.bool_)
            if mask.any():
                yield own[mask], vectors[mask]
