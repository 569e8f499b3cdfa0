"""Group rows by value: bounded in memory, without a loop over rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core.hookspecs.indices import RowNumbers, sort_indices
from lance_core_indices.bitmaps.blobs import RowGroups, begins, encode_blobs

MAX_BLOCK_ROWS = 1 << 18
"""Rows of a block of groups, if it has several groups."""

MAX_RAW_BYTES = 64 << 20
"""Bytes of values after which the values are replaced by their positions among distinct ones."""

_INTEGERS = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


class KeyedBlobs(NamedTuple):
    """The distinct values in ascending order, null first, and for each the bytes of its rows."""

    keys: pa.Array
    blobs: pa.Array


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The value type of a dictionary type; other types unchanged."""
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def plain_values(values: pa.Array) -> pa.Array:
    """The decoded values of a dictionary array; other arrays unchanged."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def distinct_values(values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """The distinct values in any order, null as one of them, and the position of each value.

    Floats are distinguished by their bits: the two zeros and each NaN.
    """
    value_type = values.type
    if pa.types.is_null(value_type):
        return values[:1], np.zeros(len(values), np.int32)
    bits = (
        values.view(_INTEGERS[value_type.bit_width]) if pa.types.is_floating(value_type) else values
    )
    encoded = bits.dictionary_encode(null_encoding="encode")
    distinct = encoded.dictionary
    if distinct.type != value_type:
        distinct = distinct.view(value_type)
    return distinct, to_numpy(encoded.indices)


def ranked_values(values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.uint32]]:
    """The distinct values in ascending order, and the position of each value among them."""
    distinct, codes = distinct_values(values)
    return _ranked(distinct, codes)


def _ranked(
    distinct: pa.Array, codes: npt.NDArray[np.int32]
) -> tuple[pa.Array, npt.NDArray[np.uint32]]:
    order = sort_indices(distinct)
    ranks = np.empty(len(order), np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    return distinct.take(from_numpy(order)), ranks[codes]


def group_rows(ranks: npt.NDArray[np.uint32], rows: RowNumbers, count: int) -> RowGroups:
    """The rows of each of ``count`` ranks, ascending and each once."""
    if not _ascends(rows):
        order = np.argsort(rows, kind="stable")
        ranks, rows = ranks[order], rows[order]
    order = _stable_order(ranks, count)
    rows = rows[order]
    counts = np.bincount(ranks, minlength=count).astype(np.int64)
    repeated = np.zeros(len(rows), np.bool_)
    np.equal(rows[1:], rows[:-1], out=repeated[1:])
    if repeated.any():
        ranks = ranks[order]
        repeated[1:] &= ranks[1:] == ranks[:-1]
        rows, ranks = rows[~repeated], ranks[~repeated]
        counts = np.bincount(ranks, minlength=count).astype(np.int64)
    return RowGroups(counts, rows)


def _stable_order(ranks: npt.NDArray[np.uint32], count: int) -> npt.NDArray[np.int64]:
    """The stable order of ``ranks``: numpy sorts numbers of 16 bits by radix."""
    if not len(ranks) or (ranks[1:] >= ranks[:-1]).all():
        return np.arange(len(ranks))
    order = np.argsort(ranks.astype(np.uint16), kind="stable")
    if count <= 1 << 16:
        return order
    upper = (ranks >> np.uint32(16)).astype(np.uint16)[order]
    return order[np.argsort(upper, kind="stable")]


def _ascends(rows: RowNumbers) -> bool:
    return bool((rows[1:] >= rows[:-1]).all())


def encoded_blocks(keys: pa.Array, groups: RowGroups) -> Iterator[KeyedBlobs]:
    """The blobs of ``groups``, which are not empty, in blocks of a bounded number of rows."""
    firsts = begins(groups.counts)
    first = 0
    while first < len(keys):
        stop = int(np.searchsorted(firsts, firsts[first] + MAX_BLOCK_ROWS, "right")) - 1
        stop = len(keys) if len(groups.rows) - firsts[first] <= MAX_BLOCK_ROWS else stop
        stop = max(stop, first + 1)
        start = int(firsts[first])
        end = int(firsts[stop]) if stop < len(keys) else len(groups.rows)
        part = RowGroups(groups.counts[first:stop], groups.rows[start:end])
        yield KeyedBlobs(keys.slice(first, stop - first), encode_blobs(part))
        first = stop


class Grouping:
    """Collects values and their rows."""

    def __init__(self) -> None:
        self._raw: list[pa.Array] = []
        self._raw_bytes: int = 0
        self._distinct: list[pa.Array] = []
        self._codes: list[npt.NDArray[np.int32]] = []
        self._rows: list[RowNumbers] = []
        self.num_values = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the values that are collected."""
        return self._raw_bytes + sum(int(values.nbytes) for values in self._distinct)

    def add(self, values: pa.Array, rows: RowNumbers) -> None:
        """Collect values; a row may have several, but not in two calls."""
        self._raw.append(plain_values(values))
        self._raw_bytes += self._raw[-1].nbytes
        self._rows.append(rows)
        self.num_values += len(values)
        if self._raw_bytes > MAX_RAW_BYTES:
            self._encode()

    def groups(self) -> Iterator[KeyedBlobs]:
        """The groups in ascending order of values; empties this object."""
        self._encode()
        rows = np.concatenate([np.empty(0, np.uint64), *self._rows])
        if not len(rows):
            return iter(())
        distinct, codes = self._distinct[0], np.concatenate(self._codes)
        if len(self._distinct) > 1:
            # Codes count the distinct values of their own part; these parts are joined.
            counts = np.array([len(values) for values in self._distinct])
            lengths = np.array([len(values) for values in self._codes])
            distinct, joined = distinct_values(pa.concat_arrays(self._distinct))
            codes = joined[codes + np.repeat(begins(counts), lengths)]
        self._distinct, self._codes, self._rows, self.num_values = [], [], [], 0
        keys, ranks = _ranked(distinct, codes)
        return encoded_blocks(keys, group_rows(ranks, rows, len(keys)))

    def _encode(self) -> None:
        if self._raw:
            distinct, codes = distinct_values(pa.concat_arrays(self._raw))
            self._distinct.append(distinct)
            self._codes.append(codes)
            self._raw, self._raw_bytes = [], 0
