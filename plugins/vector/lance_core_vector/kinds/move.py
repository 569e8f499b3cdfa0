"""Write an index anew for rows that have moved: the same partitions and codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.indices import IVF, parse_message
from lance_core_vector.partitions.index_files import (
    CODES_FILE,
    HNSW_KEY,
    INDEX_FILE,
    IVF_KEY,
    ROW_ID,
)

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

    Raises `UnsupportedFeatureError` for an index with a graph that has such rows: the graph would
    lose the ways through them.
    """
    has_graph = HNSW_KEY in source.files.index.metadata
    lengths = _write_codes(source, rows, output, has_graph=has_graph)
    if has_graph and (lengths != source.model.lengths).any():
        raise UnsupportedFeatureError(
            f"rows are not removed from indices of type {source.files.kind} yet"
        )
    _write_index(source.files.index, output)
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
        for number, batch in _partitions(source, rows, has_graph=has_graph):
            lengths[number] = batch.num_rows
            writer.write(batch)
        ivf = _stored_ivf(reader)
        del ivf.offsets[:], ivf.lengths[:]
        ivf.offsets.extend((np.cumsum(lengths) - lengths).tolist())
        ivf.lengths.extend(lengths.tolist())
        stored = source.files.quantizer
        buffer = stored.get("codebook_position") or stored.get("rotate_mat_position")
        _copy_metadata(reader, writer, ivf.SerializeToString(), buffer)
    return lengths


def stored_partitions(
    source: IvfIndex,
) -> Iterator[tuple[int, npt.NDArray[np.uint64], list[pa.Array]]]:
    """The number of each partition that has rows, their numbers, and their columns of codes."""
    columns = [ROW_ID, *source.quantizer.columns]
    starts, lengths = source.model.offsets.tolist(), source.model.lengths.tolist()
    for number, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        if length:
            rows, *codes = source.files.codes.arrays(columns, start, start + length)
            yield number, rows.to_numpy(), codes


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
            arrays = [pa.array(moved, pa.uint64()), *codes]
            arrays = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
            yield number, pa.RecordBatch.from_arrays(arrays, schema=schema)


def _write_index(reader: IndexFileReader, output: IndexOutput) -> None:
    with output.create(INDEX_FILE, reader.schema.remove_metadata()) as writer:
        for start in range(0, reader.num_rows, _COPIED_ROWS):
            writer.write(reader.read(None, start, min(reader.num_rows, start + _COPIED_ROWS)))
        _copy_metadata(reader, writer, _stored_ivf(reader).SerializeToString(), None)


def _stored_ivf(reader: IndexFileReader) -> Any:
    data = reader.global_buffer(int(reader.metadata[IVF_KEY])).to_pybytes()
    return parse_message(IVF, data, reader.path, "IVF")


def _copy_metadata(
    reader: IndexFileReader, writer: IndexFileWriter, ivf: bytes, buffer: int | None
) -> None:
    """Copy the metadata and the buffers that it names, which keep their numbers.

    ``ivf`` replaces the buffer of the partitions; ``buffer`` is the number of another one, with a
    codebook or a rotation.
    """
    own = int(reader.metadata[IVF_KEY])
    for number in range(1, max(own, buffer or 0) + 1):
        data = ivf if number == own else reader.global_buffer(number).to_pybytes()
        if writer.add_global_buffer(data) != number:
            raise CorruptFileError(
                f"buffer {number} has another number in a copy", reader.path, field=IVF_KEY
            )
    for key, value in reader.metadata.items():
        writer.add_metadata(key, value)
