"""Build an index: a sample, the partitions, the codes of all rows, the two files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import IndexBatch, TooFewRowsError
from lance_core_vector.loops.passes import squares_of, unit
from lance_core_vector.loops.threads import in_threads
from lance_core_vector.partitions.training_fit import DistanceMeter, TrainingFit
from lance_core_vector.training import kmeans
from lance_core_vector.training.details import details_of
from lance_core_vector.training.encoded_files import read_rows
from lance_core_vector.training.encoders import (
    PQ_ROWS,
    Encoder,
    FlatEncoder,
    ProductEncoder,
    ScalarEncoder,
)
from lance_core_vector.training.graphs import graphs_of
from lance_core_vector.training.index_writer import write_codes, write_index
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.training.partitioned_rows import PartitionedRows
from lance_core_vector.training.precomputed import PrecomputedPartitions
from lance_core_vector.training.rabit_encoder import RabitEncoder
from lance_core_vector.training.sample import as_floats, sample_of, sample_size
from lance_core_vector.vectors import NUMBERS, Vectors, one_vector

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput, IndexRows, Progress
    from lance_core_vector.distances import Metric

Floats = npt.NDArray[np.float32]

PIECE_BYTES = 4 << 20
"""Bytes of vectors that a thread encodes at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """What an index has learned from its rows.

    ``centroids``: one a row, for Hamming distances with the values of bytes. ``loss``: the sum of
    the distances of all vectors, estimated; None if it is not known.
    """

    centroids: Floats
    loss: float | None
    encoder: Encoder


def build(rows: IndexRows, parameters: BuildParameters, output: IndexOutput) -> bytes:
    """Write the files of an index of ``rows``; returns the details.

    Reads the rows twice: a sample trains the partitions and codes, then all are encoded. Raises
    `TooFewRowsError` and `InvalidInputError`.
    """
    parameters.check_column(rows.type)
    vector = one_vector(rows.type)
    training = train(rows, parameters, output.progress)
    centroids = training.centroids
    models = parameters.models
    precomputed = None
    if models.partitions_uri is not None:
        precomputed = PrecomputedPartitions.of(
            models.partitions_uri, len(centroids), models.storage_options
        )
    with PartitionedRows(len(centroids), output.scratch, parameters.budget) as partitioned:
        done, total = 0, rows.num_rows
        meter = DistanceMeter(parameters.metric)
        counts = encode_rows(rows, training, parameters, partitioned, precomputed, meter.add)
        if models.encoded_files is not None:
            counts = _read_codes(models.encoded_files, training, partitioned)
        for count in counts:
            done += count
            output.progress("encode", min(done, total), total)
        write_codes(partitioned, training.encoder, vector.value_type, parameters, output)
        graphs = graphs_of(partitioned, training.encoder, parameters, output.progress)
        fit = TrainingFit(meter.mean) if meter.count else None
        stored = centroids.astype(NUMBERS[vector.value_type])
        write_index(stored, training.loss, fit, parameters, output, graphs)
    return details_of(parameters.with_target_of(done))


def _read_codes(
    paths: Sequence[str], training: Training, partitioned: PartitionedRows
) -> Iterator[int]:
    """Add the codes in files to ``partitioned``; yields the number of vectors of each batch."""
    ((_, codes_type),) = training.encoder.columns.items()
    for owners, numbers, codes in read_rows(paths, len(training.centroids), codes_type.list_size):
        partitioned.add(owners, numbers, codes)
        yield len(numbers)


def train(rows: IndexRows, parameters: BuildParameters, progress: Progress) -> Training:
    """Train partitions and codes by a sample of ``rows``; nothing is read if all models are given.

    Raises `TooFewRowsError`.
    """
    vector = one_vector(rows.type)
    random = np.random.default_rng(parameters.seed)
    sample, total = np.empty((0, vector.list_size), np.float32), 0
    if needs_sample(parameters):
        size = sample_size(vector.list_size, rows.num_rows, parameters)
        batches = (vectors for _, vectors in vectors_of(rows, parameters.metric, are_unit=False))
        sample, total = sample_of(batches, size, random)
        if parameters.metric.name == "cosine" and len(sample):
            sample = unit(sample)
    centroids, loss = train_centroids(sample, total, parameters, random)
    centroids = rounded(centroids, vector.value_type)
    progress("train_ivf", total, total)
    return Training(centroids, loss, train_encoder(sample, centroids, vector, parameters, random))


def needs_sample(parameters: BuildParameters) -> bool:
    """False if all models are given."""
    models = parameters.models
    if models.centroids is None or (parameters.codes == "SQ" and models.bounds is None):
        return True
    return parameters.codes == "PQ" and models.codebook is None


def encode_rows(
    rows: IndexRows,
    training: Training,
    parameters: BuildParameters,
    partitioned: PartitionedRows,
    precomputed: PrecomputedPartitions | None = None,
    measure: Callable[[npt.NDArray[Any], Floats, npt.NDArray[np.int64]], None] | None = None,
) -> Iterator[int]:
    """Add the codes of ``rows`` to ``partitioned``; yields the number of vectors of each batch.

    ``measure`` gets the vectors of each batch, the centroids, and the partition of each vector.
    """
    centroids = training.centroids

    def encoded(batch: IndexBatch) -> tuple[Any, ...]:
        numbers, vectors = indexed(batch, parameters.metric)
        owners = owners_of(vectors, centroids, parameters)
        if precomputed is not None:
            owners = precomputed.owners(numbers, owners)
        codes = training.encoder.encode(vectors, centroids, owners)
        return numbers, owners, codes, None if measure is None else vectors

    for numbers, owners, codes, vectors in in_threads(encoded, _pieces(rows)):
        if measure is not None:
            measure(vectors, centroids, owners)
        partitioned.add(owners, numbers, codes)
        yield len(numbers)


