"""Checksums of the values of rows, which do not depend on how files or arrays store them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def checksum(batches: Iterable[pa.RecordBatch]) -> str:
    """A checksum of the rows in their order; it depends on how they are divided into batches."""
    digest = hashlib.blake2b(digest_size=16)
    for batch in batches:
        digest.update(batch.num_rows.to_bytes(8, "little"))
        for column in batch.columns:
            _update(digest, column)
    return digest.hexdigest()


def _update(digest: hashlib.blake2b, array: pa.Array) -> None:
    """Add the values of ``array``, with the bytes below nulls left out."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_binary())
    type_ = array.type
    valid = np.asarray(array.is_valid())
    digest.update(np.packbits(valid).tobytes())
    if pa.types.is_null(type_):
        return
    if pa.types.is_struct(type_):
        for child in array.drop_null().flatten():
            _update(digest, child)
    elif pa.types.is_map(type_):
        present = array.drop_null()
        _add(digest, np.diff(np.asarray(present.offsets)))
        start, stop = _bounds(present)
        _update(digest, present.keys.slice(start, stop - start))
        _update(digest, present.items.slice(start, stop - start))
    elif pa.types.is_nested(type_):
        if not pa.types.is_fixed_size_list(type_):
            _add(digest, np.asarray(array.drop_null().value_lengths()))
        _update(digest, array.drop_null().flatten())
    else:
        _update_leaf(digest, array.drop_null())


def _update_leaf(digest: hashlib.blake2b, array: pa.Array) -> None:
    type_ = array.type
    if pa.types.is_boolean(type_):
        digest.update(np.packbits(np.asarray(array)).tobytes())
        return
    buffers = array.buffers()
    if type_.num_buffers == 3:
        _add(digest, np.asarray(pc.binary_length(array)))
        start, stop = _binary_bounds(array)
        if buffers[2] is not None:
            digest.update(buffers[2].slice(start, stop - start))
        return
    width = type_.bit_width // 8
    if buffers[1] is not None:
        digest.update(buffers[1].slice(array.offset * width, len(array) * width))


def _bounds(array: pa.MapArray) -> tuple[int, int]:
    offsets = np.asarray(array.offsets)
    return (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)


def _binary_bounds(array: pa.Array) -> tuple[int, int]:
    """The first and end position of the values in the buffer of values."""
    if not len(array):
        return 0, 0
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    offsets = np.frombuffer(array.buffers()[1], np.int64 if is_large else np.int32)
    return int(offsets[array.offset]), int(offsets[array.offset + len(array)])


def _add(digest: hashlib.blake2b, numbers: np.ndarray) -> None:
    digest.update(np.ascontiguousarray(numbers, np.int64).tobytes())
