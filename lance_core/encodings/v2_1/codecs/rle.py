"""Run-length encoding (message ``Rle``): the value and the length, 1 to 255, of each run.

In mini-block pages values and lengths are two buffers. A block starts with a u64, the number of
bytes of the values; the values and then the lengths follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Rle
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import WIDTHS
from lance_core.encodings.kernels.numpy.chunk_spans import rows_at
from lance_core.encodings.kernels.numpy.runs import MAX_RUN, RunRule, run_begins
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    Chunk,
    Codec,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    ScalarAt,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import split_sizes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values, Words

_MAX_VALUES = 4096
_MAX_BYTES = 8186
_HEAD = 8
"""Bytes of the u64 at the start of a block that states the bytes of the values."""


class RunLengthCodec(Codec):
    """Stores runs of equal integers."""

    key = "rle"

    def decode(self, message: Rle, source: Source, context: DecodeContext) -> FixedWidth:
        """See `Codec`."""
        if isinstance(source, PerValue):
            raise unsupported_placement("rle", source)
        runs_of = _block_as_chunk(source) if isinstance(source, Block) else source
        bits = _run_bits(message, runs_of)
        starts, sizes = runs_of.starts, runs_of.sizes
        expand_runs = context.kernels.expand_runs
        return FixedWidth.of(expand_runs(runs_of.data, starts, sizes, runs_of.counts, bits))

    def encode(self, values: Values, target: Target) -> Encoded:
        """See `Codec`."""
        if target.place is Place.PER_VALUE:
            raise unsupported_placement("rle", target)
        if not isinstance(values, FixedWidth) or values.bits not in WIDTHS:
            raise UnsupportedFeatureError("run-length encoding needs integers")
        words = values.words()
        if target.place is Place.BLOCK:
            return run_blocks(words, np.array([len(words)]))
        least = {1: 256, 2: 128}.get(words.itemsize, 64)
        rule = RunRule(_MAX_VALUES, least, _MAX_BYTES // (words.itemsize + 1))
        plain, lengths, runs, counts = target.kernels.encode_runs(words, rule)
        buffers = (pa.py_buffer(plain), pa.py_buffer(lengths))
        sizes = np.stack([runs * words.itemsize, runs])
        return Encoded(_encoding(values.bits), buffers, sizes, counts)

    def scalar_at(
        self, message: Rle, place: Place, context: DecodeContext, depth: int
    ) -> ScalarAt | None:
        """See `Codec`."""
        bits = inner_flat(message.values, "runs")
        if bits not in WIDTHS or inner_flat(message.run_lengths, "lengths of runs") != 8:
            return None
        width = bits // 8

        def value(chunk: Chunk, position: int) -> memoryview:
            if len(chunk.sizes) != 2 or chunk.sizes[0] != chunk.sizes[1] * width:
                raise CorruptFileError("the numbers of run lengths and run values differ")
            lengths = np.frombuffer(chunk.data, np.uint8, chunk.sizes[1], chunk.starts[1])
            ends = lengths.cumsum(dtype=np.int64)
            if not len(ends) or ends[-1] != chunk.total:
                raise CorruptFileError("the lengths of runs do not add up to the number of values")
            at = chunk.starts[0] + int(ends.searchsorted(position, "right")) * width
            return chunk.data[at : at + width]

        def value_of_block(block: Chunk, position: int) -> memoryview:
            block.check_size(_HEAD)
            start, size = block.starts[0] + _HEAD, block.sizes[0] - _HEAD
            values = int.from_bytes(block.data[start - _HEAD : start], "little")
            if values > size:
                raise CorruptFileError(
                    f"the run values take {values} bytes, but their block has {size}"
                )
            starts, sizes = (start, start + values), (values, size - values)
            return value(Chunk(block.data, starts, sizes, block.total), position)

        return {Place.MINI_BLOCK: value, Place.BLOCK: value_of_block}.get(place)


def _run_bits(message: Rle, chunks: MiniBlockChunks) -> int:
    """Bits of a run's value. Raises for other encodings of values and lengths than allowed."""
    bits = inner_flat(message.values, "runs")
    if bits not in WIDTHS or inner_flat(message.run_lengths, "lengths of runs") != 8:
        raise UnsupportedFeatureError(
            f"run-length encoding with values of {bits} bits or with lengths of other than 8 bits "
            "is not supported"
        )
    if chunks.num_buffers != 2:
        raise CorruptFileError(
            f"a run-length encoded chunk has {chunks.num_buffers} buffers, expected 2"
        )
    return bits


