"""Write an index anew for rows that have moved: the same partitions and codes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.indices import IVF, parse_message
from lance_core_vector.graphs.build_graph import changed_graph
from lance_core_vector.graphs.stored_graph import SCHEMA, StoredGraph
from lance_core_vector.kinds.hnsw_index import HnswIndex
from lance_core_vector.kinds.stored_encoder import encoder_of
from lance_core_vector.loops.graph import GraphVectors
from lance_core_vector.loops.library import is_compiled
from lance_core_vector.partitions.index_files import (
    CODES_FILE,
    HNSW_KEY,
    INDEX_FILE,
    IVF_KEY,
    ROW_ID,
    row_numbers,
)
from lance_core_vector.training.index_writer import PartitionPages, write_graphs

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import (
        IndexFileReader,
        IndexFileWriter,
        IndexOutput,
        RowMap,
    )
    from lance_core_vector.kinds.ivf_index import IvfIndex

_COPIED_ROWS = 1 << 16
"""Rows of a graph that are copied at once."""


def move(source: IvfIndex, rows: RowMap, output: IndexOutput) -> bytes:
    """Write ``source`` without the rows that ``rows`` does not have; returns the details.

    Graphs from which rows are removed are repaired. Raises `UnsupportedFeatureError` for such
    graphs where there are no compiled loops.
    """
    has_graph = HNSW_KEY in source.files.index.metadata
    lengths = _write_codes(source, rows, output, has_graph=has_graph)
    if not isinstance(source, HnswIndex) or (lengths == source.model.lengths).all():
        _write_index(source.files.index, output)
    elif is_compiled():
        _write_graphs(source, rows, output)
    else:
        raise UnsupportedFeatureError(
            f"rows are removed from indices of type {source.files.kind} by compiled loops only, "
            "which are missing"
        )
    return source.details


def _write_codes(
    source: IvfIndex, rows: RowMap, output: IndexOutput, *, has_graph: bool
) -> npt.NDArray[np.int64]:
    reader, model = source.files.codes, source.model
    columns = [ROW_ID, *source.quantizer.columns]
    schema = reader.schema.remove_metadata()
    schema = pa.schema([schema.field(name) for name in columns])
    lengths = np.zeros_like(model.lengths)
    with output.create(CODES_FILE, schema) as writer:
        pages = PartitionPages(writer, reader.num_rows, schema)
        for number, batch in _partitions(source, rows, has_graph=has_graph):
            lengths[number] = batch.num_rows
            pages.write(batch)
            pages.end_partition()
        ivf = _stored_ivf(reader)
        del ivf.offsets[:], ivf.lengths[:]
        ivf.offsets.extend((np.cumsum(lengths) - lengths).tolist())
        ivf.lengths.extend(lengths.tolist())
        stored = source.files.quantizer
        buffers = [stored.get(name) for name in ("codebook_position", "rotate_mat_position")]
        # A fast rotation has no buffer, and what stands for its number is never read.
        numbers = [number for number in buffers if type(number) is int]
        _copy_metadata(reader, writer, ivf.SerializeToString(), max(numbers, default=0))
    return lengths


def stored_partitions(
    source: IvfIndex,
) -> Iterator[tuple[int, npt.NDArray[np.uint64], list[pa.Array]]]:
    """The number of each partition that has rows, their numbers, and their columns of codes."""
    for number in np.flatnonzero(source.model.lengths).tolist():
        yield number, *stored_codes(source, number)


def stored_codes(source: IvfIndex, number: int) -> tuple[npt.NDArray[np.uint64], list[pa.Array]]:
    """The row numbers of a partition, and its columns of codes."""
    start, count = int(source.model.offsets[number]), int(source.model.lengths[number])
    columns = [ROW_ID, *source.quantizer.columns]
    rows, *codes = source.files.codes.arrays(columns, start, start + count)
    return row_numbers(rows, source.files.codes.path), codes


def _partitions(
    source: IvfIndex, rows: RowMap, *, has_graph: bool
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each partition that the new index has, by their new numbers."""
    reader, quantizer = source.files.codes, source.quantizer
    schema = pa.schema([reader.schema.field(name) for name in (ROW_ID, *quantizer.columns)])
    for number, numbers, stored in stored_partitions(source):
        codes: Sequence[pa.Array] = stored
        moved, is_kept = rows.moved(numbers)
        if not is_kept.all() or (not has_graph and (moved[1:] < moved[:-1]).any()):
            order = np.flatnonzero(is_kept)
            if not has_graph:  # whose nodes are positions
                order = order[np.argsort(moved[order], kind="stable")]
            moved, codes = moved[order], quantizer.without(codes, order)
        if len(moved):
            arrays = [from_numpy(moved), *codes]
            arrays = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
            yield number, pa.RecordBatch.from_arrays(arrays, schema=schema)


def _write_index(reader: IndexFileReader, output: IndexOutput) -> None:
    with output.create(INDEX_FILE, reader.schema.remove_metadata()) as writer:
        for start in range(0, reader.num_rows, _COPIED_ROWS):
            writer.write(reader.read(None, start, min(reader.num_rows, start + _COPIED_ROWS)))
        _copy_metadata(reader, writer, _stored_ivf(reader).SerializeToString(), 0)


def _write_graphs(source: HnswIndex, rows: RowMap, output: IndexOutput) -> None:
    """Write the graphs without the nodes of the rows that ``rows`` does not have."""
    encoder, reader = encoder_of(source), source.files.index

    def vectors(codes: npt.NDArray[Any]) -> GraphVectors:
        return encoder.graph_vectors(codes, source.metric)

    def graphs() -> Iterator[StoredGraph | None]:
        for number, length in enumerate(source.model.lengths.tolist()):
            if not length:
                yield None
                continue
            numbers, stored = stored_codes(source, number)
            _, is_kept = rows.moved(numbers)
            graph = source.graph(number)
            if not is_kept.all():
                codes = source.quantizer.rows_of(stored)
                positions = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
                remaining, removed = vectors(codes[is_kept]), vectors(codes[~is_kept]).rows
                yield changed_graph(graph, positions, remaining, removed, (0, number))
            else:
                yield graph

    with output.create(INDEX_FILE, SCHEMA) as writer:
        starts, lengths, texts = write_graphs(graphs(), None, writer)
        ivf = _stored_ivf(reader)
        del ivf.offsets[:], ivf.lengths[:]
        ivf.offsets.extend(starts)
        ivf.lengths.extend(lengths)
        changed = {HNSW_KEY: json.dumps(texts)}
        _copy_metadata(reader, writer, ivf.SerializeToString(), 0, changed)


def _stored_ivf(reader: IndexFileReader) -> Any:
    data = reader.global_buffer(int(reader.metadata[IVF_KEY])).to_pybytes()
    return parse_message(IVF, data, reader.path, "IVF")


def _copy_metadata(
    reader: IndexFileReader,
    writer: IndexFileWriter,
    ivf: bytes,
    buffer: int,
    changed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Copy the metadata and the buffers that it names, which keep their numbers.

    ``ivf`` replaces the buffer of the partitions; ``buffer`` is the number of another one, with a
    codebook or a rotation, or 0. ``changed``: other metadata by key.
    """
    own = int(reader.metadata[IVF_KEY])
    for number in range(1, max(own, buffer) + 1):
        data = ivf if number == own else reader.global_buffer(number).to_pybytes()
        if writer.add_global_buffer(data) != number:
            raise CorruptFileError(
                f"buffer {number} has another number in a copy", reader.path, field=IVF_KEY
            )
    for key, value in {**reader.metadata, **changed}.items():
        writer.add_metadata(key, value)
