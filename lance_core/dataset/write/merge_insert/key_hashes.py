"""Hashes of keys: XXH64 of their bytes, computed for all rows at once.

A whole number has 8 bytes (little-endian), text and binary values have their own bytes. The bytes
of a tuple are those of each value, each followed by a zero byte. The filter of a transaction that
inserts rows uses these hashes (``transaction.proto``, ``KeyExistenceFilter``); so does the choice
of a partition on disk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.expressions.combine_chunks import combine_chunks
from lance_core.dataset.write.merge_insert.keys import as_integers, has_bits, plain

Uint64s = npt.NDArray[np.uint64]

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_STRIPE = 32


def hash_keys(columns: Sequence[pa.ChunkedArray]) -> Uint64s:
    """The hash of each key; equal keys have equal hashes. Nulls count as empty values."""
    import pyarrow.compute as pc

    parts = [part for column in columns for part in _bytes_of(column)]
    if len(parts) == 1:
        return _hashes(parts[0])
    empty, zero = pa.scalar(b"", pa.large_binary()), pa.scalar(b"\0", pa.large_binary())
    return _hashes(pc.binary_join_element_wise(*parts, empty, zero))


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


def _hashes(values: pa.Array) -> Uint64s:
    """XXH64 with seed 0 of each value of a large_binary array without nulls."""
    count = len(values)
    offsets = np.frombuffer(values.buffers()[1], np.int64, count + 1, 8 * values.offset)
    starts, sizes = offsets[:-1], np.diff(offsets)
    data = values.buffers()[2]
    padded = np.zeros((0 if data is None else data.size) + 8, np.uint8)
    if data is not None:
        padded[:-8] = np.frombuffer(data, np.uint8)
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
    state = np.full(count, _P5, np.uint64)
    long = np.flatnonzero(sizes >= _STRIPE)
    if len(long):
        state[long] = _stripes(words, starts[long], sizes[long])
    state += sizes.astype(np.uint64)
    _add_tails(state, words, starts + sizes // _STRIPE * _STRIPE, sizes % _STRIPE)
    state ^= state >> np.uint64(33)
    state *= _P2
    state ^= state >> np.uint64(29)
    state *= _P3
    return state ^ (state >> np.uint64(32))


def _stripes(
    words: Uint64s, starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> Uint64s:
    """The state after all whole stripes; each round handles the rows that still have one."""
    order = np.argsort(-sizes, kind="stable")
    starts, counts = starts[order], sizes[order] // _STRIPE
    lanes = np.empty((4, len(starts)), np.uint64)
    with np.errstate(over="ignore"):
        initial = (_P1 + _P2, _P2, np.uint64(0), np.uint64(0) - _P1)
    lanes[:] = np.array(initial, np.uint64)[:, None]
    for number in range(int(counts[0])):
        active = int(np.searchsorted(-counts, -number, side="left"))
        places = starts[:active] + _STRIPE * number
        for word in range(4):
            lanes[word, :active] = _round(lanes[word, :active], words[places + 8 * word])
    state: Uint64s = np.zeros(len(starts), np.uint64)
    for lane, by in zip(lanes, (1, 7, 12, 18), strict=True):
        state += _rotated(lane, by)
    for lane in lanes:
        state = (state ^ _round(np.zeros_like(lane), lane)) * _P1 + _P4
    unsorted = np.empty_like(state)
    unsorted[order] = state
    return unsorted


def _add_tails(
    state: Uint64s, words: Uint64s, starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> None:
    """Add the last bytes, fewer than a stripe: whole words, then a half word, then bytes."""
    nothing = np.zeros(1, np.uint64)
    for number in range(_STRIPE // 8 - 1):
        rows = np.flatnonzero(sizes >= 8 * (number + 1))
        mixed = state[rows] ^ _round(nothing, words[starts[rows] + 8 * number])
        state[rows] = _rotated(mixed, 27) * _P1 + _P4
    starts, sizes = starts + sizes // 8 * 8, sizes % 8
    rows = np.flatnonzero(sizes >= 4)
    half = words[starts[rows]] & np.uint64(0xFFFFFFFF)
    state[rows] = _rotated(state[rows] ^ (half * _P1), 23) * _P2 + _P3
    starts, sizes = starts + sizes // 4 * 4, sizes % 4
    for number in range(3):
        rows = np.flatnonzero(sizes > number)
        byte = words[starts[rows] + number] & np.uint64(0xFF)
        state[rows] = _rotated(state[rows] ^ (byte * _P5), 11) * _P1


def _round(lane: Uint64s, word: Uint64s) -> Uint64s:
    return _rotated(lane + word * _P2, 31) * _P1


def _rotated(values: Uint64s, by: int) -> Uint64s:
    return (values << np.uint64(by)) | (values >> np.uint64(64 - by))
