"""Concatenate bytes and bits of the chunks of a mini-block page, and compute chunk sizes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.codecs.base import MiniBlockChunks
from lance_core.errors import CorruptFileError

# Those of pylance (8 KiB less 6 bytes), so that the same values get the same chunks.
_MAX_BYTES, _MAX_VALUES = 8186, 4096


def chunk_bytes(
    chunks: MiniBlockChunks, number: int, lengths: Int64Array, kernels: Kernels
) -> pa.Buffer:
    """The first ``lengths[c]`` bytes of buffer ``number`` of each chunk c, concatenated.

    Raises `CorruptFileError` if a buffer is shorter.
    """
    if np.logical_or.reduce(lengths > chunks.sizes[number]):
        raise CorruptFileError("a chunk has fewer bytes than its values take")
    starts = chunks.starts[number]
    return spans(chunks.data, starts, starts + lengths, kernels)


def spans(
    data: npt.NDArray[np.uint8], starts: Int64Array, stops: Int64Array, kernels: Kernels
) -> pa.Buffer:
    """The bytes ``starts[i]`` to ``stops[i]`` for all i, concatenated; a view if adjacent."""
    if not len(starts):
        return pa.py_buffer(b"")
    if np.logical_and.reduce(starts[1:] == stops[:-1]):
        return pa.py_buffer(data).slice(int(starts[0]), int(stops[-1] - starts[0]))
    return kernels.gather_variable(data, starts, stops)[0]


def chunk_bits(
    chunks: MiniBlockChunks, number: int, counts: Int64Array, kernels: Kernels
) -> pa.Buffer:
    """Concatenate the bitmaps of ``counts[c]`` bits in buffer ``number`` of each chunk c."""
    lengths = (counts + 7) // 8
    packed = chunk_bytes(chunks, number, lengths, kernels)
    if not (counts[:-1] % 8).any():
        return packed
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    rest = lengths * 8 - counts
    is_used = np.repeat(
        np.tile([True, False], len(counts)), np.stack([counts, rest], axis=1).ravel()
    )
    return pa.py_buffer(np.packbits(bits[is_used], bitorder="little"))


@lru_cache(maxsize=16)
def split_sizes(count: int, per_chunk: int, width: int) -> tuple[Int64Array, Int64Array]:
    """Values and bytes of each chunk; all but the last have ``per_chunk`` values.

    The arrays cannot be changed: they are kept, as the columns of a file and the batches of a
    stream have the same number of rows.
    """
    starts = np.arange(0, max(count, 1), per_chunk)
    counts = np.minimum(count - starts, per_chunk)
    sizes = (counts * width + 7) // 8
    counts.flags.writeable = sizes.flags.writeable = False
    return counts, sizes


@lru_cache(maxsize=64)
def largest_chunk(bits: int, besides: int = 0) -> int:
    """The number of values of ``bits`` bits to put into a chunk: a power of two, 2 to 4096.

    ``besides`` is the number of bytes that each value takes in other buffers. Values that do not
    have whole bytes are counted in groups of eight, and as pylance does, a group is counted with
    twice its size: a chunk has half as many of these values as would fit.
    """
    if bits % 8:
        values, size = 8, 2 * (bits + 8 * besides)
    else:
        values, size = 2, 2 * (bits // 8 + besides)
    while 2 * size < _MAX_BYTES and 2 * values <= _MAX_VALUES:
        values, size = 2 * values, 2 * size
    return values
