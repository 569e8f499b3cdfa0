"""`explain_score`: how the score of a row of a text search is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lance_core import LanceDataset
from lance_core.errors import InvalidInputError, RowNotFoundError, RowNotMatchedError
from lance_core_text.queries.explained_search import ExplainedSearch
from lance_core_text.scoring.explanation import Explanation


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
    query, and `InvalidInputError`.
    """
    address = _address(dataset, row_id, row_address)
    search = ExplainedSearch(full_text_query, address)
    # An index explains the only row that a scan allows; others need all rows for their statistics.
    dataset.to_table(columns=[], full_text_query=search, filter=f"_rowaddr = {address}")
    if search.needs_all_rows():
        dataset.to_table(columns=[], full_text_query=search, filter=filter)
    explanation = search.explanation()
    if explanation is None:
        raise RowNotMatchedError(f"the row at address {address} does not match the query")
    return explanation


def _address(dataset: LanceDataset, row_id: int | None, row_address: int | None) -> int:
    """The address of the row; raises `RowNotFoundError` if it does not exist or is deleted."""
    number = row_address if row_id is None else row_id
    if (row_id is None) == (row_address is None) or not _is_number(number):
        raise InvalidInputError(
            "one of row_id and row_address must be the number of a row, got "
            f"{row_id!r} and {row_address!r}"
        )
    name, what = ("_rowaddr", "at address") if row_id is None else ("_rowid", "with the id")
    rows = dataset.to_table(columns=["_rowaddr"], filter=f"{name} = {number}")
    if not rows.num_rows:
        raise RowNotFoundError(f"the table has no row {what} {number}")
    return int(rows.column("_rowaddr")[0].as_py())


def _is_number(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and 0 <= int(value) < 1 << 64
