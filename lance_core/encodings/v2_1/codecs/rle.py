"""Runs of equal values (message ``Rle``): the value and the length, 1 to 255, of each.

In mini-block pages values and lengths are two buffers; in a block both follow the bytes of the
values as u64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Rle
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.bitpacking import WIDTHS
from lance_core.encodings.kernels.numpy.runs import RunRule
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    unsupported_placement,
)
from lance_core.encodings.v2_1.codecs.chunks import chunk_bytes
from lance_core.encodings.v2_1.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.v2_1.codecs.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels
    from lance_core.encodings.v2_1.codecs.base import Source, Target
    from lance_core.encodings.v2_1.codecs.values import Values, Words

_LONGEST = 255
_MOST_VALUES = 4096
_MOST_BYTES = 8186


def decode_rle(message: Rle, source: Source, context: DecodeContext) -> FixedWidth:
    """`CompressiveDecoder` of ``rle``."""
    if isinstance(source, PerValue):
        raise unsupported_placement("rle", source)
    runs_of = _two_buffers(source) if isinstance(source, Block) else source
    bits = _run_bits(message, runs_of)
    starts, sizes = runs_of.starts, runs_of.sizes
    expand_runs = context.kernels.expand_runs
    return FixedWidth.of(expand_runs(runs_of.data, starts, sizes, runs_of.counts, bits))


def run_chunks(
    message: Rle, chunks: MiniBlockChunks, kernels: Kernels
) -> tuple[MiniBlockChunks, int, npt.NDArray[np.uint8]]:
    """Checked chunks of runs, the bits of a value, and the lengths of all runs."""
    bits = _run_bits(message, chunks)
    runs = chunks.sizes[1]
    if (chunks.sizes[0] != runs * (bits // 8)).any():
        raise CorruptFileError("not as many lengths of runs as values")
    lengths = np.frombuffer(chunk_bytes(chunks, 1, runs, kernels), np.uint8)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    stops = np.cumsum(runs)
    if (ends[stops] - ends[stops - runs] != chunks.counts).any():
        raise CorruptFileError("runs are not as long as there are values")
    return chunks, bits, lengths


def _run_bits(message: Rle, chunks: MiniBlockChunks) -> int:
    """The bits of a value."""
    bits = inner_flat(message.values, "runs")
    if bits not in WIDTHS or inner_flat(message.run_lengths, "lengths of runs") != 8:
        raise UnsupportedFeatureError(f"runs of values of {bits} bits, or of unusual length")
    if chunks.num_buffers != 2:
        raise CorruptFileError(f"runs in {chunks.num_buffers} buffers, not 2")
    return bits


def _two_buffers(block: Block) -> MiniBlockChunks:
    octets = np.frombuffer(block.data, np.uint8)
    if len(octets) < 8:
        raise CorruptFileError(f"a block of runs in {len(octets)} bytes")
    size = int.from_bytes(octets[:8].tobytes(), "little")
    if size > len(octets) - 8:
        raise CorruptFileError(f"{size} bytes of runs in a block of {len(octets)}")
    starts = np.array([[8], [8 + size]])
    sizes = np.array([[size], [len(octets) - 8 - size]])
    return MiniBlockChunks(octets, starts, sizes, np.array([block.count]))


def encode_rle(values: Values, target: Target) -> Encoded:
    """`CompressiveEncoder` of ``rle``."""
    if target.place is Place.PER_VALUE:
        raise unsupported_placement("rle", target)
    if not isinstance(values, FixedWidth) or values.bits not in WIDTHS:
        raise UnsupportedFeatureError("runs of values that are not integers")
    words = values.words()
    encoding = _encoding(values.bits)
    if target.place is Place.BLOCK:
        plain, lengths = split_runs(words, run_starts(words))
        data = np.concatenate(
            [np.array([plain.nbytes], "<u8").view(np.uint8), plain.view(np.uint8), lengths]
        )
        return Encoded.block(encoding, pa.py_buffer(data), len(words))
    least = {1: 256, 2: 128}.get(words.itemsize, 64)
    rule = RunRule(_MOST_VALUES, least, _MOST_BYTES // (words.itemsize + 1))
    plain, lengths, runs, counts = target.kernels.encode_runs(words, rule)
    buffers = (pa.py_buffer(plain), pa.py_buffer(lengths))
    return Encoded(encoding, buffers, np.stack([runs * (values.bits // 8), runs]), counts)


def run_levels(words: Words, counts: Int64Array) -> Encoded:
    """A block of runs for each ``counts`` of the words, all by one message."""
    width, begins = words.itemsize, np.cumsum(counts) - counts
    starts = run_starts(words, begins[counts > 0])
    per_run = entries(np.diff(starts, append=len(words)))
    plain, lengths = split_runs(words, starts)
    before = np.concatenate([[0], np.cumsum(per_run)])[np.searchsorted(starts, begins)]
    runs = np.diff(before, append=len(lengths))
    sizes = 8 + runs * (width + 1)
    places = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    heads = (runs * width).astype("<u8").view(np.uint8).reshape(-1, 8)
    data[places[:, None] + np.arange(8)] = heads
    own = np.arange(len(lengths)) - np.repeat(before, runs)
    firsts = np.repeat(places + 8, runs)
    data[(firsts + own * width)[:, None] + np.arange(width)] = plain.view(np.uint8).reshape(
        -1, width
    )
    data[firsts + np.repeat(runs * width, runs) + own] = lengths
    return Encoded(_encoding(8 * width), (pa.py_buffer(data),), sizes[None], counts)


def _encoding(bits: int) -> CompressiveEncoding:
    return CompressiveEncoding(rle=Rle(values=flat_encoding(bits), run_lengths=flat_encoding(8)))


def run_starts(words: Words, cuts: Int64Array | slice | None = None) -> Int64Array:
    """Where a value differs from the one before it, and the places ``cuts``."""
    if not len(words):
        return np.empty(0, np.int64)
    is_start = np.empty(len(words), np.bool_)
    is_start[0] = True
    np.not_equal(words[1:], words[:-1], out=is_start[1:])
    if cuts is not None:
        is_start[cuts] = True
    return np.flatnonzero(is_start)


def entries(lengths: Int64Array) -> Int64Array:
    """Pairs of a value and a length that runs of so many values take."""
    return -(-lengths // _LONGEST)


def split_runs(words: Words, starts: Int64Array) -> tuple[Words, npt.NDArray[np.uint8]]:
    """Values and lengths of the runs that start there, long ones in parts."""
    whole = np.diff(starts, append=len(words))
    parts = entries(whole)
    lengths = np.full(int(parts.sum()), _LONGEST, np.uint8)
    lengths[np.cumsum(parts) - 1] = whole - (parts - 1) * _LONGEST
    return np.repeat(words[starts], parts), lengths
