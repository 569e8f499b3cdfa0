"""Byte spans of chunks in one array: check, join and interleave them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError, InvalidInputError

_FEW_SIZES = 16

Bytes = npt.NDArray[np.uint8]


def check_spans(
    data: Bytes, starts: Int64Array, sizes: Int64Array, counts: Int64Array | None = None
) -> None:
    """Raise `CorruptFileError` unless the chunks are within ``data`` and no number is negative."""
    if len(starts) != len(sizes) or (counts is not None and len(counts) != len(starts)):
        raise CorruptFileError("the numbers of chunk starts, sizes and counts differ")
    if not len(starts):
        return
    if starts.min() < 0 or sizes.min() < 0 or (starts > len(data) - sizes).any():
        raise CorruptFileError(f"a chunk is not within {len(data)} bytes")
    if counts is not None and counts.min() < 0:
        raise CorruptFileError("a chunk has a negative number of values")


def joined_spans(data: Bytes, starts: Int64Array, sizes: Int64Array) -> Bytes:
    """The bytes of checked spans, concatenated; a view if the spans are adjacent."""
    if not len(starts):
        return np.empty(0, np.uint8)
    if (starts[1:] == starts[:-1] + sizes[:-1]).all():
        return data[int(starts[0]) : int(starts[-1] + sizes[-1])]
    if (sizes == sizes[0]).all() and sizes[0]:
        return rows_at(data, starts, int(sizes[0])).reshape(-1)
    pairs = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    return np.concatenate([data[start:stop] for start, stop in pairs])


def rows_at(data: Bytes, starts: Int64Array, width: int) -> Bytes:
    """The ``width`` bytes (at least one) from each of ``starts`` on, as a table with a row each."""
    if not len(starts):
        return np.empty((0, width), np.uint8)
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(data, width)[starts])


def interleave_chunks(
    buffers: Sequence[Bytes], sizes: Int64Array, align: int, fill: int
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.interleave_chunks`."""
    offsets, totals = chunk_places(buffers, sizes, align)
    out = np.full(int(totals.sum()), fill, np.uint8)
    # Leading chunks with equal piece sizes are rows of a table: copy column by column. Copy the
    # pieces of the remaining chunks separately.
    alike = _number_alike(sizes)
    if alike:
        stride = int(totals[0])
        table = out[: alike * stride].reshape(alike, stride)
        for buffer, (size, *_), (offset, *_) in zip(buffers, sizes, offsets, strict=True):
            table[:, offset : offset + size] = buffer[: alike * size].reshape(alike, size)
    for buffer, lengths, begins in zip(buffers, sizes, offsets, strict=True):
        _place(buffer[int(lengths[:alike].sum()) :], lengths[alike:], begins[alike:], out)
    return pa.py_buffer(out), totals


def _number_alike(sizes: Int64Array) -> int:
    """The number of leading chunks whose pieces have the same sizes as those of the first chunk."""
    count = sizes.shape[1]
    if not sizes.size:
        return 0
    differs = (sizes != sizes[:, :1]).any(axis=0)
    return int(np.argmax(differs)) if differs.any() else count


def chunk_places(
    buffers: Sequence[Bytes], sizes: Int64Array, align: int
) -> tuple[Int64Array, Int64Array]:
    """The position of each piece and the bytes of each chunk. Raises `InvalidInputError`."""
    if not 1 <= align <= 4096 or sizes.ndim != 2 or len(sizes) != len(buffers):
        raise InvalidInputError(
            f"cannot align {len(buffers)} buffers with a table of sizes of shape {sizes.shape} to "
            f"{align} bytes (at most 4096)"
        )
    if sizes.size and sizes.min() < 0:
        raise InvalidInputError("a piece of a chunk has a negative size")
    for buffer, lengths in zip(buffers, sizes, strict=True):
        if (len(lengths) and lengths.max() > len(buffer)) or lengths.sum() != len(buffer):
            raise InvalidInputError(
                f"the piece sizes sum to {lengths.sum()}, but the buffer has {len(buffer)} bytes"
            )
    aligned = (sizes + (align - 1)) // align * align
    # Pieces are written chunk by chunk, so flatten the (buffer, chunk) table by chunk.
    flat = aligned.T.reshape(-1)
    offsets = (np.cumsum(flat) - flat).reshape(aligned.T.shape).T
    return np.ascontiguousarray(offsets), aligned.sum(axis=0)


def _place(buffer: Bytes, sizes: Int64Array, offsets: Int64Array, out: Bytes) -> None:
    """Copy the consecutive pieces of ``buffer`` to ``offsets``; equal sizes share one copy."""
    begins = np.cumsum(sizes) - sizes
    distinct = np.unique(sizes)
    if len(distinct) <= _FEW_SIZES:
        for size in distinct[distinct > 0].tolist():
            where = np.flatnonzero(sizes == size)
            windows = np.lib.stride_tricks.sliding_window_view(out, size, writeable=True)
            windows[offsets[where]] = rows_at(buffer, begins[where], size)
        return
    stops = (begins + sizes).tolist()
    for begin, stop, offset in zip(begins.tolist(), stops, offsets.tolist(), strict=True):
        out[offset : offset + stop - begin] = buffer[begin:stop]
