"""Build an index: a sample, the partitions, the codes of all rows, the two files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.indices import IVF, Tensor, VectorIndexDetails
from lance_core_vector.distances import STORED_METRICS
from lance_core_vector.partitions.index_files import (
    CODES_FILE,
    DTYPES,
    FLAT_KEY,
    INDEX_FILE,
    INDEX_KEY,
    IVF_KEY,
    METRIC_KEY,
    QUANTIZER_KEY,
    ROW_ID,
)
from lance_core_vector.training import kmeans
from lance_core_vector.training.encoders import (
    Encoder,
    FlatEncoder,
    ProductEncoder,
    ScalarEncoder,
)
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.training.rabit_encoder import RabitEncoder
from lance_core_vector.training.sorted_rows import PartitionedRows
from lance_core_vector.vectors import NUMBERS, Vectors, vector_type

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput, IndexRows

MAX_SAMPLE = 1 << 18
"""Vectors of a sample at most."""

MIN_SAMPLE = 1 << 14

_TENSORS: dict[np.dtype[Any], Any] = {dtype: number for number, dtype in DTYPES.items()}

Floats = npt.NDArray[np.float32]


def details_of(parameters: BuildParameters) -> bytes:
    """The details that are known before an index is built."""
    number: Any = STORED_METRICS.index(parameters.metric.name)
    details = VectorIndexDetails(metric_type=number)
    if parameters.kind == "IVF_PQ":
        details.pq.num_bits = parameters.bits
        details.pq.num_sub_vectors = parameters.num_parts or 0
    elif parameters.kind == "IVF_SQ":
        details.sq.num_bits = 8
    elif parameters.kind == "IVF_RQ":
        details.rq.num_bits = parameters.bits
    else:
        details.flat.SetInParent()
    data: bytes = details.SerializeToString()
    return data


def build(rows: IndexRows, parameters: BuildParameters, output: IndexOutput) -> bytes:
    """Write the files of an index of ``rows``; returns the details.

    Reads the rows twice: a sample trains the partitions and codes, then all are encoded.
    """
    found = vector_type(rows.type)
    assert found is not None  # the type accepts the column
    vector, is_multivector = found
    if parameters.metric.of_bits != (vector.value_type == pa.uint8()):
        raise InvalidInputError(
            f"metric {parameters.metric.name} of vectors of {vector.value_type}"
        )
    if is_multivector and parameters.metric.name != "cosine":
        raise InvalidInputError("an index of several vectors a row has the metric cosine")
    random = np.random.default_rng(parameters.seed)
    sample, total = _sample(rows, parameters, random)
    centroids, loss = _centroids(sample, total, vector.list_size, parameters, random)
    centroids = rounded(centroids, vector.value_type)
    output.progress("train_ivf", total, total)
    encoder = _encoder(sample, centroids, vector, parameters, random)
    partitioned = PartitionedRows(len(centroids), output.scratch)
    done = 0
    for numbers, vectors in vectors_of(rows, parameters):
        owners = owners_of(vectors, centroids, parameters)
        partitioned.add(owners, numbers, encoder.encode(vectors, centroids, owners))
        done += len(numbers)
        output.progress("encode", done, total)
    write_codes(partitioned, encoder, vector.value_type, parameters, output)
    write_index(centroids, loss, vector.value_type, parameters, output)
    return details_of(parameters)


def vectors_of(
    rows: IndexRows, parameters: BuildParameters
) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]]:
    """The row numbers and vectors of each batch that an index has: without NaN and infinite ones.

    For cosine, vectors have the length one, and those of zeros are left out.
    """
    for batch in rows.batches():
        vectors = Vectors.of(batch.values)
        matrix = vectors.matrix
        numbers = batch.rows if vectors.rows is None else batch.rows[vectors.rows]
        if not parameters.metric.of_bits:
            kept = np.isfinite(matrix).all(axis=1)
            if parameters.metric.name == "cosine":
                kept &= matrix.any(axis=1)
            if not kept.all():
                matrix, numbers = matrix[kept], numbers[kept]
            if parameters.metric.name == "cosine":
                matrix = kmeans.unit(matrix)
        yield numbers, matrix


def _sample(
    rows: IndexRows, parameters: BuildParameters, random: np.random.Generator
) -> tuple[Floats, int]:
    """Random vectors in random order, and how many vectors there are."""
    wanted = parameters.sample_rate * parameters.partitions_for(rows.num_rows)
    wanted = min(max(wanted, MIN_SAMPLE), MAX_SAMPLE)
    chosen: list[npt.NDArray[Any]] = []
    keys: list[npt.NDArray[np.float64]] = []  # the vectors with the lowest keys are the sample
    limit, total = 1.0, 0
    for _, vectors in vectors_of(rows, parameters):
        own = random.random(len(vectors))
        total += len(vectors)
        is_near = own < limit
        chosen.append(vectors[is_near])
        keys.append(own[is_near])
        if sum(map(len, keys)) > 2 * wanted:
            every, near = np.concatenate(chosen), np.concatenate(keys)
            lowest = np.argpartition(near, wanted - 1)[:wanted]
            chosen, keys = [every[lowest]], [near[lowest]]
            limit = float(keys[0].max())
    if not total:
        return np.empty((0, 0), np.float32), 0
    order = np.argsort(np.concatenate(keys), kind="stable")[:wanted]
    return _floats(np.concatenate(chosen)[order]), total


def _floats(vectors: npt.NDArray[Any]) -> Floats:
    """Vectors as float32; the bits of bytes as numbers."""
    if vectors.dtype == np.uint8:
        return np.unpackbits(vectors, axis=1, bitorder="little").astype(np.float32)
    return vectors.astype(np.float32, copy=False)


def owners_of(
    vectors: npt.NDArray[Any], centroids: Floats, parameters: BuildParameters
) -> npt.NDArray[np.int64]:
    """The partition of each vector."""
    by_angle = parameters.metric.name == "dot"
    trained = centroids
    if parameters.metric.of_bits:
        trained = _floats(centroids.astype(np.uint8))
    return kmeans.nearest(_floats(vectors), trained, by_angle=by_angle)


def _centroids(
    sample: Floats,
    total: int,
    width: int,
    parameters: BuildParameters,
    random: np.random.Generator,
) -> tuple[Floats, float | None]:
    given = parameters.centroids
    if given is not None:
        if given.ndim != 2 or given.shape[1] != width:
            raise InvalidInputError(f"ivf_centroids are not vectors of {width} numbers")
        return given, None
    count = parameters.partitions_for(total)
    if not len(sample):
        return np.zeros((1, width), np.float32), None
    found, loss = kmeans.train(
        sample,
        count,
        iterations=parameters.iterations,
        random=random,
        by_angle=parameters.metric.name == "dot",
    )
    if parameters.metric.of_bits:
        bits = (found >= 0.5).astype(np.uint8)
        found = np.packbits(bits, axis=1, bitorder="little").astype(np.float32)
    return found, loss * total / len(sample)


def _encoder(
    sample: Floats,
    centroids: Floats,
    vector: pa.DataType,
    parameters: BuildParameters,
    random: np.random.Generator,
) -> Encoder:
    if parameters.kind == "IVF_FLAT":
        return FlatEncoder(vector.list_size, vector.value_type)
    if not len(sample):
        raise InvalidInputError(f"an index of type {parameters.kind} of no vectors")
    if parameters.kind == "IVF_RQ":
        width, metric = vector.list_size, parameters.metric.name
        return RabitEncoder.random(width, parameters.bits, metric, random)
    if parameters.kind == "IVF_SQ":
        return ScalarEncoder.trained(sample)
    centers = centroids[owners_of(sample, centroids, parameters)]
    trained = ProductEncoder.trained(sample, centers, parameters, random)
    assert trained.codebook is not None
    codebook = rounded(trained.codebook, vector.value_type)
    return ProductEncoder(codebook, parameters.bits, is_residual=parameters.metric.name != "dot")


def rounded(numbers: Floats, item: pa.DataType) -> Floats:
    """``numbers`` as they are when they were stored as ``item``, the type of vectors."""
    kind = NUMBERS[item]
    if kind == np.float16:
        largest = np.finfo(kind).max
        numbers = numbers.clip(-largest, largest)
    return numbers.astype(kind).astype(np.float32)


def write_codes(
    partitioned: PartitionedRows,
    encoder: Encoder,
    item: pa.DataType,
    parameters: BuildParameters,
    output: IndexOutput,
) -> None:
    """Write the file of row numbers and codes of vectors whose numbers have the type ``item``."""
    fields = [pa.field(name, kind, nullable=False) for name, kind in encoder.columns.items()]
    schema = pa.schema([pa.field(ROW_ID, pa.uint64()), *fields])
    metadata = encoder.metadata()
    lengths = partitioned.lengths
    with output.create(CODES_FILE, schema) as writer:
        for number in np.flatnonzero(lengths).tolist():
            rows, codes = partitioned.partition(number)
            arrays = [pa.array(rows), *encoder.arrays(codes)]
            writer.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
        ivf = IVF(offsets=(np.cumsum(lengths) - lengths).tolist(), lengths=lengths.tolist())
        position = writer.add_global_buffer(ivf.SerializeToString())
        if encoder.codebook is not None:
            parts, words, size = encoder.codebook.shape
            stored = encoder.codebook.astype(NUMBERS[item])
            tensor = Tensor(
                data_type=_TENSORS[stored.dtype],  # pylance needs that of the column
                shape=[words, parts * size],
                data=stored.tobytes(),
            )
            metadata["codebook_position"] = writer.add_global_buffer(tensor.SerializeToString())
        writer.add_metadata(METRIC_KEY, parameters.metric.name)
        writer.add_metadata(QUANTIZER_KEY, json.dumps([json.dumps(metadata)]))
        writer.add_metadata(IVF_KEY, str(position))


def write_index(
    centroids: npt.NDArray[Any],
    loss: float | None,
    item: pa.DataType,
    parameters: BuildParameters,
    output: IndexOutput,
) -> None:
    """Write the file of the centroids, whose numbers have the type ``item``."""
    stored = centroids.astype(NUMBERS[item])
    count = len(stored)
    tensor = Tensor(data_type=_TENSORS[stored.dtype], shape=stored.shape, data=stored.tobytes())
    ivf = IVF(offsets=[0] * count, lengths=[0] * count, centroids_tensor=tensor)
    if loss is not None:
        ivf.loss = loss
    schema = pa.schema([pa.field("__flat_marker", pa.uint64(), nullable=False)])
    with output.create(INDEX_FILE, schema) as writer:
        writer.add_metadata(IVF_KEY, str(writer.add_global_buffer(ivf.SerializeToString())))
        kind = {"type": parameters.kind, "distance_type": parameters.metric.name}
        writer.add_metadata(INDEX_KEY, json.dumps(kind))
        writer.add_metadata(FLAT_KEY, json.dumps([""] * count))
