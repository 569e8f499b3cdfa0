"""Many ``RowAddrTreeMap`` blobs at once, without an object for each of them.

See `lance_core.table.indices.row_set` for the layout of a blob and
`lance_core.table.indices.roaring` for that of its bitmaps. A blob here has *entries*, one for each
upper half of its row numbers, and an entry has *containers*, one for each 16 bits above the lowest
16. Only arrays and bitsets are written, as other writers do. All parts of a blob have a multiple
of 2 bytes, so positions count units of 2 bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.hookspecs.arrays import empty_array, from_numpy
from lance_core.hookspecs.indices import ARRAYS_COOKIE, BITSET_BYTES, MAX_ARRAY, RowNumbers, RowSet

Int64Array = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint16]
Mask = npt.NDArray[np.bool_]

BITSET_UNITS = BITSET_BYTES // 2
_BLOB_HEADER, _ENTRY_HEADER, _BITMAP_HEADER, _CONTAINER_HEADER, _CONTAINER_OFFSET = 2, 4, 4, 2, 2
# Sizes in units of 2 bytes.


class RowGroups(NamedTuple):
    """Adjacent sets of rows: first ``counts[0]`` of ``rows``, then ``counts[1]``, and so on."""

    counts: Int64Array
    rows: RowNumbers


NO_GROUPS = RowGroups(np.zeros(0, np.int64), np.zeros(0, np.uint64))
"""No sets."""


def spread(counts: Int64Array) -> Int64Array:
    """The number of the group of each member of groups with ``counts`` members."""
    return np.repeat(np.arange(len(counts)), counts)


def begins(counts: Int64Array) -> Int64Array:
    """Where each of adjacent groups with ``counts`` members begins."""
    return np.cumsum(counts) - counts


class _Layout(NamedTuple):
    """The parts of adjacent blobs: ``entries`` per blob, ``containers`` per entry, and their sizes.

    ``chunks``: the row numbers of each container without their lowest 16 bits. ``sizes``: the rows
    in each container.
    """

    entries: Int64Array
    containers: Int64Array
    chunks: RowNumbers
    sizes: Int64Array

    @classmethod
    def of(cls, groups: RowGroups) -> _Layout:
        firsts = begins(groups.counts)
        chunks = groups.rows >> np.uint64(16)
        container_firsts = _first_of_runs(chunks, firsts)
        chunks = chunks[container_firsts]
        blob_firsts = np.searchsorted(container_firsts, firsts)
        entry_firsts = _first_of_runs(chunks >> np.uint64(16), blob_firsts)
        return cls(
            np.diff(np.searchsorted(entry_firsts, blob_firsts), append=len(entry_firsts)),
            np.diff(entry_firsts, append=len(chunks)),
            chunks,
            np.diff(container_firsts, append=len(groups.rows)),
        )


def encode_blobs(groups: RowGroups) -> pa.Array:
    """A blob (binary) for each group, which is not empty and whose rows ascend strictly.

    Together they must have less than 2 GiB.
    """
    if not len(groups.counts):
        return empty_array(pa.binary())
    entries, containers, chunks, sizes = _Layout.of(groups)
    units = np.where(sizes > MAX_ARRAY, BITSET_UNITS, sizes)
    entry_firsts = begins(containers)
    headers = _CONTAINER_HEADER + _CONTAINER_OFFSET
    bitmap_units = _BITMAP_HEADER + np.add.reduceat(units + headers, entry_firsts)
    entry_units = bitmap_units + _ENTRY_HEADER
    blob_units = np.add.reduceat(entry_units, begins(entries)) + _BLOB_HEADER
    blob_begins = begins(blob_units)
    entry_begins = begins(entry_units) + _BLOB_HEADER * (spread(entries) + 1)

    target = np.zeros(int(blob_units.sum()), "<u2")
    _put(target, blob_begins, entries)
    _put(target, entry_begins, chunks[entry_firsts] >> np.uint64(16))
    _put(target, entry_begins + 2, bitmap_units * 2)
    bitmap_begins = entry_begins + _ENTRY_HEADER
    _put(target, bitmap_begins, np.full(len(containers), ARRAYS_COOKIE))
    _put(target, bitmap_begins + 2, containers)
    entry = spread(containers)
    ordinal = np.arange(len(entry)) - entry_firsts[entry]
    header = bitmap_begins[entry] + _BITMAP_HEADER + _CONTAINER_HEADER * ordinal
    target[header] = chunks.astype(np.uint16)
    target[header + 1] = (sizes - 1).astype(np.uint16)
    # Where the data of a container begins in its bitmap: after all headers and the data before it.
    before = begins(units)
    data = _BITMAP_HEADER + headers * containers[entry] + before - before[entry_firsts][entry]
    offset = header + _CONTAINER_HEADER * (containers[entry] - ordinal) + 2 * ordinal
    _put(target, offset, data * 2)
    _put_values(target, groups.rows.astype(np.uint16), bitmap_begins[entry] + data, sizes)
    offsets = np.append(blob_begins, len(target)) * 2
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(target)]
    return pa.Array.from_buffers(pa.binary(), len(groups.counts), buffers)


def _first_of_runs(values: RowNumbers, firsts: Int64Array) -> Int64Array:
    """Where a value differs from the one before it, or a group begins (``firsts``)."""
    starts = np.empty(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    starts[firsts] = True
    return np.flatnonzero(starts)


def _put(target: Units, positions: Int64Array, numbers: npt.NDArray[np.integer[Any]]) -> None:
    """Write 32-bit ``numbers``."""
    wide = numbers.astype(np.uint32)
    target[positions] = wide.astype(np.uint16)
    target[positions + 1] = (wide >> np.uint32(16)).astype(np.uint16)


def _put_values(target: Units, low: Units, positions: Int64Array, sizes: Int64Array) -> None:
    """Write the containers of ``sizes`` adjacent numbers of ``low`` at ``positions``."""
    firsts = begins(sizes)
    large = np.flatnonzero(sizes > MAX_ARRAY)
    if not len(large):
        target[np.arange(len(low)) + np.repeat(positions - firsts, sizes)] = low
        return
    for number in large.tolist():
        bits = np.zeros(BITSET_BYTES * 8, np.uint8)
        bits[low[firsts[number] : firsts[number] + sizes[number]]] = 1
        position = positions[number]
        packed = np.packbits(bits, bitorder="little").view("<u2")
        target[position : position + len(packed)] = packed
    small = np.flatnonzero(sizes <= MAX_ARRAY)
    if len(small):
        chosen = np.repeat(sizes <= MAX_ARRAY, sizes)
        _put_values(target, low[chosen], positions[small], sizes[small])


def decode_blobs(blobs: pa.Array) -> RowGroups:
    """The rows of each of ``blobs`` (binary, no nulls), ascending.

    Fast for blobs that have arrays only, thus are small; the others are decoded one by one. Raises
    `CorruptFileError` for other bytes.
    """
    if not len(blobs):
        return NO_GROUPS
    fast, groups = _decode_arrays(blobs)
    if fast.all():
        return groups
    others = np.flatnonzero(~fast).tolist()
    slow = [RowSet.from_tree_map(blobs[number].as_py()).numbers() for number in others]
    counts = np.zeros(len(blobs), np.int64)
    counts[fast] = groups.counts
    counts[others] = [len(rows) for rows in slow]
    rows = np.empty(int(counts.sum()), np.uint64)
    rows[np.repeat(fast, counts)] = groups.rows
    for first, rows_of_blob in zip(begins(counts)[others].tolist(), slow, strict=True):
        rows[first : first + len(rows_of_blob)] = rows_of_blob
    return RowGroups(counts, rows)


class _Entries(NamedTuple):
    """Entries in the order of their blobs: the blob, where the bitmap begins, and its units."""

    blob: Int64Array
    bitmap: Int64Array
    units: Int64Array


def _decode_arrays(blobs: pa.Array) -> tuple[Mask, RowGroups]:
    """Which blobs are valid and have array containers only, and the rows of these."""
    fast = np.ones(len(blobs), np.bool_)
    offsets = np.frombuffer(blobs.buffers()[1], np.int32, len(blobs) + 1, blobs.offset * 4)
    begin, end = int(offsets[0]), int(offsets[-1])
    if ((offsets - begin) % 2).any():
        return ~fast, NO_GROUPS
    units = np.frombuffer(blobs.buffers()[2] or b"", "<u2", (end - begin) // 2, begin)
    # Reading beyond the end of the last blob gives zeros, which no check accepts.
    units = np.append(units, np.zeros(_ENTRY_HEADER + _BITMAP_HEADER, np.uint16))
    entries = _entries(units, ((offsets - begin) // 2).astype(np.int64), fast)
    _check_containers(units, entries, fast)
    if fast.all():
        groups = _rows_of_arrays(units, entries, fast)
        if fast.all():
            return fast, groups
    if not fast.any():
        return fast, NO_GROUPS
    # The others are decoded again without those that are not fast.
    still, groups = _decode_arrays(blobs.filter(from_numpy(fast)))
    fast[np.flatnonzero(fast)[~still]] = False
    return fast, groups


def _check_containers(units: Units, entries: _Entries, fast: Mask) -> None:
    """Remove the blobs from ``fast`` whose containers are not arrays of the size of the bitmap."""
    containers = _get(units, entries.bitmap + 2)
    plain = _get(units, entries.bitmap) == ARRAYS_COOKIE
    plain &= (containers > 0) & (_BITMAP_HEADER + 5 * containers <= entries.units)
    fast[entries.blob[~plain]] = False
    if not fast.all():
        return
    entry, header = _container_headers(entries, containers)
    numbers = units[header + 1].astype(np.int64) + 1
    counts = np.bincount(entry, numbers, len(containers)).astype(np.int64)
    wrong = counts + _BITMAP_HEADER + 4 * containers != entries.units
    wrong[entry[numbers > MAX_ARRAY]] = True
    fast[entries.blob[wrong]] = False


def _container_headers(entries: _Entries, containers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """For each container its entry, and where its header is."""
    entry = spread(containers)
    ordinal = np.arange(len(entry)) - begins(containers)[entry]
    return entry, entries.bitmap[entry] + _BITMAP_HEADER + _CONTAINER_HEADER * ordinal


def _rows_of_arrays(units: Units, entries: _Entries, fast: Mask) -> RowGroups:
    """The rows of blobs that `_check_containers` accepts; removes unordered ones from ``fast``."""
    containers = _get(units, entries.bitmap + 2)
    entry, header = _container_headers(entries, containers)
    high = _get(units, entries.bitmap - _ENTRY_HEADER).astype(np.uint64) << np.uint64(32)
    chunk = high[entry] | (units[header].astype(np.uint64) << np.uint64(16))
    # The arrays of an entry are adjacent, after its headers.
    header_units = _BITMAP_HEADER + (_CONTAINER_HEADER + _CONTAINER_OFFSET) * containers
    sizes = entries.units - header_units
    position = np.arange(int(sizes.sum()))
    position += np.repeat(entries.bitmap + header_units - begins(sizes), sizes)
    rows = np.repeat(chunk, units[header + 1].astype(np.int64) + 1) | units[position]
    for numbers, owners in (
        (rows, np.repeat(entries.blob, sizes)),
        (chunk, entries.blob[entry]),
        (high, entries.blob),
    ):
        fast[owners[_descends(numbers, owners)]] = False
    return RowGroups(np.bincount(entries.blob, sizes, len(fast)).astype(np.int64), rows)


def _descends(numbers: RowNumbers, owners: Int64Array) -> Int64Array:
    """Where a number is not above the one before it of the same owner."""
    return np.flatnonzero((numbers[1:] <= numbers[:-1]) & (owners[1:] == owners[:-1])) + 1


def _entries(units: Units, edges: Int64Array, fast: Mask) -> _Entries:
    """The entries of blobs that begin and end at ``edges``; removes invalid ones from ``fast``."""
    stops = edges[1:]
    fast &= stops - edges[:-1] > _BLOB_HEADER
    blob = np.flatnonzero(fast)
    position = edges[:-1][blob]
    left = _get(units, position)
    fast[blob[left == 0]] = False
    position = position + _BLOB_HEADER
    entries = [np.zeros((3, 0), np.int64)]
    # All blobs step to their next entries together.
    while True:
        going = left > 0
        blob, position, left = blob[going], position[going], left[going]
        if not len(blob):
            break
        fits = position + _ENTRY_HEADER + _BITMAP_HEADER <= stops[blob]
        size = np.where(fits, _get(units, np.where(fits, position + 2, 0)), 1)
        position = position + _ENTRY_HEADER
        fits &= (size % 2 == 0) & (size > 2 * _BITMAP_HEADER)
        fits &= position + size // 2 <= stops[blob]
        fits &= (left > 1) | (position + size // 2 == stops[blob])
        fast[blob[~fits]] = False
        blob, position, left, size = blob[fits], position[fits], left[fits], size[fits] // 2
        entries.append(np.stack([blob, position, size]))
        position, left = position + size, left - 1
    blob, position, size = np.concatenate(entries, axis=1)
    order = np.argsort(position)
    return _Entries(blob[order], position[order], size[order])


def _get(units: Units, positions: Int64Array) -> Int64Array:
    """The 32-bit numbers at ``positions``."""
    return units[positions] | (units[positions + 1].astype(np.int64) << 16)
