"""Split an array of the values of several columns into arrays of these columns.

A slice of an Arrow array refers to the buffers of the whole, which pickling it copies: of thousands
of slices, each would be as large as the whole. So each part gets slices of the buffers instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.spans import slices_between, spans_index
from lance_core.encodings.arrow.strings import is_plain, is_variable, offset_dtype

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array


def split_array(array: pa.Array, length: int) -> list[pa.Array]:
    """``array`` in parts of ``length`` values, at least one, whose buffers have only their bytes.

    The number of values is a multiple of ``length``; see `can_split` for types. The parts share the
    memory of fixed-width values and of the bytes of strings.
    """
    return _split(array, np.arange(0, len(array) + 1, length))


def can_split(type_: pa.DataType) -> bool:
    """True for plain types (see `is_plain`), and for lists, maps and structs of them."""
    types = pa.types
    is_list = types.is_list(type_) or types.is_large_list(type_) or types.is_map(type_)
    if is_list or types.is_fixed_size_list(type_) or types.is_struct(type_):
        return all(can_split(type_.field(n).type) for n in range(type_.num_fields))
    return is_plain(type_)


def _split(array: pa.Array, edges: Int64Array) -> list[pa.Array]:
    """The parts of ``array`` from each of ``edges`` to the next."""
    type_, count = array.type, len(edges) - 1
    bitmap, *values = array.buffers()
    columns: list[Sequence[pa.Buffer | None]] = [[None] * count]
    nulls = 0
    if bitmap is not None and array.null_count:
        # -1: Arrow counts the nulls of a part when it is asked for them.
        columns, nulls = [_bitmaps(bitmap, edges + array.offset)], -1
    children: list[list[pa.Array]] = []
    if pa.types.is_struct(type_):
        children = [_split(array.field(n), edges) for n in range(type_.num_fields)]
    elif pa.types.is_fixed_size_list(type_):
        children = [_split(array.values, (edges + array.offset) * type_.list_size)]
    elif pa.types.is_boolean(type_):
        columns.append(_bitmaps(values[0], edges + array.offset))
    elif is_variable(type_) or type_.num_fields:
        offsets = _offsets(array)
        columns.append(_own_offsets(offsets, edges))
        items = offsets[edges].astype(np.int64)
        if type_.num_fields:
            children = [_split(array.values, items)]
        else:
            columns.append(slices_between(values[1] or pa.py_buffer(b""), items))
    else:
        columns.append(slices_between(values[0], (edges + array.offset) * (type_.bit_width // 8)))
    inside = zip(*children, strict=True) if children else repeat((), count)
    parts = zip(np.diff(edges).tolist(), zip(*columns, strict=True), inside, strict=True)
    return [
        pa.Array.from_buffers(type_, length, list(own), nulls, 0, list(inner))
        for length, own, inner in parts
    ]


def split_columns(arrays: Sequence[pa.Array], count: int, length: int) -> list[list[pa.Array]]:
    """The arrays of ``count`` columns of ``length`` rows, which follow each other in ``arrays``.

    The buffers of arrays that are a whole column have only its bytes; see `can_split` for types.
    """
    columns: list[list[pa.Array]] = []
    missing = 0  # values of the last column that the next array begins with
    for array in arrays:
        start = min(missing, len(array))
        if start:
            columns[-1].append(array.slice(0, start))
            missing -= start
        whole = (len(array) - start) // length * length
        if whole:
            columns += [[part] for part in split_array(array.slice(start, whole), length)]
            start += whole
        if start < len(array):
            columns.append([array.slice(start)])
            missing = length - (len(array) - start)
    assert len(columns) == count
    return columns


def _bitmaps(bitmap: pa.Buffer, edges: Int64Array) -> list[pa.Buffer]:
    """The bits from each of ``edges`` to the next, from the first bit of a byte on."""
    sizes = (np.diff(edges) + 7) // 8
    if (edges[:-1] % 8).any():
        # Bits move within bytes, so each becomes a byte of its own and is packed again.
        first, stop = int(edges[0]), int(edges[-1])
        octets = np.frombuffer(bitmap, np.uint8, (stop + 7) // 8 - first // 8, first // 8)
        bits = np.unpackbits(octets, bitorder="little")[first % 8 :][: stop - first]
        length = _common_length(edges)
        if length:
            packed = np.packbits(bits.reshape(-1, length), axis=1, bitorder="little")
        else:
            # Zeros fill the last byte of each part.
            own = np.zeros(int(sizes.sum()) * 8, np.uint8)
            starts = (np.cumsum(sizes) - sizes) * 8
            own[spans_index(starts, starts + np.diff(edges))] = bits
            packed = np.packbits(own, bitorder="little")
        bitmap, starts = pa.py_buffer(packed), np.cumsum(sizes) - sizes
    else:
        starts = edges[:-1] // 8
    spans = zip(starts.tolist(), sizes.tolist(), strict=True)
    return [bitmap.slice(start, size) for start, size in spans]


def _offsets(array: pa.Array) -> npt.NDArray[Any]:
    """The offsets of the values of strings or lists."""
    is_large = pa.types.is_large_list(array.type) or offset_dtype(array.type) is np.int64
    dtype = np.dtype(np.int64 if is_large else np.int32)
    count, start = len(array) + 1, array.offset * dtype.itemsize
    return np.frombuffer(array.buffers()[1], dtype, count, start)


def _own_offsets(offsets: npt.NDArray[Any], edges: Int64Array) -> list[pa.Buffer]:
    """The offsets of each part, which begin at 0."""
    firsts = offsets[edges[:-1]]
    length = _common_length(edges)
    if length:
        # As a matrix of a row for each part, which needs no index of each offset.
        own = np.empty((len(firsts), length + 1), offsets.dtype)
        own[:, 0] = 0
        stops = offsets[edges[0] + 1 : edges[-1] + 1].reshape(-1, length)
        np.subtract(stops, firsts[:, None], out=own[:, 1:])
    else:
        own = offsets[spans_index(edges[:-1], edges[1:] + 1)]
        own -= np.repeat(firsts, np.diff(edges) + 1)
    # A part has one offset more than it has values.
    starts = (edges - edges[0] + np.arange(len(edges))) * offsets.itemsize
    return slices_between(pa.py_buffer(own), starts)


def _common_length(edges: Int64Array) -> int:
    """The length of all parts; 0 if they differ."""
    lengths = np.diff(edges)
    return int(lengths[0]) if (lengths == lengths[0]).all() else 0
