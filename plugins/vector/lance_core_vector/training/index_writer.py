"""Write the two files of an index."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.indices import IVF, Tensor
from lance_core_vector.graphs.stored_graph import SCHEMA, GraphParameters, StoredGraph
from lance_core_vector.partitions.index_files import (
    CODES_FILE,
    DTYPES,
    FLAT_KEY,
    HNSW_KEY,
    INDEX_FILE,
    INDEX_KEY,
    IVF_KEY,
    METRIC_KEY,
    QUANTIZER_KEY,
    ROW_ID,
)
from lance_core_vector.partitions.training_fit import FIT_KEY, TrainingFit
from lance_core_vector.training.parameters import BuildParameters
from lance_core_vector.vectors import NUMBERS

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexFileWriter, IndexOutput
    from lance_core_vector.training.encoders import Encoder
    from lance_core_vector.training.partitioned_rows import PartitionedRows

SLICE_BYTES = 8 << 20
"""Bytes of codes that are written at once, where a part of a partition can be written."""

_MIN_PAGE_BYTES = 64 << 10
_MAX_PAGES = 1 << 10
"""Bytes of all columns at which pages end with a partition, and about how many pages a column has
at most, not counting those of long partitions."""

_TENSORS: dict[np.dtype[Any], Any] = {dtype: number for number, dtype in DTYPES.items()}


class PartitionPages:
    """Writes partitions so that the pages of all columns of a partition are adjacent.

    A query then reads a partition in one request. Small partitions share pages, since each page is
    described in the end of the file. ``num_rows``: the rows of all partitions.
    """

    def __init__(self, writer: IndexFileWriter, num_rows: int, schema: pa.Schema) -> None:
        self._writer = writer
        row_bytes = sum(map(_num_bytes, schema.types))
        self._least = max(_MIN_PAGE_BYTES, num_rows * row_bytes // _MAX_PAGES)
        self._waiting = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows of the partition."""
        self._writer.write(batch)
        self._waiting += batch.nbytes

    def end_partition(self) -> None:
        """The next rows are those of another partition."""
        if self._waiting >= self._least:
            self._writer.end_pages()
            self._waiting = 0


def _num_bytes(data_type: pa.DataType) -> int:
    """The bytes of a value of a column of codes."""
    if pa.types.is_fixed_size_list(data_type):
        return int(data_type.list_size * _num_bytes(data_type.value_type))
    return int(data_type.bit_width // 8)


def write_codes(
    partitioned: PartitionedRows,
    encoder: Encoder,
    item: pa.DataType,
    parameters: BuildParameters,
    output: IndexOutput,
) -> None:
    """Write the file of row numbers and codes of vectors whose numbers have the type ``item``."""
    fields = [
        pa.field(name, data_type, nullable=False) for name, data_type in encoder.columns.items()
    ]
    schema = pa.schema([pa.field(ROW_ID, pa.uint64()), *fields])
    metadata = encoder.metadata()
    numbers, lengths = partitioned.chosen, partitioned.lengths[partitioned.chosen]
    size = SLICE_BYTES if encoder.is_row_by_row else None
    with output.create(CODES_FILE, schema) as writer:
        pages = PartitionPages(writer, int(lengths.sum()), schema)
        for number in numbers[lengths > 0].tolist():
            for rows, codes in partitioned.slices(number, size):
                arrays = [from_numpy(rows), *encoder.arrays(codes)]
                pages.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
            pages.end_partition()
        ivf = IVF(offsets=(np.cumsum(lengths) - lengths).tolist(), lengths=lengths.tolist())
        position = writer.add_global_buffer(ivf.SerializeToString())
        if encoder.codebook is not None:
            parts, words, width = encoder.codebook.shape
            stored = encoder.codebook.astype(NUMBERS[item])
            tensor = Tensor(
                data_type=_TENSORS[stored.dtype],  # pylance needs that of the column
                shape=[words, parts * width],
                data=stored.tobytes(),
            )
            metadata["codebook_position"] = writer.add_global_buffer(tensor.SerializeToString())
        writer.add_metadata(METRIC_KEY, parameters.metric.name)
        writer.add_metadata(QUANTIZER_KEY, json.dumps([json.dumps(metadata)]))
        writer.add_metadata(IVF_KEY, str(position))


def write_index(
    centroids: npt.NDArray[Any],
    loss: float | None,
    fit: TrainingFit | None,
    parameters: BuildParameters,
    output: IndexOutput,
    graphs: Iterable[StoredGraph | None] | None = None,
) -> None:
    """Write the file of the centroids, as numbers of the type of the vectors, and of the graphs.

    ``loss``: see `Training`; ``fit``: None if it is not known.
    """
    count, number_type = len(centroids), _TENSORS[centroids.dtype]
    tensor = Tensor(data_type=number_type, shape=centroids.shape, data=centroids.tobytes())
    starts, lengths, texts = [0] * count, [0] * count, [""] * count
    key, schema = FLAT_KEY, pa.schema([pa.field("__flat_marker", pa.uint64(), nullable=False)])
    if graphs is not None:
        key, schema = HNSW_KEY, SCHEMA
    with output.create(INDEX_FILE, schema) as writer:
        if graphs is not None:
            starts, lengths, texts = write_graphs(graphs, parameters.graph, writer)
        ivf = IVF(offsets=starts, lengths=lengths, centroids_tensor=tensor)
        if loss is not None:
            ivf.loss = loss
        writer.add_metadata(IVF_KEY, str(writer.add_global_buffer(ivf.SerializeToString())))
        description = {"type": parameters.kind, "distance_type": parameters.metric.name}
        writer.add_metadata(INDEX_KEY, json.dumps(description))
        writer.add_metadata(key, json.dumps(texts))
        if fit is not None:
            writer.add_metadata(FIT_KEY, fit.to_json())


def write_graphs(
    graphs: Iterable[StoredGraph | None],
    parameters: GraphParameters | None,
    writer: IndexFileWriter,
) -> tuple[list[int], list[int], list[str]]:
    """Write the rows of graphs; returns the first row, the number of rows and the metadata of each.

    Graphs of partitions without rows have only ``parameters``.
    """
    starts, lengths, texts = [], [], []
    start = 0
    for graph in graphs:
        batch = None if graph is None else graph.batch()
        if batch is not None:
            writer.write(batch)
        starts.append(start)
        lengths.append(0 if batch is None else batch.num_rows)
        start += lengths[-1]
        none = (parameters or GraphParameters()).metadata([0], 0)
        texts.append(json.dumps(none if graph is None else graph.metadata()))
    return starts, lengths, texts
