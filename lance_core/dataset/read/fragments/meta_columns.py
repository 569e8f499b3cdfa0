"""Meta columns: values that a table does not store as columns, such as row ids and addresses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lance_core.dataset.read.columns.projection import (
    CREATED_AT_VERSION,
    LAST_UPDATED_AT_VERSION,
    ROW_ADDRESS,
    ROW_ID,
    ROW_OFFSET,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.arrow.ordered_rows import AnyRows
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.fragments.fragment import Fragment, check_fragment_id
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import FIRST_VERSION, RowVersions

Uint64s = npt.NDArray[np.uint64]


def meta_column(snapshot: Snapshot, fragment: Fragment, name: str, rows: AnyRows) -> Uint64s:
    """Values of a meta column for physical ``rows``.

    ``_rowaddr`` is ``fragment id << 32 | physical offset``; ``_rowid`` is the same unless the table
    has stable row ids; ``_rowoffset`` is the position among all live rows of the table. The version
    columns are 1 in tables without stable row ids. Raises `UnsupportedFeatureError` if the manifest
    does not contain the values.
    """
    offsets = physical_offsets(rows)
    if name == ROW_ID and snapshot.manifest.uses_stable_row_ids:
        return row_ids(snapshot, fragment).take(offsets.astype(np.int64))
    if name in (ROW_ID, ROW_ADDRESS):
        check_fragment_id(fragment.id)
        return offsets + np.uint64(fragment.id << 32)
    if name in (CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION):
        return row_versions(snapshot, fragment, name).take(offsets.astype(np.int64))
    assert name == ROW_OFFSET
    start = snapshot.row_starts[snapshot.fragment_positions[fragment.id]]
    deleted = snapshot.deleted_offsets(fragment)
    before = 0 if deleted is None else np.searchsorted(deleted, offsets).astype(np.uint64)
    return (offsets - before + np.uint64(start)).astype(np.uint64)


def meta_bounds(
    snapshot: Snapshot, fragment: Fragment, name: str, start: int, stop: int
) -> tuple[int, int]:
    """The lowest and the highest value of a meta column, or values around them.

    For the physical rows ``start`` to ``stop`` (exclusive, at least one row), including deleted
    ones.
    """
    if name == ROW_ID and snapshot.manifest.uses_stable_row_ids:
        first, end = row_ids(snapshot, fragment).span
        return first, end - 1
    if name in (CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION):
        versions = row_versions(snapshot, fragment, name).versions
        return int(versions.min()), int(versions.max())
    ends = RowIndices(np.array([start, stop - 1]))
    lowest, highest = meta_column(snapshot, fragment, name, ends).tolist()
    return lowest, highest


def fragment_bounds(
    snapshot: Snapshot, name: str, first: int, stop: int
) -> tuple[Uint64s, Uint64s] | None:
    """The lowest and highest values, or values around them, in the live rows of each fragment.

    For the fragments at the positions ``first`` to ``stop`` (exclusive). Uses only row counts;
    returns None if these are not enough.
    """
    if name == ROW_OFFSET:
        starts = snapshot.row_starts[first : stop + 1]
        lowest, highest = starts[:-1], np.maximum(starts[:-1], starts[1:] - 1)
        return lowest.astype(np.uint64), highest.astype(np.uint64)
    if snapshot.manifest.uses_stable_row_ids and name != ROW_ADDRESS:
        return None
    if name not in (ROW_ID, ROW_ADDRESS):
        versions = np.full(stop - first, FIRST_VERSION, np.uint64)
        return versions, versions
    counts = snapshot.manifest.fragments.counts[first:stop]
    addresses = counts.ids.astype(np.uint64) << np.uint64(32)
    return addresses, addresses + (counts.physical_rows - 1).astype(np.uint64)


def row_ids(snapshot: Snapshot, fragment: Fragment) -> RowIdSequence:
    """The stable row ids of the fragment's physical rows."""
    data = fragment.row_ids
    if not isinstance(data, bytes):
        raise UnsupportedFeatureError(
            f"fragment {fragment.id} has no row ids, or they are not in the manifest"
        )
    count = snapshot.physical_rows(fragment)
    return snapshot.root.session.row_ids.get(data, lambda: RowIdSequence.from_bytes(data, count))


def row_versions(snapshot: Snapshot, fragment: Fragment, name: str) -> RowVersions:
    """The version that created, or last updated, each physical row."""
    created = name == CREATED_AT_VERSION
    data = fragment.created_at_versions if created else fragment.last_updated_at_versions
    count = snapshot.physical_rows(fragment)
    if data is None or not snapshot.manifest.uses_stable_row_ids:
        return RowVersions.uniform(count, FIRST_VERSION)
    if not isinstance(data, bytes):
        raise UnsupportedFeatureError(
            f"the row versions of fragment {fragment.id} are not in the manifest"
        )
    return snapshot.root.session.row_versions.get(data, lambda: RowVersions.from_bytes(data, count))


def physical_offsets(rows: AnyRows) -> Uint64s:
    """The offsets of ``rows`` as an array."""
    if isinstance(rows, RowRange):
        return np.arange(rows.start, rows.stop, dtype=np.uint64)
    return rows.numbers.astype(np.uint64)
