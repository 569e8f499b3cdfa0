"""Write one index of the rows of several and of new ones, with the partitions of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.indices import IndexNotWrittenError
from lance_core_vector.kinds.move import stored_partitions
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer, ResidualRabitQuantizer
from lance_core_vector.quantizers.rotation import FastRotation
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training import build
from lance_core_vector.training.encoders import (
    Encoder,
    FlatEncoder,
    ProductEncoder,
    ScalarEncoder,
)
from lance_core_vector.training.parameters import BUILT, BuildParameters
from lance_core_vector.training.rabit_encoder import RabitEncoder
from lance_core_vector.training.sorted_rows import PartitionedRows

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput, IndexPart, IndexRows
    from lance_core_vector.kinds.ivf_index import IvfIndex

BATCH_BYTES = 64 << 20
"""Bytes of the codes of partitions that are added at once."""


def merge(
    parts: Sequence[IndexPart], rows: IndexRows | None, vector: pa.DataType, output: IndexOutput
) -> bytes:
    """Write the index; returns the details. ``vector``: the type of one vector.

    Raises `IndexNotWrittenError` for kinds that are not built here, and for parts whose codes
    have other partitions or codewords than those of the first.
    """
    first: IvfIndex = parts[0].source  # type: ignore[assignment]  # the type opens no others
    kind = first.files.kind
    if kind not in BUILT:
        raise IndexNotWrittenError(f"rows are not added to indices of type {kind} yet")
    for part in parts[1:]:
        if not _has_same_codes(first, part.source):
            raise IndexNotWrittenError(
                f"segments of type {kind} with other partitions or codes are not merged: build the "
                "index again, or optimize with num_indices_to_merge=1"
            )
    parameters = BuildParameters.of({"kind": kind, **first.parameters})
    encoder = _encoder(first, vector)
    partitioned = PartitionedRows(len(first.model.lengths), output.scratch)
    for part in parts:
        _add(part, partitioned)
    done, total = 0, 0 if rows is None else rows.num_rows
    if rows is not None:
        centroids = first.model.centroids.astype(np.float32)
        for numbers, vectors in build.vectors_of(rows, parameters):
            owners = build.owners_of(vectors, centroids, parameters)
            partitioned.add(owners, numbers, encoder.encode(vectors, centroids, owners))
            done += len(numbers)
            output.progress("encode", done, total)
    build.write_codes(partitioned, encoder, vector.value_type, parameters, output)
    build.write_index(
        first.model.centroids, first.model.loss, vector.value_type, parameters, output
    )
    return first.details


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


def _encoder(source: IvfIndex, vector: pa.DataType) -> Encoder:
    quantizer = source.quantizer
    if isinstance(quantizer, ProductQuantizer):
        is_residual = source.metric.name != "dot"
        return ProductEncoder(quantizer.codebook, quantizer.bits, is_residual=is_residual)
    if isinstance(quantizer, ScalarQuantizer):
        return ScalarEncoder(vector.list_size, quantizer.low, quantizer.high)
    if isinstance(quantizer, RabitQuantizer):
        rotation = quantizer.rotation
        is_old = isinstance(quantizer, ResidualRabitQuantizer)
        if is_old or not isinstance(rotation, FastRotation):
            raise IndexNotWrittenError("rows are not added to IVF_RQ indices of older releases")
        return RabitEncoder(vector.list_size, quantizer.bits, rotation, source.metric.name)
    return FlatEncoder(vector.list_size, vector.value_type)


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
