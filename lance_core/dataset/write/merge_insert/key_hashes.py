"""Hashes of keys: XXH64 of their bytes, computed for all rows at once.

A whole number has 8 bytes (little-endian), text and binary values have their own bytes. The bytes
of a tuple are those of each value, each followed by a zero byte. The filter of a transaction that
inserts rows uses these hashes (``transaction.proto``, ``KeyExistenceFilter``); so does the choice
of a partition on disk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_core.dataset.write.merge_insert.keys import as_integers, has_bits, plain
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.index.xxhash64 import UInt64Array, hash_array


def hash_keys(columns: Sequence[pa.ChunkedArray]) -> UInt64Array:
    """The hash of each key; equal keys have equal hashes. Nulls count as empty values."""
    import pyarrow.compute as pc

    parts = [part for column in columns for part in _bytes_of(column)]
    if len(parts) == 1:
        return hash_array(parts[0])
    empty, zero = to_scalar(b"", pa.large_binary()), to_scalar(b"\0", pa.large_binary())
    return hash_array(pc.binary_join_element_wise(*parts, empty, zero))


def _bytes_of(column: pa.ChunkedArray) -> list[pa.Array]:
    """The bytes of each value as one large_binary array, several for the fields of structs."""
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType) or pa.types.is_dictionary(type_):
        return _bytes_of(plain(column))
    if pa.types.is_struct(type_):
        return [part for child in column.flatten() for part in _bytes_of(child)]
    array = combine_chunks(column)
    if has_bits(type_):
        words = np.ascontiguousarray(as_integers(array))
        if array.null_count:
            words = np.where(np.asarray(array.is_valid()), words, 0)
        offsets = np.arange(0, 8 * len(words) + 1, 8, dtype=np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(words)]
        return [pa.Array.from_buffers(pa.large_binary(), len(words), buffers)]
    if pa.types.is_decimal(type_):
        array = array.view(pa.binary(type_.byte_width))
    try:
        return [array.cast(pa.large_binary()).fill_null(b"")]
    except pa.ArrowException:  # no bytes: only the other columns distinguish keys
        return [pa.array([b""], pa.large_binary()).take(pa.array(np.zeros(len(array), np.int8)))]
