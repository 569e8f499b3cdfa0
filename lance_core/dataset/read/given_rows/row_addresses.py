"""Find the rows that users select by position, address or id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.dataset.read.columns.projection import Projection
from lance_core.dataset.read.given_rows.take import gather
from lance_core.dataset.read.sources.row_locations import (
    Selector,
    are_live,
    by_location,
    locations_of,
)
from lance_core.dataset.read.sources.row_positions import (
    FragmentPositions,
    Indices,
    Int64Array,
    as_indices,
    by_position,
    check_below,
    distinct,
)
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import InvalidInputError


def picks_of(
    snapshot: Snapshot, selector: Selector, rows: Indices
) -> tuple[list[FragmentPositions], Int64Array]:
    """The distinct rows by fragment, and for each requested row its index among them.

    Raises `InvalidInputError` for a row that does not exist or is deleted.
    """
    requested = as_indices(rows)
    if selector is Selector.INDICES:
        numbers, order = distinct(requested)
        check_below(snapshot.num_rows, numbers, "the table")
        picks = list(by_position(snapshot, numbers))
    else:
        locations = locations_of(snapshot, selector, requested)
        if (locations < 0).any():
            raise InvalidInputError(
                f"row id {requested[locations < 0][0]} is deleted or does not exist"
            )
        numbers, order = distinct(locations)
        picks = list(by_location(snapshot, numbers))
        for pick, is_live in zip(picks, are_live(snapshot, picks), strict=True):
            if not is_live.all():
                offset = pick.offsets[np.argmin(is_live)]
                raise InvalidInputError(
                    f"row {offset} of fragment {pick.fragment.id} is deleted or does not exist"
                )
    return picks, np.arange(len(requested)) if order is None else order


def take_ids(
    snapshot: Snapshot, ids: Indices, projection: Projection, *, ignore_deletions: bool = False
) -> pa.Table:
    """The rows with these ids, in that order, without rows that do not exist or are deleted.

    ``ignore_deletions``: skip the search for deleted rows, so that the result may have some. Raises
    `InvalidInputError` for an address that is not in a fragment, if ids are addresses.
    """
    locations = locations_of(snapshot, Selector.IDS, as_indices(ids), ignore_deletions)
    numbers, order = distinct(locations[locations >= 0])
    picks = list(by_location(snapshot, numbers))
    if not ignore_deletions and not snapshot.manifest.uses_stable_row_ids:
        picks, order = _without_deleted(snapshot, picks, order)
    return gather(snapshot, picks, order, projection)


def _without_deleted(
    snapshot: Snapshot, picks: list[FragmentPositions], order: Int64Array | None
) -> tuple[list[FragmentPositions], Int64Array | None]:
    """The live rows of ``picks``, and ``order`` without the others."""
    masks = are_live(snapshot, picks)
    if all(mask.all() for mask in masks):
        return picks, order
    is_live = np.concatenate(masks)
    if order is not None:
        order = (np.cumsum(is_live) - 1)[order[is_live[order]]]
    masked_picks = zip(picks, masks, strict=True)
    live = [FragmentPositions(pick.fragment, pick.offsets[mask]) for pick, mask in masked_picks]
    return [pick for pick in live if len(pick.offsets)], order
