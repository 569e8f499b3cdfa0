"""Dictionary-encode the values of many columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import spans_index
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels.numpy.chunk_spans import Bytes
from lance_core.errors import InvalidInputError

Codes = npt.NDArray[np.uint32]
Marks = npt.NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)


def dictionary_codes(
    data: Bytes, edges: Int64Array, columns: int, places: Int64Array, most: int
) -> tuple[Codes, Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.dictionary_codes`."""
    table = _checked(data, edges, columns, places, most)
    codes = np.zeros((columns, len(places)), np.uint32)
    counts = np.full(columns, most + 1, np.int64)
    starts, stops = table[:, places], table[:, places + 1]
    firsts = [np.zeros(0, np.int64)]
    marks, are_values = _marks(data, starts, stops)
    for column in np.flatnonzero(_num_distinct(marks) <= most).tolist():
        if are_values:  # Arrow encodes numbers faster than bytes
            encoded = pa.array(marks[column]).dictionary_encode()
        else:
            encoded = _as_binary(data, starts[column], stops[column]).dictionary_encode()
        if len(encoded.dictionary) > most:
            continue
        own = np.frombuffer(encoded.indices.buffers()[1] or b"", np.int32, len(places))
        counts[column] = len(encoded.dictionary)
        codes[column] = own
        highest = np.maximum.accumulate(own)
        new = places[np.flatnonzero(np.diff(highest, prepend=-1))]
        firsts.append(column * table.shape[1] + new)
    return codes.reshape(-1), counts, np.concatenate(firsts)


def _checked(
    data: Bytes, edges: Int64Array, columns: int, places: Int64Array, most: int
) -> Int64Array:
    """The edges of each column. Raises `InvalidInputError` for arguments that contradict others."""
    if columns < 0 or most < 0 or (len(edges) and not columns):
        raise InvalidInputError(f"{len(edges)} edges of {columns} columns with {most} items")
    width = len(edges) // columns if columns else 1
    if width < 1 or width * columns != len(edges):
        raise InvalidInputError(f"{len(edges)} edges are not those of {columns} columns")
    if len(places) and not 0 <= places.min() <= places.max() < width - 1:
        raise InvalidInputError("a place is not one of a column")
    table = edges.reshape(columns, width)
    if (table[:, 1:] < table[:, :-1]).any():
        raise InvalidInputError("the edges of a column descend")
    if columns and (int(table[:, 0].min()) < 0 or int(table[:, -1].max()) > len(data)):
        raise InvalidInputError("a column is not within the bytes of all")
    return table


def _marks(data: Bytes, starts: Int64Array, stops: Int64Array) -> tuple[Marks, bool]:
    """Numbers that are equal for equal values; and True if they differ for different values.

    They are made of the length and the last 8 bytes.
    """
    lengths = stops - starts
    if starts.size and (lengths == 8).all() and not (starts & 7).any():
        return data[: len(data) & ~7].view("<u8")[starts >> 3], True
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    words: Marks = np.ndarray(len(data) + 1, "<u8", padded, strides=(1,))
    marks = words[stops - np.minimum(lengths, 8)]
    marks &= _MASKS[np.minimum(lengths, 8)]
    marks ^= lengths.astype(np.uint64) * _MIX
    return marks, False


def _num_distinct(marks: Marks) -> Int64Array:
    """The number of distinct numbers of each row."""
    ascending = np.sort(marks, axis=1)
    changes = np.count_nonzero(ascending[:, 1:] != ascending[:, :-1], axis=1)
    return np.asarray(changes + (marks.shape[1] > 0), np.int64)


def _as_binary(data: Bytes, starts: Int64Array, stops: Int64Array) -> pa.Array:
    """The values of one column as a binary array."""
    if (starts[1:] != stops[:-1]).any():
        data = data[spans_index(starts, stops)]
        stops = np.cumsum(stops - starts)
        starts = stops - np.diff(stops, prepend=0)
    offsets = np.concatenate([starts, stops[-1:]])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(starts), buffers)
