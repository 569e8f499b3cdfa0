"""The locations of rows in the table, by address or id; see `RowIdIndex` for locations."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lance_core.concurrency.lru_cache import LruCache
from lance_core.concurrency.pools import IO_THREADS, in_order
from lance_core.dataset.read.fragments.meta_columns import row_ids
from lance_core.dataset.read.sources.row_positions import (
    FragmentPositions,
    Int64Array,
    distinct,
    runs,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError
from lance_core.table.row_ids.row_id_index import OFFSET_BITS, LayeredIndex


class Selector(enum.Enum):
    """The meaning of a number that selects a row."""

    INDICES = "indices"
    """The row's position among the live rows of the table."""
    ADDRESSES = "addresses"
    """The row address: ``fragment id << 32 | offset in the fragment``."""
    IDS = "ids"
    """The row's ``_rowid``: the address, unless the table has stable row ids."""


def locations_with(
    snapshot: Snapshot, selector: Selector, numbers: npt.NDArray[np.uint64]
) -> Int64Array:
    """The locations of all rows with one of these ids or addresses, including deleted rows."""
    if selector is Selector.IDS and snapshot.manifest.uses_stable_row_ids:
        candidates = row_id_index(snapshot).candidates(np.sort(numbers))
        return candidates[candidates >= 0]
    fragments = (numbers >> np.uint64(OFFSET_BITS)).tolist()
    positions = np.array([snapshot.fragment_positions.get(id_, -1) for id_ in fragments], np.int64)
    locations = (positions << OFFSET_BITS) + (numbers & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return locations[positions >= 0]


def addresses_at(snapshot: Snapshot, locations: Int64Array) -> npt.NDArray[np.uint64]:
    """The addresses of the rows at ``locations``, none of which is negative."""
    ids = snapshot.manifest.fragments.counts.ids.astype(np.uint64)
    low = (locations & 0xFFFFFFFF).astype(np.uint64)
    addresses: npt.NDArray[np.uint64] = (
        ids[locations >> OFFSET_BITS] << np.uint64(OFFSET_BITS) | low
    )
    return addresses


def live_locations(snapshot: Snapshot, ids: npt.NDArray[np.uint64]) -> Int64Array:
    """The location (`RowIdIndex`) of the live row with each of these stable ids, -1 for none."""
    distinct_ids, order = np.unique(ids, return_inverse=True)
    locations: Int64Array = _live_locations(
        snapshot, row_id_index(snapshot).candidates(distinct_ids)
    )[order]
    return locations


def locations_of(
    snapshot: Snapshot, selector: Selector, numbers: Int64Array, ignore_deletions: bool = False
) -> Int64Array:
    """The location (see `RowIdIndex`) of each row; -1 for a stable row id that no live row has."""
    if selector is Selector.IDS and snapshot.manifest.uses_stable_row_ids:
        ids, order = distinct(numbers)
        candidates = row_id_index(snapshot).candidates(ids.astype(np.uint64))
        if ignore_deletions:  # the newest row with an id is the live one
            locations: Int64Array = candidates.max(axis=0, initial=-1)
        else:
            locations = _live_locations(snapshot, candidates)
        return locations if order is None else locations[order]
    fragments, which = np.unique(numbers >> OFFSET_BITS, return_inverse=True)
    positions = [snapshot.fragment_positions.get(id_, -1) for id_ in fragments.tolist()]
    positions_of_rows: Int64Array = np.array(positions, np.int64)[which]
    if (positions_of_rows < 0).any():
        raise InvalidInputError(f"there is no row at address {numbers[positions_of_rows < 0][0]}")
    return (positions_of_rows << OFFSET_BITS) + (numbers & 0xFFFFFFFF)


def _live_locations(snapshot: Snapshot, candidates: npt.NDArray[np.int64]) -> Int64Array:
    """In each column, the location of a row that is not deleted, -1 for none.

    Looks at newer fragments first. The live row of an id is mostly in the newest one, so deletion
    files of older ones need not be read.
    """
    result = np.full(candidates.shape[1], -1, np.int64)
    left = np.arange(candidates.shape[1])
    while len(left):
        newest = candidates[:, left].max(axis=0, initial=-1)
        numbers, order = distinct(newest[newest >= 0])
        masks = are_live(snapshot, list(by_location(snapshot, numbers)))
        is_live = np.concatenate([np.empty(0, np.bool_), *masks])
        is_live = is_live if order is None else is_live[order]
        left, newest = left[newest >= 0], newest[newest >= 0]
        result[left[is_live]] = newest[is_live]
        left, newest = left[~is_live], newest[~is_live]
        deleted = candidates[:, left]
        deleted[deleted == newest] = -1
        candidates[:, left] = deleted
    return result


def by_location(snapshot: Snapshot, locations: Int64Array) -> Iterator[FragmentPositions]:
    """The rows at ascending locations by fragment; `InvalidInputError` behind the end of one."""
    for position, part in runs(locations >> OFFSET_BITS, locations):
        fragment = snapshot.manifest.fragments[position]
        offsets = part & 0xFFFFFFFF
        count = snapshot.physical_rows(fragment)
        if offsets[-1] >= count:
            raise InvalidInputError(
                f"row {offsets[-1]} does not exist: fragment {fragment.id} has {count} rows"
            )
        yield FragmentPositions(fragment, offsets)


def are_live(snapshot: Snapshot, picks: Sequence[FragmentPositions]) -> list[npt.NDArray[np.bool_]]:
    """For each of the ``picks``, which of its rows are not deleted."""

    def is_live(pick: FragmentPositions) -> npt.NDArray[np.bool_]:
        deleted = snapshot.deleted_offsets(pick.fragment)
        if deleted is None or not len(deleted):
            return np.ones(len(pick.offsets), np.bool_)
        nearest = np.minimum(np.searchsorted(deleted, pick.offsets), len(deleted) - 1)
        return np.not_equal(deleted[nearest], pick.offsets)

    if not snapshot.is_io_bound:
        return list(map(is_live, picks))
    return list(in_order(is_live, picks, IO_THREADS, is_io_bound=True))


MAX_INDEX_BYTES = 256 << 20
"""Maximum bytes of cached indices of row ids in this process."""

_Key = tuple[str, str | None, int, int | None, str]
row_id_indices: LruCache[_Key, LayeredIndex] = LruCache(
    MAX_INDEX_BYTES, lambda index: index.nbytes, made_once=True
)
"""The indices of the versions in which rows were last taken by id."""


def row_id_index(snapshot: Snapshot) -> LayeredIndex:
    """The index of the stable row ids of this version; tables that are opened again share it."""
    manifest = snapshot.manifest
    key = (
        snapshot.root.base_uri,
        manifest.branch,
        manifest.version,
        manifest.timestamp_ns,
        manifest.transaction_file,
    )
    return row_id_indices.get(key, lambda: _build_index(snapshot))


def _build_index(snapshot: Snapshot) -> LayeredIndex:
    return LayeredIndex.of(
        [row_ids(snapshot, fragment) for fragment in snapshot.manifest.fragments]
    )
