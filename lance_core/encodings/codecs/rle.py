"""Runs of equal values (message ``Rle``): the value and the length, 1 to 255, of each.

In mini-block pages values and lengths are two buffers; in a block both follow the bytes of the
values as u64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding, Rle
from lance_core.encodings.codecs.chunks import chunk_bytes
from lance_core.encodings.codecs.flat import flat_encoding, inner_flat
from lance_core.encodings.compression.bitpacking import WIDTHS
from lance_core.encodings.compressive import (
    Block,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    not_here,
)
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.values import FixedWidth
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core.encodings.compressive import Source, Target
    from lance_core.encodings.decoding import DecodeContext
    from lance_core.encodings.values import Values, Words

_LONGEST = 255
_MOST_VALUES = 4096
_MOST_BYTES = 8186


def decode_rle(message: Rle, source: Source, context: DecodeContext) -> FixedWidth:
    """`CompressiveDecoder` of ``rle``."""
    if isinstance(source, PerValue):
        raise not_here("rle", source)
    bits = inner_flat(message.values, "runs")
    if bits not in WIDTHS or inner_flat(message.run_lengths, "lengths of runs") != 8:
        raise UnsupportedFeatureError(f"runs of values of {bits} bits, or of unusual length")
    chunks = _two_buffers(source) if isinstance(source, Block) else source
    if chunks.num_buffers != 2:
        raise CorruptFileError(f"runs in {chunks.num_buffers} buffers, not 2")
    runs = chunks.sizes[1]
    if (chunks.sizes[0] != runs * (bits // 8)).any():
        raise CorruptFileError("not as many lengths of runs as values")
    lengths = np.frombuffer(chunk_bytes(chunks, 1, runs), np.uint8)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    stops = np.cumsum(runs)
    if (ends[stops] - ends[stops - runs] != chunks.counts).any():
        raise CorruptFileError("runs are not as long as there are values")
    values = np.frombuffer(chunk_bytes(chunks, 0, chunks.sizes[0]), f"<u{bits // 8}", len(lengths))
    return FixedWidth.of(np.repeat(values, lengths))


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
        raise not_here("rle", target)
    if not isinstance(values, FixedWidth) or values.bits not in WIDTHS:
        raise UnsupportedFeatureError("runs of values that are not integers")
    words = values.words()
    message = Rle(values=flat_encoding(values.bits), run_lengths=flat_encoding(8))
    encoding = CompressiveEncoding(rle=message)
    if target.place is Place.BLOCK:
        plain, lengths = _split(words, _run_starts(words))
        data = np.concatenate(
            [np.array([plain.nbytes], "<u8").view(np.uint8), plain.view(np.uint8), lengths]
        )
        return Encoded.block(encoding, pa.py_buffer(data), len(words))
    counts = _chunk_counts(words)
    # A chunk begins a run of its own.
    begins = np.cumsum(counts) - counts
    plain, lengths = _split(words, np.union1d(_run_starts(words), begins[counts > 0]))
    ends = np.cumsum(lengths, dtype=np.int64)
    runs = np.diff(np.searchsorted(ends, np.cumsum(counts), side="left") + 1, prepend=0)
    runs[counts == 0] = 0
    buffers = (pa.py_buffer(plain), pa.py_buffer(lengths))
    return Encoded(encoding, buffers, np.stack([runs * (values.bits // 8), runs]), counts)


def _run_starts(words: Words) -> Int64Array:
    if not len(words):
        return np.empty(0, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(words[1:] != words[:-1]) + 1])


def _split(words: Words, starts: Int64Array) -> tuple[Words, np.ndarray]:
    """Values and lengths of the runs that start there, long ones in parts."""
    whole = np.diff(starts, append=len(words))
    parts = (whole + _LONGEST - 1) // _LONGEST
    lengths = np.full(int(parts.sum()), _LONGEST, np.uint8)
    lengths[np.cumsum(parts) - 1] = whole - (parts - 1) * _LONGEST
    return np.repeat(words[starts], parts), lengths


def _chunk_counts(words: Words) -> Int64Array:
    """Values of each chunk: the largest power of two whose runs fit, all that is left at last."""
    width = words.itemsize
    least = {1: 256, 2: 128}.get(width, 64)
    room = _MOST_BYTES // (width + 1)
    count, start, counts = len(words), 0, []
    is_start = np.zeros(count + 1, np.bool_)
    is_start[_run_starts(words)] = True
    while start < count:
        window = is_start[start : start + _MOST_VALUES].copy()
        window[0] = True
        starts = np.flatnonzero(window)
        taken = least
        size = _MOST_VALUES
        while size >= least:
            inside = starts[starts < size]
            end = min(size, len(window))
            runs = int(((np.diff(inside, append=end) + _LONGEST - 1) // _LONGEST).sum())
            if runs <= room:
                taken = size
                break
            size //= 2
        counts.append(min(taken, count - start))
        start += counts[-1]
    return np.array(counts or [0], np.int64)
