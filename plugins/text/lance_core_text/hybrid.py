"""`hybrid`: one list of rows from a vector search and a text search, by reciprocal ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core import LanceDataset
from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.arrays import from_numpy, to_numpy
from lance_core_text.queries.text_query import DOCUMENT_INDEX

DISTANCE = "_distance"
SCORE = "_score"
RELEVANCE = "_relevance"
"""The column with the sum of reciprocal ranks."""

_ROW_ID = "_rowid"

RowIds = npt.NDArray[np.uint64]


def hybrid(  # noqa: PLR0913  # the arguments of two scans
    dataset: LanceDataset,
    *,
    nearest: Mapping[str, Any],
    full_text_query: Any,
    k: int = 10,
    columns: list[str] | None = None,
    filter: Any = None,
    candidates: int | None = None,
    constant: float = 60.0,
) -> pa.Table:
    """The ``k`` rows that two searches together rank best.

    A row gets ``1 / (constant + rank)`` from each search that returns it, with ranks from 1 on; the
    sum is its ``_relevance``. Rows of equal sums ascend by their ids. ``_distance`` and ``_score``
    are those of the searches, null where one does not return the row. ``nearest`` and
    ``full_text_query``: the arguments of scans, for one query vector; the ``k`` of ``nearest`` is
    not used. ``filter``:
    chooses rows before they are ranked. ``candidates``: the rows of each search; None for all,
    which is exact. ``columns``: by default all.

    Raises `InvalidInputError`, `UnsupportedFeatureError` for a text query that ranks elements of
    lists, and `PluginNotFoundError` without the plugins of both searches.
    """
    if k < 1 or constant <= 0 or (candidates is not None and candidates < k):
        raise InvalidInputError(
            f"k is at least 1, constant above 0 and candidates at least k; got {k}, {constant}, "
            f"{candidates}"
        )
    num_candidates = dataset.count_rows() if candidates is None else candidates
    common = {"filter": filter, "with_row_id": True}
    near = dataset.to_table(
        columns=[DISTANCE], nearest={**nearest, "k": max(1, num_candidates)}, **common
    )
    if "query_index" in near.column_names:
        raise InvalidInputError("nearest has several queries")
    texts = dataset.to_table(
        columns=[SCORE], full_text_query=full_text_query, limit=num_candidates, **common
    )
    if DOCUMENT_INDEX in texts.column_names:
        raise UnsupportedFeatureError("hybrid searches of the elements of lists")
    lists = [to_numpy(table.column(_ROW_ID)) for table in (near, texts)]
    rows = np.unique(np.concatenate(lists))
    relevance = np.zeros(len(rows))
    own: dict[str, pa.Array] = {}
    for name, table, ids in zip((DISTANCE, SCORE), (near, texts), lists, strict=True):
        indices = np.searchsorted(rows, ids)
        relevance[indices] += 1 / (constant + np.arange(1, len(ids) + 1))
        values = np.zeros(len(rows), np.float32)
        values[indices] = to_numpy(table.column(name))
        is_missing = np.ones(len(rows), np.bool_)
        is_missing[indices] = False
        own[name] = from_numpy(values, is_missing)
    best = np.lexsort((rows, -relevance))[:k]
    table = _rows_at(dataset, rows[best], columns)
    for name, column in own.items():
        table = table.append_column(name, column.take(from_numpy(best)))
    return table.append_column(RELEVANCE, from_numpy(relevance[best]))


def _rows_at(dataset: LanceDataset, ids: RowIds, columns: list[str] | None) -> pa.Table:
    """The rows with these ids, in this order."""
    named = f"_rowid IN ({', '.join(map(str, ids.tolist()))})" if len(ids) else "false"
    table = dataset.to_table(columns=columns, with_row_id=True, filter=named)
    order = np.argsort(to_numpy(table.column(_ROW_ID)))
    indices = order[np.argsort(np.argsort(ids))]
    return table.take(from_numpy(indices)).drop_columns([_ROW_ID])