def _block_as_chunk(block: Block) -> MiniBlockChunks:
    whole = block.as_chunk()
    return chunks_of_blocks(whole.data, whole.starts[0], whole.sizes[0], whole.counts)


def chunks_of_blocks(
    data: npt.NDArray[np.uint8], starts: Int64Array, sizes: Int64Array, counts: Int64Array
) -> MiniBlockChunks:
    """The values and the lengths of each block as the two buffers of a chunk.

    The blocks are within ``data``. Raises `CorruptFileError` if the values of a block do not fit.
    """
    if (sizes < _HEAD).any():
        raise CorruptFileError(f"a run-length encoded block has only {int(sizes.min())} bytes")
    values = rows_at(data, starts, _HEAD).view("<u8").reshape(-1)
    payloads = sizes - _HEAD
    does_not_fit = values > payloads.astype(np.uint64)
    if does_not_fit.any():
        at = int(does_not_fit.argmax())
        raise CorruptFileError(
            f"the run values take {int(values[at])} bytes, but their block has {int(sizes[at])}"
        )
    values = values.astype(np.int64)
    begins = starts + _HEAD
    parts = np.stack([begins, begins + values]), np.stack([values, payloads - values])
    return MiniBlockChunks(data, *parts, counts)


def run_blocks(words: Words, counts: Int64Array) -> Encoded:
    """Encode a block of runs for each ``counts`` of the words; all blocks share one message."""
    width = words.itemsize
    plain, lengths, before = _entries_of(words, counts)
    runs = np.diff(before, append=len(lengths))
    sizes = _HEAD + runs * (width + 1)
    begins = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    heads = (runs * width).astype("<u8").view(np.uint8).reshape(-1, _HEAD)
    data[begins[:, None] + np.arange(_HEAD)] = heads
    # A block stores all values before all lengths. Entry i has its value at i * width after the
    # head, and its length at i after the values of the block.
    own = np.arange(len(lengths)) - np.repeat(before, runs)
    firsts = np.repeat(begins + _HEAD, runs)
    at = (firsts + own * width)[:, None] + np.arange(width)
    data[at] = plain.view(np.uint8).reshape(-1, width)
    data[firsts + np.repeat(runs * width, runs) + own] = lengths
    return Encoded(_encoding(8 * width), (pa.py_buffer(data),), sizes[None], counts)


def run_columns(words: Words, sizes: Int64Array) -> Encoded | None:
    """Encode columns of ``sizes`` words in chunks of 4096; None if one of these has too many runs.

    The columns follow each other.
    """
    width = words.itemsize
    parts = [split_sizes(size, _MAX_VALUES, 0)[0] for size in sizes.tolist()]
    counts = np.concatenate(parts)
    plain, lengths, before = _entries_of(words, counts)
    runs = np.diff(before, append=len(lengths))
    if runs.max() > _MAX_BYTES // (width + 1):
        return None
    buffers = (pa.py_buffer(plain), pa.py_buffer(lengths))
    return Encoded(_encoding(8 * width), buffers, np.stack([runs * width, runs]), counts)


def _entries_of(
    words: Words, counts: Int64Array
) -> tuple[Words, npt.NDArray[np.uint8], Int64Array]:
    """Value and length of each entry of blocks of ``counts`` words, and the first of each block."""
    begins = np.cumsum(counts) - counts
    # Runs end at block ends; empty blocks have no runs.
    starts = run_starts(words, begins[counts > 0])
    # Split runs longer than MAX_RUN: all parts have MAX_RUN values, except the last part.
    whole = np.diff(starts, append=len(words))
    parts = entries(whole)
    stops = np.cumsum(parts)
    plain, lengths = np.repeat(words[starts], parts), np.full(int(parts.sum()), MAX_RUN, np.uint8)
    lengths[stops - 1] = whole - (parts - 1) * MAX_RUN
    # The number of entries before each block equals that of all runs before its first word.
    return plain, lengths, np.concatenate([[0], stops])[np.searchsorted(starts, begins)]


def _encoding(bits: int) -> CompressiveEncoding:
    return CompressiveEncoding(rle=Rle(values=flat_encoding(bits), run_lengths=flat_encoding(8)))


def run_starts(words: Words, cuts: Int64Array | slice | None = None) -> Int64Array:
    """The positions at which a value differs from the one before it, and the positions ``cuts``."""
    is_start = run_begins(words)
    if cuts is not None:
        is_start[cuts] = True
    return np.flatnonzero(is_start)


def entries(lengths: Int64Array) -> Int64Array:
    """The number of (value, length) pairs for runs of the given lengths."""
    return -(-lengths // MAX_RUN)
