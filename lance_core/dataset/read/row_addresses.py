"""Find the rows that users select by position, address or id."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import numpy as np

from lance_core.dataset.read.live_rows import live
from lance_core.dataset.read.take import (
    FragmentPositions,
    Indices,
    Int64Array,
    as_indices,
    by_position,
    check_below,
    distinct,
    runs,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_ids import RowIdSequence


class Selector(enum.Enum):
    """The meaning of a number that selects a row."""

    INDICES = "indices"
    """The row's position among the live rows of the table."""
    ADDRESSES = "addresses"
    """The row address: ``fragment id << 32 | offset in the fragment``."""
    IDS = "ids"
    """The row's ``_rowid``: the address, unless the table has stable row ids."""


def picks_of(
    snapshot: Snapshot, selector: Selector, rows: Indices
) -> tuple[list[FragmentPositions], Int64Array]:
    """The distinct rows by fragment, and for each requested row its index among them.

    Raises `InvalidInputError` for a row that does not exist or is deleted.
    """
    wanted = as_indices(rows)
    if selector is Selector.IDS and snapshot.manifest.uses_stable_row_ids:
        wanted = _addresses_of(snapshot, wanted)
    numbers, order = distinct(wanted)
    if selector is Selector.INDICES:
        check_below(snapshot.num_rows, numbers, "the table")
        picks = list(by_position(snapshot, numbers))
    else:
        picks = list(_by_address(snapshot, numbers))
    return picks, np.arange(len(wanted)) if order is None else order


def _by_address(snapshot: Snapshot, addresses: Int64Array) -> Iterator[FragmentPositions]:
    """The rows at ascending addresses, by fragment."""
    for fragment_id, part in runs(addresses >> 32, addresses):
        if fragment_id not in snapshot.fragment_positions:
            raise InvalidInputError(f"there is no row at address {part[0]}")
        fragment = snapshot.fragment(fragment_id)
        offsets = part & 0xFFFFFFFF
        _check_live(snapshot, fragment, offsets)
        yield FragmentPositions(fragment, offsets)


def _check_live(snapshot: Snapshot, fragment: Fragment, offsets: Int64Array) -> None:
    deleted = snapshot.deleted_offsets(fragment)
    wrong = offsets >= snapshot.physical_rows(fragment)
    if deleted is not None:
        wrong |= np.isin(offsets, deleted)
    if wrong.any():
        offset = int(offsets[np.argmax(wrong)])
        raise InvalidInputError(f"row {offset} of fragment {fragment.id} is deleted or not there")


def _addresses_of(snapshot: Snapshot, ids: Int64Array) -> Int64Array:
    """The addresses of the rows with these stable ids."""
    wanted = np.unique(ids)
    found = np.full(len(wanted), -1, np.int64)
    for fragment in snapshot.manifest.fragments:
        if (found >= 0).all():
            break
        rows = live(snapshot, fragment, RowRange(0, snapshot.physical_rows(fragment)))
        offsets = rows.values if isinstance(rows, RowIndices) else np.arange(rows.start, rows.stop)
        here = _ids_at(snapshot, fragment, offsets)
        places = np.searchsorted(wanted, here)
        places[places == len(wanted)] = 0
        hits = wanted[places] == here if len(wanted) else np.zeros(0, np.bool_)
        found[places[hits]] = (fragment.id << 32) + offsets[hits]
    if (found < 0).any():
        raise InvalidInputError(f"row id {wanted[np.argmax(found < 0)]} is deleted or not there")
    return found[np.searchsorted(wanted, ids)]


def _ids_at(snapshot: Snapshot, fragment: Fragment, offsets: Int64Array) -> Int64Array:
    if not isinstance(fragment.row_ids, bytes):
        raise UnsupportedFeatureError(
            f"fragment {fragment.id} has no row ids, or they are not in the manifest"
        )
    sequence = RowIdSequence.from_bytes(fragment.row_ids, snapshot.physical_rows(fragment))
    return sequence.take(offsets).astype(np.int64)
