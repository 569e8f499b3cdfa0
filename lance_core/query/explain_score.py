"""`explain_score`: how the score of a row of a text search is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lance_core.dataset.read.planned_scan import scan_table
from lance_core.dataset.read.ranking.explain_row import explain_row, is_live
from lance_core.dataset.read.ranking.plan_ranking import plan_ranked
from lance_core.dataset.read.scan_options import ScanOptions
from lance_core.dataset.read.sources.row_locations import addresses_at, live_locations
from lance_core.errors import InvalidInputError, RowNotFoundError, RowNotMatchedError

if TYPE_CHECKING:
    from lance_core.dataset import LanceDataset
    from lance_core.dataset.snapshot.snapshot import Snapshot
    from lance_core.index.explanation import Explanation

SEARCH = "full_text_query"
"""The argument of scans whose scores are explained."""


def explain_score(
    dataset: LanceDataset,
    full_text_query: Any,
    row_id: int | None = None,
    *,
    row_address: int | None = None,
    filter: Any = None,
) -> Explanation:
    """How the ``_score`` of a row is computed: its value is this score, to the last bit.

    ``row_id`` or ``row_address``: the row, by its ``_rowid`` or its ``_rowaddr``; they differ in
    tables with stable row ids only. ``full_text_query`` and ``filter``: those of the scan. The
    filter does not have to select the row; it matters for rows that no index covers, whose score
    counts all such rows of the scan.

    Raises `RowNotFoundError` if there is no such row, `RowNotMatchedError` if it does not match the
    query, `InvalidInputError`, and `PluginNotFoundError` without the extra ``text``.
    """
    snapshot = dataset.snapshot
    address = _address(snapshot, row_id, row_address)
    options = ScanOptions(filter=filter, other_search=(SEARCH, full_text_query))
    scan = plan_ranked(snapshot, options, scan_table)
    found = explain_row(snapshot, scan.plan, scan.query, address)
    if found is None:
        raise RowNotMatchedError(f"the row at address {address} does not match the query")
    return found


def _address(snapshot: Snapshot, row_id: int | None, row_address: int | None) -> int:
    """The address of the row; raises `RowNotFoundError` if it does not exist or is deleted."""
    given = row_address if row_id is None else row_id
    if (row_id is None) == (row_address is None) or not _is_number(given):
        raise InvalidInputError(
            "one of row_id and row_address must be the number of a row, got "
            f"{row_id!r} and {row_address!r}"
        )
    address = int(given)  # type: ignore[arg-type]  # checked above
    if row_id is not None and snapshot.manifest.uses_stable_row_ids:
        places = live_locations(snapshot, np.array([address], np.uint64))
        if places[0] < 0:
            raise RowNotFoundError(f"the table has no row with the id {row_id}")
        return int(addresses_at(snapshot, places)[0])
    if not is_live(snapshot, address):
        raise RowNotFoundError(f"the table has no row at address {address}")
    return address


def _is_number(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and 0 <= int(value) < 1 << 64
