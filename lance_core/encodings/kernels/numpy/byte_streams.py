"""Byte stream split: a chunk stores byte 0 of all its values, then byte 1 of all, and so on."""

from __future__ import annotations

import numpy as np

from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes, check_spans, joined_spans
from lance_core.errors import CorruptFileError, InvalidInputError

_WIDTHS = (4, 8)


def join_streams(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.join_streams`."""
    check_streams(data, starts, sizes, counts, width)
    octets = joined_spans(data, starts, counts * width)
    result = np.empty(len(octets), np.uint8)
    # Chunks with equal counts have the same shape. Find runs of such chunks and transpose each run
    # with one call.
    edges = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(counts)) + 1])
    ends = edges_of(counts * width)
    for first, stop in zip(edges.tolist(), [*edges[1:].tolist(), len(counts)], strict=True):
        part = slice(int(ends[first]), int(ends[stop]))
        if part.start < part.stop:
            count = int(counts[first])
            turned = octets[part].reshape(-1, width, count).transpose(0, 2, 1)
            result[part].reshape(turned.shape)[...] = turned
    return result


def check_streams(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array, width: int
) -> None:
    """Raise `CorruptFileError` unless each chunk has enough bytes for its values."""
    if width not in _WIDTHS:
        raise CorruptFileError(f"byte streams cannot store values of {width} bytes")
    check_spans(data, starts, sizes, counts)
    if (counts > sizes // width).any():
        raise CorruptFileError("a chunk has fewer bytes than its values take")


def split_streams(octets: Bytes, width: int, per_chunk: int) -> Bytes:
    """See `lance_core.encodings.kernels.Kernels.split_streams`."""
    if width not in _WIDTHS or per_chunk < 1 or len(octets) % width:
        raise InvalidInputError(f"byte streams of {len(octets)} bytes in values of {width}")
    result = np.empty(len(octets), np.uint8)
    whole = len(octets) // (per_chunk * width) * (per_chunk * width)
    _split(octets[:whole], result[:whole], per_chunk, width)
    _split(octets[whole:], result[whole:], (len(octets) - whole) // width, width)
    return result


def _split(octets: Bytes, result: Bytes, count: int, width: int) -> None:
    """Write to ``result`` the streams of chunks that have ``count`` values each."""
    if len(octets):
        turned = octets.reshape(-1, count, width).transpose(0, 2, 1)
        result.reshape(turned.shape)[...] = turned
