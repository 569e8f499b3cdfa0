"""`RowSource`: where the rows of a scan come from, such as fragments or the search of indices.

A source names the rows to read as spans, in the order of the result, and says which condition the
scan must test for them. A search that ranks rows takes those that it may return from a source, and
adds its order and its columns, such as a distance, to the result; see `read.ranking`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.dataset.expressions.filters import Filter
    from lance_core.dataset.read.fragments.span import Span
    from lance_core.dataset.read.scan_metrics import ScanMetrics


@dataclass(frozen=True, eq=False)
class RowSource(ABC):
    """The rows of a scan.

    ``spans``: the rows to read, before any search; ``filter``: the condition that those of the
    result satisfy. ``are_chosen``: True if the spans have only rows that a search returned, some
    of which may be deleted.
    """

    spans: Sequence[Span]
    filter: Filter | None = None
    are_chosen: bool = False

    @abstractmethod
    def sections(self, metrics: ScanMetrics | None) -> Sequence[SpanRows]:
        """The rows that a scan reads, in parts one after the other; runs the searches.

        ``metrics``: measures the searches, if not None.
        """

    @abstractmethod
    def of_spans(self, spans: Sequence[Span]) -> RowSource:
        """The same source for other spans of the table."""


@dataclass(frozen=True, eq=False)
class SpanRows(RowSource):
    """The rows of spans that satisfy a condition."""

    def sections(self, metrics: ScanMetrics | None) -> Sequence[SpanRows]:
        return [self]

    def of_spans(self, spans: Sequence[Span]) -> SpanRows:
        return SpanRows(spans, self.filter, self.are_chosen)
