"""`ExplainedSearch`: a search that explains the score of one row while scans answer it."""

from __future__ import annotations

from typing import Any

from lance_core.hookspecs.searches import RankedQuery
from lance_core_text.queries.compound import CompoundQuery
from lance_core_text.queries.text_query import ExplainedRow, TextQuery
from lance_core_text.scoring.explanation import Explanation


class ExplainedSearch:
    """The argument ``full_text_query`` of two scans: one of the row at ``address``, one of all."""

    def __init__(self, query: Any, address: int) -> None:
        self.query = query
        self._address = address
        self._rows: list[ExplainedRow] = []
        self.root: RankedQuery | None = None
        """What the search makes of ``query``, once it has."""

    def observe(self, query: RankedQuery) -> RankedQuery:
        """``query``, whose parts explain the score of the row."""
        if isinstance(query, TextQuery):
            self._rows.append(ExplainedRow(self._address))
            return query.explaining(self._rows[-1])
        query.parts = [self.observe(part) for part in query.parts]
        return query

    def needs_all_rows(self) -> bool:
        """True after the first scan, if no index has the row for each part."""
        for row in self._rows:
            row.is_alone = False
        return not all(row.is_in_index for row in self._rows)

    def explanation(self) -> Explanation | None:
        """How the score is computed; None if the row does not match."""
        assert self.root is not None
        return _explanation(self.root)


def _explanation(query: RankedQuery) -> Explanation | None:
    if isinstance(query, TextQuery):
        assert query.row is not None
        return query.row.explanation
    assert isinstance(query, CompoundQuery)
    return query.explained_by_parts([_explanation(part) for part in query.parts])
