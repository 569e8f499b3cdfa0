"""The rows that a search may return: the live ones that satisfy the filter of its scan.

Testing a filter for all rows takes longer than most searches, and many searches have the same one,
such as the documents of one customer: each version remembers the rows of the last filters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from lance_core.concurrency.lru_cache import LruCache
from lance_core.dataset.read import scan
from lance_core.dataset.read.columns.projection import ROW_ADDRESS, select
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.encodings.arrow.numpy_values import to_numpy
from lance_core.table.indices.row_flags import RowFlags

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import RowExpression
    from lance_core.dataset.read.plan import ScanPlan
    from lance_core.dataset.snapshot.snapshot import Snapshot

_Key = tuple[int, tuple[int, ...]]
"""The id of a planned condition, and the fragments of the scan."""


class _Matches(NamedTuple):
    """The rows that satisfy ``condition``, which has to stay alive while its id is a key."""

    condition: RowExpression
    rows: RowFlags

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes


class _Filters:
    """The filters of the last searches of a version: all of them, and those with known rows."""

    def __init__(self) -> None:
        limits = tuning().ranking
        self.seen: LruCache[_Key, RowExpression] = LruCache(limits.seen_filters)
        self.known: LruCache[_Key, _Matches] = LruCache(
            limits.remembered_bytes, lambda matches: matches.nbytes
        )


class FilterRows:
    """The rows of ``plan``, a scan of fragments that has a filter or a mask.

    ``are_tested``: True if nothing but a filter decides, which is tested for all rows of whole
    fragments. A text of SQL is planned once, unless its value depends on the time: equal texts have
    the same condition. Other conditions are new ones each time. Where reads are measured, nothing
    is remembered.
    """

    def __init__(self, snapshot: Snapshot, plan: ScanPlan) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self.are_tested = _are_tested(snapshot, plan)
        condition = plan.filter
        self._condition: RowExpression | None = None
        if self.are_tested and condition is not None and plan.metrics is None:
            self._condition = condition.condition
            self._key = id(self._condition), tuple([span.fragment.id for span in plan.spans])

    @property
    def are_known(self) -> bool:
        """True if the filter need not be tested."""
        return self._condition is not None and self._key in self._filters.known

    @property
    def are_repeated(self) -> bool:
        """True if a search before had the same filter, see `note`."""
        return self._condition is not None and self._key in self._filters.seen

    def note(self) -> None:
        """Let later searches know that one had this filter."""
        condition = self._condition
        if condition is not None:
            self._filters.seen.get(self._key, lambda: condition)

    def flags(self) -> RowFlags:
        """The rows."""
        condition = self._condition
        if condition is None:
            return self._scanned()
        known = self._filters.known
        return known.get(self._key, lambda: _Matches(condition, self._scanned())).rows

    @property
    def _filters(self) -> _Filters:
        caches = self._snapshot.caches
        filters: _Filters | None = caches.get(_Filters)
        return caches.setdefault(_Filters, _Filters()) if filters is None else filters

    def _scanned(self) -> RowFlags:
        snapshot, plan = self._snapshot, self._plan
        sizes = {span.fragment.id: snapshot.physical_rows(span.fragment) for span in plan.spans}
        parts: Iterable[tuple[int, npt.NDArray[Any]]]
        if plan.mask is None:
            parts = ((fragment.id, rows) for fragment, rows in scan.matching(snapshot, plan))
        else:
            projection = select(plan.schema, [ROW_ADDRESS])
            plan = replace(plan, projection=projection, limit=None, offset=0)
            batches = (to_numpy(batch.column(0)) for batch in scan.scan_batches(snapshot, plan))
            parts = (
                (int(addresses[0]) >> 32, addresses & 0xFFFFFFFF)
                for addresses in batches
                if len(addresses)
            )
        return RowFlags.of(sizes, parts)


def _are_tested(snapshot: Snapshot, plan: ScanPlan) -> bool:
    rows = plan.rows
    if not isinstance(rows, SpanRows) or rows.are_chosen or rows.filter is None:
        return False
    return plan.mask is None and all(
        span.chosen is None
        and span.start == 0
        and span.stop == snapshot.physical_rows(span.fragment)
        for span in rows.spans
    )
