"""Write the files of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.hookspecs.analyzers import Integers
from lance_core_text.postings import index_files
from lance_core_text.postings.partition import (
    LENGTH,
    MAX_SCORE,
    NUM_TOKENS,
    POSITION_OFFSETS,
    POSITION_STREAM,
    POSTING,
    ROW_ID,
)
from lance_core_text.postings.token_set import NUMBER_COLUMN, TERM_COLUMN
from lance_core_text.scoring.bm25 import Floats, Statistics, weights
from lance_core_text.write.encode_blocks import BLOCK_SIZE, BlockBounds, encode_blocks
from lance_core_text.write.encode_positions import encode_positions

if TYPE_CHECKING:
    from lance_core.hookspecs.indices import IndexOutput
    from lance_core_text.write.posting_table import PostingTable

FORMAT = "2"

MAX_POSTINGS = 1 << 21
"""Postings that are encoded at once."""

_PACKED = {"lance-encoding:compression": "none"}
"""The metadata of a column whose values are packed: trying to compress each takes long."""

_BLOBS = pa.list_(pa.field("item", pa.large_binary(), nullable=True))


def posting_metadata(*, with_positions: bool) -> dict[str, str]:
    """The metadata of the files of postings, and of the index."""
    found = {
        index_files.FORMAT_KEY: FORMAT,
        index_files.BLOCK_SIZE_KEY: str(BLOCK_SIZE),
        index_files.REST_KEY: index_files.VARINT_REST,
    }
    if with_positions:
        found[index_files.POSITION_LAYOUT_KEY] = index_files.STREAMS
        found[index_files.POSITION_CODEC_KEY] = index_files.PACKED_DELTAS
    return found


def write_partition(table: PostingTable, number: int, output: IndexOutput) -> None:
    """Write the terms, documents and postings of ``table``."""
    fields = [
        pa.field(TERM_COLUMN, pa.string(), nullable=False),
        pa.field(NUMBER_COLUMN, pa.uint32(), nullable=False),
    ]
    numbers = pa.array(np.arange(len(table.terms), dtype=np.uint32))
    schema = pa.schema(fields)
    with output.create(index_files.tokens_file(number), schema) as writer:
        columns = [table.terms.cast(pa.string()), numbers]
        writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
    fields = [
        pa.field(ROW_ID, pa.uint64(), nullable=False),
        pa.field(NUM_TOKENS, pa.uint32(), nullable=False),
    ]
    schema = pa.schema(fields)
    with output.create(index_files.documents_file(number), schema) as writer:
        columns = [pa.array(table.rows), pa.array(table.lengths.astype(np.uint32))]
        writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
        writer.add_metadata(index_files.TOTAL_KEY, str(int(table.lengths.sum())))
    _write_postings(table, number, output)


def _write_postings(table: PostingTable, number: int, output: IndexOutput) -> None:
    with_positions = table.positions is not None
    fields = [
        pa.field(POSTING, _BLOBS, nullable=False),
        pa.field(MAX_SCORE, pa.float32(), nullable=False),
        pa.field(LENGTH, pa.uint32(), nullable=False),
    ]
    if with_positions:
        fields.append(
            pa.field(POSITION_STREAM, pa.large_binary(), nullable=False, metadata=_PACKED)
        )
        fields.append(pa.field(POSITION_OFFSETS, pa.list_(pa.uint32()), nullable=False))
    schema = pa.schema(fields)
    lengths = np.bincount(table.numbers, minlength=len(table.terms))
    ends = np.cumsum(lengths)
    first_position = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.frequencies)])
    shares = _best_shares(table)
    with output.create(index_files.postings_file(number), schema) as writer:
        first = 0
        while first < len(lengths):
            before = int(ends[first] - lengths[first])
            last = max(first + 1, int(np.searchsorted(ends, before + MAX_POSTINGS)))
            chosen = slice(before, int(ends[last - 1]))
            positions = None
            if table.positions is not None:
                positions = table.positions[
                    first_position[chosen.start] : first_position[chosen.stop]
                ]
            part = table._replace(
                documents=table.documents[chosen],
                frequencies=table.frequencies[chosen],
                positions=positions,
            )
            columns = _columns(part, lengths[first:last], shares[chosen], len(table.rows))
            writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
            first = last
        for key, value in posting_metadata(with_positions=with_positions).items():
            writer.add_metadata(key, value)


def _best_shares(table: PostingTable) -> Floats:
    """The share of the best score of its term that each posting has."""
    total = int(table.lengths.sum())
    norms = Statistics(len(table.rows), total, {}).norms(table.lengths)
    return weights(table.frequencies, norms[table.documents])


def _columns(
    table: PostingTable, lengths: Integers, shares: Floats, num_documents: int
) -> list[pa.Array]:
    """The columns of the terms with these lengths; ``table`` has their postings only."""
    bounds = BlockBounds.of(lengths)
    counts = lengths.astype(np.float32)
    half, one = np.float32(0.5), np.float32(1)
    factors = np.log((np.float32(num_documents) - counts + half) / (counts + half) + one)
    factors *= np.float32(2.2)
    scores = np.maximum.reduceat(shares, bounds.starts) * np.repeat(factors, bounds.of_lists)
    first_blocks = np.cumsum(bounds.of_lists) - bounds.of_lists
    data, offsets = encode_blocks(bounds, table.documents, table.frequencies, scores)
    of_lists = np.append(first_blocks, len(scores)).astype(np.int32)
    found = [
        pa.ListArray.from_arrays(pa.array(of_lists), _blobs(data, offsets)).cast(_BLOBS),
        pa.array(np.maximum.reduceat(scores, first_blocks)),
        pa.array(lengths.astype(np.uint32)),
    ]
    if table.positions is not None:
        data, offsets = encode_positions(bounds, table.frequencies, table.positions)
        starts = offsets[np.append(first_blocks, len(scores))]
        in_list = offsets[:-1] - np.repeat(starts[:-1], bounds.of_lists)
        values = pa.array(in_list.astype(np.uint32))
        found += [
            _blobs(data, starts),
            pa.ListArray.from_arrays(pa.array(of_lists), values),
        ]
    return found


def _blobs(data: np.ndarray, offsets: Integers) -> pa.Array:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