def vectors_of(
    rows: IndexRows, metric: Metric, *, are_unit: bool = True
) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]]:
    """The row numbers and vectors of each batch that an index has: without NaN and infinite ones.

    Numbers above the range of 32-bit floats, those of centroids and distances, are as infinite. For
    cosine, those of zeros are left out, and vectors have the length one if ``are_unit``.
    """
    return in_threads(lambda batch: indexed(batch, metric, are_unit=are_unit), _pieces(rows))


def _pieces(rows: IndexRows) -> Iterator[IndexBatch]:
    """The batches of rows, in pieces of which threads have a few in memory."""
    vector = one_vector(rows.type)
    step = max(256, PIECE_BYTES // (vector.list_size * vector.value_type.bit_width // 8))
    for values, numbers in rows.batches():
        for start in range(0, len(values), step):
            some = slice(start, start + step)
            yield IndexBatch(values[some], numbers[some])


def indexed(
    batch: IndexBatch, metric: Metric, *, are_unit: bool = True
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
    """The row numbers and vectors of one batch; see `vectors_of`."""
    vectors = Vectors.of(batch.values)
    matrix = vectors.matrix
    numbers = batch.rows if vectors.rows is None else batch.rows[vectors.rows]
    if not metric.of_bits:
        with np.errstate(all="ignore"):
            narrow = matrix.astype(np.float32) if matrix.dtype == np.float64 else matrix
            squares = squares_of(narrow)
        is_indexed = np.ones(len(matrix), np.bool_)
        # Finite numbers may have squares that are not, or are 0.
        some = np.flatnonzero(~np.isfinite(squares) | (squares == 0))
        is_indexed[some] = np.isfinite(narrow[some]).all(axis=1)
        if metric.name == "cosine":
            is_indexed[some] &= matrix[some].any(axis=1)
        if not is_indexed.all():
            matrix, numbers = matrix[is_indexed], numbers[is_indexed]
        if metric.name == "cosine" and are_unit:
            matrix = unit(matrix)
    return numbers, matrix


def owners_of(
    vectors: npt.NDArray[Any], centroids: Floats, parameters: BuildParameters
) -> npt.NDArray[np.int64]:
    """The partition of each vector."""
    by_angle = parameters.metric.name == "dot"
    trained = centroids
    if parameters.metric.of_bits:
        trained = as_floats(centroids.astype(np.uint8))
    return kmeans.nearest(as_floats(vectors), trained, by_angle=by_angle)


def train_centroids(
    sample: Floats, total: int, parameters: BuildParameters, random: np.random.Generator
) -> tuple[Floats, float | None]:
    """The centroids, given or of a sample of ``total`` vectors, and the loss.

    Raises `TooFewRowsError` for a sample without vectors.
    """
    given_centroids = parameters.models.centroids
    if given_centroids is not None:
        return given_centroids, None
    if not len(sample):
        raise TooFewRowsError("there are no rows with a vector")
    centroids, loss = centroids_of(sample, parameters.partitions_for(total), parameters, random)
    return centroids, loss * total / len(sample)


def centroids_of(
    sample: Floats, count: int, parameters: BuildParameters, random: np.random.Generator
) -> tuple[Floats, float]:
    """``count`` centroids of a sample, which has a vector, and the sum of the distances.

    Raises `InvalidInputError` for vectors that are too long for centroids.
    """
    centroids, loss = kmeans.train(
        sample,
        count,
        iterations=parameters.iterations,
        random=random,
        by_angle=parameters.metric.name == "dot",
    )
    if not np.isfinite(centroids).all():
        raise InvalidInputError("vectors have numbers that are too large to be partitioned")
    if parameters.metric.of_bits:
        bits = (centroids >= 0.5).astype(np.uint8)
        centroids = np.packbits(bits, axis=1, bitorder="little").astype(np.float32)
    return centroids, loss


def train_encoder(
    sample: Floats,
    centroids: Floats,
    vector: pa.DataType,
    parameters: BuildParameters,
    random: np.random.Generator,
) -> Encoder:
    """The encoder of an index of vectors of type ``vector``. Raises `TooFewRowsError`."""
    if parameters.codes == "FLAT":
        return FlatEncoder(vector.list_size, vector.value_type)
    if parameters.codes == "RQ":
        width, metric = vector.list_size, parameters.metric.name
        return RabitEncoder.random(width, parameters.bits, metric, random)
    if parameters.codes == "SQ":
        if parameters.models.bounds is not None:
            return ScalarEncoder(vector.list_size, *parameters.models.bounds)
        if not len(sample):
            raise TooFewRowsError("there are no rows with a vector")
        return ScalarEncoder.trained(sample)
    size = PQ_ROWS[parameters.bits] << parameters.bits
    if len(sample) > size:
        sample = sample[np.sort(random.choice(len(sample), size, replace=False))]
    centers = sample
    if len(sample):
        centers = centroids[owners_of(sample, centroids, parameters)]
    trained = ProductEncoder.trained(sample, centers, parameters, random)
    assert trained.codebook is not None
    codebook = rounded(trained.codebook, vector.value_type)
    is_residual, transposed = parameters.metric.name != "dot", parameters.transposed
    return ProductEncoder(codebook, parameters.bits, is_residual=is_residual, transposed=transposed)


def rounded(numbers: Floats, item: pa.DataType) -> Floats:
    """``numbers`` as they are when they were stored as ``item``, the type of vectors."""
    dtype = NUMBERS[item]
    if dtype == np.float16:
        largest = np.finfo(dtype).max
        numbers = numbers.clip(-largest, largest)
    return numbers.astype(dtype).astype(np.float32)
