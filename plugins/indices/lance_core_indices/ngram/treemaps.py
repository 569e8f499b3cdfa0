"""Serialise many sets of row numbers at once, each as a ``RoaringTreemap``.

`lance_core.table.indices.row_set` describes the form. A Roaring bitmap without run containers is
its cookie (32 bits), the number of its containers (32 bits), for each container the upper 16 bits
of its numbers and their count - 1 (16 bits each), for each container the offset of its data (32
bits) from the start of the bitmap, and the data: up to 4096 numbers are stored as their lower 16
bits, and more as a bit for each possible one. All of it consists of 16-bit units.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_COOKIE = 12346
_MAX_ARRAY = 4096
"""Maximum numbers of a container that lists them."""

_BITSET_UNITS = 4096
_COUNT_UNITS = 4
"""The number of entries, before the entries."""

_FIXED_UNITS = 6
"""The upper half of an entry, and the cookie and the number of containers of its bitmap."""

_HALF = np.uint64(16)

Ints: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.uint16]


class _Groups(NamedTuple):
    """Consecutive runs: their first positions, and how many positions each has."""

    starts: Ints
    counts: Ints


class _Layout(NamedTuple):
    """Where blobs, entries and the data of containers start, in units; the last is the end."""

    blobs: Ints
    entries: Ints
    data: Ints


def treemaps(
    tokens: npt.NDArray[np.uint32], rows: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint32], pa.Array]:
    """For each different token, ascending, the set of its rows as a ``RoaringTreemap``.

    Pairs of token and row ascend strictly.
    """
    keys = (rows >> _HALF).astype(np.int64)
    containers = _groups(tokens, keys)
    keys, owners = keys[containers.starts], tokens[containers.starts]
    entries = _groups(owners, keys >> 16)
    blobs = _groups(owners[entries.starts])
    layout = _layout(containers, entries, blobs)
    units = np.zeros(int(layout.blobs[-1]), np.dtype("<u2"))
    _put_long(units, layout.blobs[:-1], blobs.counts)
    _put_long(units, layout.entries, keys[entries.starts] >> 16)
    _put_long(units, layout.entries + 2, _COOKIE)
    _put_long(units, layout.entries + 4, entries.counts)
    _put_headers(units, layout, entries, keys, containers.counts)
    _put_data(units, layout.data, containers, rows.astype(np.uint16))
    offsets = pa.py_buffer((2 * layout.blobs).astype(np.int32))
    blob_array = pa.Array.from_buffers(
        pa.binary(), len(blobs.starts), [None, offsets, pa.py_buffer(units)]
    )
    return owners[entries.starts][blobs.starts], blob_array


def _groups(*columns: npt.NDArray[Any]) -> _Groups:
    """The runs of positions in which all columns are constant."""
    size = len(columns[0])
    changes = np.zeros(max(size - 1, 0), np.bool_)
    for column in columns:
        changes |= column[1:] != column[:-1]
    starts = np.concatenate([np.zeros(min(size, 1), np.int64), np.flatnonzero(changes) + 1])
    return _Groups(starts, np.diff(starts, append=size))


def _layout(containers: _Groups, entries: _Groups, blobs: _Groups) -> _Layout:
    data_units = np.where(containers.counts <= _MAX_ARRAY, containers.counts, _BITSET_UNITS)
    data_ends = np.cumsum(data_units)
    header_units = _FIXED_UNITS + 4 * entries.counts
    header_ends = np.cumsum(header_units)
    number = np.arange(len(entries.starts))
    counts_before = _COUNT_UNITS * (1 + np.repeat(np.arange(len(blobs.starts)), blobs.counts))
    data_before = (data_ends - data_units)[entries.starts]
    entry_starts = header_ends - header_units + counts_before + data_before
    owner = np.repeat(number, entries.counts)
    data_starts = header_ends[owner] + counts_before[owner] + data_ends - data_units
    end = (header_ends[-1:] + data_ends[-1:]).sum() + _COUNT_UNITS * len(blobs.starts)
    blob_starts = entry_starts[blobs.starts] - _COUNT_UNITS
    return _Layout(np.append(blob_starts, end), entry_starts, data_starts)


def _put_long(units: Units, positions: Ints, values: Ints | int) -> None:
    units[positions] = np.bitwise_and(values, 0xFFFF)
    units[positions + 1] = np.right_shift(values, 16)


def _put_headers(units: Units, layout: _Layout, entries: _Groups, keys: Ints, counts: Ints) -> None:
    starts = np.repeat(layout.entries, entries.counts)
    before = np.repeat(entries.starts, entries.counts)
    targets = starts + _FIXED_UNITS + 2 * (np.arange(len(keys)) - before)
    units[targets] = keys & 0xFFFF
    units[targets + 1] = counts - 1
    bitmap_starts = starts + 2
    offset_places = targets + 2 * np.repeat(entries.counts, entries.counts)
    _put_long(units, offset_places, 2 * (layout.data - bitmap_starts))


def _put_data(units: Units, positions: Ints, containers: _Groups, low: Units) -> None:
    listed = containers.counts <= _MAX_ARRAY
    target = np.repeat(positions - containers.starts, containers.counts) + np.arange(len(low))
    if listed.all():
        units[target] = low
        return
    among = np.repeat(listed, containers.counts)
    units[target[among]] = low[among]
    for number in np.flatnonzero(~listed).tolist():
        start, position = int(containers.starts[number]), int(positions[number])
        bits = np.zeros(1 << 16, np.bool_)
        bits[low[start : start + int(containers.counts[number])]] = True
        packed = np.packbits(bits, bitorder="little")
        units[position : position + _BITSET_UNITS] = packed.view(units.dtype)
