"""Write one index of the rows of several and of new ones, with the training of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.indices import NO_ROWS, IndexNotWrittenError
from lance_core_vector.kinds.balance import balanced
from lance_core_vector.kinds.drift import Drift
from lance_core_vector.kinds.hnsw_index import HnswIndex
from lance_core_vector.kinds.move import stored_codes, stored_partitions
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.partitions.training_fit import TrainingFit
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.build import (
    Training,
    encode_rows,
)
from lance_core_vector.training.details import build_parameters_of
from lance_core_vector.training.graphs import OldGraph, OldGraphs, graphs_of
from lance_core_vector.training.index_writer import write_codes, write_index
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.training.partitioned_rows import PartitionedRows
from lance_core_vector.vectors import NUMBERS

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput, IndexPart, IndexRows
    from lance_core_vector.kinds.ivf_index import IvfIndex

BATCH_BYTES = 16 << 20
"""Bytes of the codes of partitions that are added at once."""


def merge(
    parts: Sequence[IndexPart], rows: IndexRows | None, vector: pa.DataType, output: IndexOutput
) -> bytes:
    """Write the index; returns the details. ``vector``: the type of one vector.

    The new index has the training of the part with the most rows. Codes of parts with the same
    training are copied; the rows of other parts are read and encoded again, as are those of
    partitions that have grown or shrunk much, see `balanced`.

    Raises `IndexNotWrittenError` for kinds that are not built here, and for parts with another
    training whose rows cannot be read.
    """
    sources: list[IvfIndex] = [part.source for part in parts]  # type: ignore[misc]  # opens no others
    first = max(sources, key=lambda source: int(source.model.lengths.sum()))
    kind = first.files.kind
    parameters = _parameters(first)
    training = Training(
        first.model.centroids.astype(np.float32), first.model.loss, encoder_of(first)
    )
    with PartitionedRows(len(training.centroids), output.scratch, parameters.budget) as partitioned:
        new = [] if rows is None else [rows]
        copied: list[IvfIndex] = []
        readable = [rows]
        for part, source in zip(parts, sources, strict=True):
            if part.map is NO_ROWS:
                continue
            readable.append(part.rows)
            if _has_same_codes(first, source):
                copied.append(source)
                _add(part, partitioned)
            elif part.rows is not None:
                new.append(part.rows)
            else:
                raise IndexNotWrittenError(
                    f"segments of type {kind} with another training are not merged without rows"
                )
        done, total = 0, sum(added.num_rows for added in new)
        drift = Drift(first)
        for added in new:
            for count in encode_rows(added, training, parameters, partitioned, measure=drift.add):
                done = min(done + count, total)
                output.progress("encode", done, total)
        fit = drift.fit_with(copied)
        every = [own for own in readable if own is not None]
        if len(every) + (rows is None) == len(readable):
            balanced_training = balanced(training, partitioned, every, parameters)
            if fit is not None and balanced_training is not training:
                fit = TrainingFit(fit.trained)  # rows that were far may have centroids of their own
            training = balanced_training
        write_codes(partitioned, training.encoder, vector.value_type, parameters, output)
        own = first.model.centroids  # in their own precision
        centroids = np.concatenate([own, training.centroids[len(own) :].astype(own.dtype)])
        old = _old_graphs(parts[sources.index(first)])
        graphs = graphs_of(partitioned, training.encoder, parameters, output.progress, old)
        stored = centroids[partitioned.chosen].astype(NUMBERS[vector.value_type])
        write_index(stored, training.loss, fit, parameters, output, graphs)
    return first.details


def _old_graphs(part: IndexPart) -> OldGraphs:
    """The graphs of an index whose rows go to a new one."""
    source = part.source

    def old(number: int) -> OldGraph | None:
        if (
            not isinstance(source, HnswIndex)
            or part.map is NO_ROWS
            or number >= len(source.model.lengths)
            or not source.model.lengths[number]
        ):
            return None
        numbers, stored = stored_codes(source, number)
        moved, is_kept = part.map.moved(numbers)
        removed = source.quantizer.rows_of(stored)[~is_kept]
        return OldGraph(source.graph(number), moved, is_kept, removed)

    return old


def _parameters(source: IvfIndex) -> BuildParameters:
    """The parameters of an index; of its details only the rows of a partition are sure."""
    target = build_parameters_of(source.details).get("target_partition_size")
    options = {"kind": source.files.kind, **source.parameters, "target_partition_size": target}
    return BuildParameters.of(options)


def _add(part: IndexPart, partitioned: PartitionedRows) -> None:
    """Add the rows of ``part`` that are kept, by their new numbers, with their codes.

    Many partitions are added at once: each call costs time for all of them.
    """
    source: IvfIndex = part.source  # type: ignore[assignment]  # see `merge`
    waiting: list[tuple[npt.NDArray[Any], ...]] = []
    size = 0

    def flush() -> None:
        if waiting:
            owners, rows, codes = (np.concatenate(each) for each in zip(*waiting, strict=True))
            partitioned.add(owners, rows, codes)
            waiting.clear()

    for number, numbers, stored in stored_partitions(source):
        moved, is_kept = part.map.moved(numbers)
        codes = source.quantizer.rows_of(stored)[is_kept]
        waiting.append((np.full(len(codes), number), moved[is_kept], codes))
        size += codes.nbytes
        if size >= BATCH_BYTES:
            flush()
            size = 0
    flush()


def _has_same_codes(first: IvfIndex, other: Any) -> bool:
    """True if the codes of ``other`` mean the same as those of ``first``."""
    if other.files.kind != first.files.kind or other.metric is not first.metric:
        return False
    if not np.array_equal(other.model.centroids, first.model.centroids):
        return False
    own, theirs = first.quantizer, other.quantizer
    if isinstance(own, ProductQuantizer):
        return own.bits == theirs.bits and np.array_equal(own.codebook, theirs.codebook)
    if isinstance(own, ScalarQuantizer):
        return bool((own.low, own.high) == (theirs.low, theirs.high))
    if isinstance(own, RabitQuantizer):
        return own.bits == theirs.bits and own.rotation.is_same(theirs.rotation)
    return True
