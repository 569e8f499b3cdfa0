"""`BitmapFile`: the open file of an index with a bitmap for each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import from_numpy, from_values
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.indices import (
    EMPTY,
    IndexFolder,
    InRange,
    RowSet,
    SortedValues,
    count_parts,
    sort_indices,
)
from lance_core_indices.bitmaps.blobs import decode_blobs
from lance_core_indices.bitmaps.build import BITMAPS, FILE_NAME, KEYS
from lance_core_indices.bitmaps.grouping import KeyedBlobs, plain_type, plain_values

Int64Array = npt.NDArray[np.int64]

MAX_CACHED_BYTES = 64 << 20
"""Bytes of bitmaps that an open index keeps."""

_BLOCK_BYTES = 16 << 20
# Bytes of blobs that are read at a time, as far as one can tell from the mean.
_MAX_SINGLE = 64
# If a query needs more bitmaps, they are neither kept nor made objects one by one,
_LARGE_BITMAP = 2048
# unless they have this many bytes on average.
_SET_BYTES = 200
# Approximate bytes of a set beside its bitmaps.


class BitmapFile:
    """The file: its values in memory, its bitmaps read when they are needed. Thread-safe.

    Values may have any order and the null any place, as in older files.
    """

    def __init__(self, folder: IndexFolder, type_: pa.DataType) -> None:
        self.kind = type_
        self.reader = folder.reader(FILE_NAME)
        self._check_schema(type_)
        keys = plain_values(self.reader.read([KEYS])[KEYS].combine_chunks())
        order = sort_indices(keys)
        self._keys = keys
        # Row numbers of the file: those of nulls, and those of the other values, ascending.
        self._nulls, self._value_rows = order[: keys.null_count], order[keys.null_count :]
        self._values = SortedValues(keys.take(from_numpy(self._value_rows)))
        size = folder.sizes.get(FILE_NAME) or 0
        self._mean = max(size // max(len(keys), 1), 32)
        self._size = size
        self._cache: LruCache[int, tuple[RowSet, int]] = LruCache(
            MAX_CACHED_BYTES, lambda entry: entry[1]
        )

    def _check_schema(self, type_: pa.DataType) -> None:
        schema = self.reader.schema
        for name, expected in ((KEYS, type_), (BITMAPS, pa.binary())):
            if name not in schema.names:
                raise CorruptFileError(f"the column {name!r} is missing", FILE_NAME)
            stored_type = schema.field(name).type
            if stored_type != expected and plain_type(stored_type) != plain_type(expected):
                raise CorruptFileError(
                    f"is {stored_type} instead of {expected}", FILE_NAME, field=name
                )

    @property
    def num_bitmaps(self) -> int:
        """The number of values, null included."""
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """Approximate bytes in memory when the cache is full."""
        cached = min(MAX_CACHED_BYTES, self._size + self.num_bitmaps * _SET_BYTES)
        return int(self._keys.nbytes + self._values.nbytes + self._value_rows.nbytes + cached)

    def null_rows(self) -> RowSet:
        """The rows whose value is null."""
        return self.union(self._nulls)

    def places_in(self, values: pa.Array) -> Int64Array:
        """Where the bitmaps of ``values`` are, without those that have none."""
        keys = plain_values(values)
        first = self._values.search(keys)
        is_stored = first < self._values.search(keys, after=True)
        return self._value_rows[np.unique(first[is_stored])]

    def places_between(self, query: InRange) -> Int64Array:
        """Where the bitmaps of the values in a range are."""
        start, stop = 0, len(self._value_rows)
        if query.lower is not None:
            start = self._bound(query.lower, after=not query.includes_lower)
        if query.upper is not None:
            stop = self._bound(query.upper, after=query.includes_upper)
        return self._value_rows[start : max(start, stop)]

    def places_with_prefix(self, prefix: str) -> Int64Array:
        """Where the bitmaps of the strings that start with ``prefix`` are."""
        lower = prefix.encode()
        # UTF-8 has no byte 0xFF, so that the last byte can be increased.
        upper = lower[:-1] + bytes([lower[-1] + 1])
        start, stop = self._values.search(from_values([lower, upper], pa.binary())).tolist()
        return self._value_rows[start:stop]

    def _bound(self, value: pa.Scalar, *, after: bool) -> int:
        array = plain_values(pa.array([value], value.type))
        return int(self._values.search(array, after=after)[0])

    def union(self, positions: Int64Array) -> RowSet:
        """The rows of all bitmaps at ``positions``."""
        if len(positions) <= _MAX_SINGLE or self._mean >= _LARGE_BITMAP:
            return RowSet.union(RowSet.union(self.sets(part)) for part in self._steps(positions))
        rows = EMPTY
        for part in self._steps(np.sort(positions)):
            with _damage_in_file():
                rows |= RowSet.of(decode_blobs(self._blobs(part)).rows)
        return rows

    def sets(self, positions: Int64Array) -> list[RowSet]:
        """The rows of each bitmap at ``positions``."""
        missing = np.unique(
            [position for position in positions.tolist() if position not in self._cache]
        )
        loaded: dict[int, tuple[RowSet, int]] = {}
        for part in self._steps(missing.astype(np.int64)):
            for position, blob in zip(part.tolist(), self._blobs(part), strict=True):
                loaded[position] = _weighted_set(blob)
        return [self._cached(position, loaded) for position in positions.tolist()]

    def _cached(self, position: int, loaded: Mapping[int, tuple[RowSet, int]]) -> RowSet:
        def make() -> tuple[RowSet, int]:
            # Another query may have removed it from the cache since it was found there.
            return loaded.get(position) or _weighted_set(self._blobs(np.array([position]))[0])

        return self._cache.get(position, make)[0]

    def _steps(
        self, positions: Int64Array, key_bytes: int = 0, block_bytes: int = _BLOCK_BYTES
    ) -> Iterator[Int64Array]:
        """Parts of ``positions`` whose blobs are read at once, with keys of about ``key_bytes``."""
        step = max(block_bytes // (self._mean + key_bytes), 1)
        return (positions[start : start + step] for start in range(0, len(positions), step))

    def _blobs(self, positions: Int64Array) -> pa.Array:
        """The blobs at ascending ``positions``."""
        count_parts(len(positions))
        if positions[-1] - positions[0] + 1 == len(positions):
            table = self.reader.read([BITMAPS], int(positions[0]), int(positions[-1]) + 1)
        else:
            table = self.reader.take(positions, [BITMAPS])
        blobs = table[BITMAPS].combine_chunks()
        if blobs.null_count:
            raise CorruptFileError("a bitmap is null", FILE_NAME, field=BITMAPS)
        return blobs

    def blocks(self, block_bytes: int = _BLOCK_BYTES) -> Iterator[KeyedBlobs]:
        """All values, ascending and null first, with their blobs.

        A block has about ``block_bytes``, as far as one can tell from the mean.
        """
        key_bytes = -(-self._keys.nbytes // max(1, self.num_bitmaps))
        positions = np.concatenate([self._nulls, self._value_rows])
        for part in self._steps(positions, key_bytes, block_bytes):
            order = np.argsort(part)
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            blobs = self._blobs(part[order]).take(from_numpy(back))
            yield KeyedBlobs(self._keys.take(from_numpy(part)), blobs)

    def prewarm(self) -> None:
        """Load bitmaps until the cache is full."""
        size = 0
        for positions in self._steps(np.arange(self.num_bitmaps)):
            self.sets(positions)
            size += len(positions) * (self._mean + _SET_BYTES)
            if size > MAX_CACHED_BYTES:
                return


def _weighted_set(blob: pa.Scalar) -> tuple[RowSet, int]:
    """A set and its approximate bytes in memory."""
    raw = blob.as_py()
    with _damage_in_file():
        return RowSet.from_tree_map(raw), len(raw) + _SET_BYTES


@contextmanager
def _damage_in_file() -> Iterator[None]:
    """Name the file and the column in the errors of damaged bitmaps."""
    try:
        yield
    except CorruptFileError as error:
        raise CorruptFileError(str(error), FILE_NAME, field=BITMAPS) from None
