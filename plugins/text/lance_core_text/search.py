"""`TextSearch`: the search that the argument ``full_text_query`` of a scan asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.hookspecs.options import did_you_mean
from lance_core.hookspecs.searches import RankedQuery, RankedSearch, SearchedColumns
from lance_core_text.analyzers.columns import is_list, is_text
from lance_core_text.analyzers.parameters import TextParameters
from lance_core_text.plugin import DETAILS_URL
from lance_core_text.postings.index_files import is_by_element
from lance_core_text.queries.clauses import Role
from lance_core_text.queries.compound import BestTextQuery, BooleanTextQuery, BoostTextQuery
from lance_core_text.queries.explained_search import ExplainedSearch
from lance_core_text.queries.full_text import (
    BooleanQuery,
    BoostQuery,
    CombinedFieldsQuery,
    DocumentGranularity,
    FullTextOperator,
    FullTextQuery,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lance_core_text.queries.fuzzy import Fuzziness
from lance_core_text.queries.text_query import UNINDEXED, TextQuery
from lance_core_text.queries.words import TextMatch

MAX_EDITS = 8
"""Edits of fuzzy words at most: more would match nearly all terms."""

MAX_DEPTH = 32
"""The depth of queries in queries."""


class TextSearch(RankedSearch):
    """Makes a query of a text, of a `FullTextQuery`, or of a dictionary with one and columns."""

    def query(self, value: Any, type_of: SearchedColumns) -> RankedQuery:
        columns: Sequence[str] | None = None
        if isinstance(value, ExplainedSearch):
            if value.root is None:
                value.root = value.observe(self.query(value.query, type_of))
            return value.root
        if isinstance(value, Mapping):
            for name in value:
                if name not in ("query", "columns"):
                    known = ("query", "columns")
                    raise InvalidTypeError(
                        f"unknown key {name!r} in full_text_query{did_you_mean(str(name), known)}"
                    )
            columns, value = value.get("columns"), value.get("query")
            if isinstance(columns, str):
                raise InvalidTypeError(f"columns must be a list of strings, got {columns!r}")
        if isinstance(value, str):
            return _of_text(value, columns, type_of)
        if isinstance(value, FullTextQuery):
            if columns:
                raise InvalidInputError("columns are given with a query, which names its own")
            return _of_query(value, _Columns(type_of), 0)
        hint = ""
        if type(value).__module__.partition(".")[0] == "lance":
            hint = ": lance_core.query has the same classes"
        raise InvalidTypeError(f"full_text_query must be a text or a query, got {value!r}{hint}")


def query_parts(query: FullTextQuery) -> RankedQuery:
    """The query of a user, whatever columns it names. Raises `InvalidInputError`."""
    return _of_query(query, _Columns(None), 0)


def _of_text(text: str, columns: Sequence[str] | None, searched: SearchedColumns) -> RankedQuery:
    own = _Columns(searched)
    names = list(columns) if columns else own.indexed_by_row()
    if not names:
        raise InvalidInputError(
            "no column has a text index of its rows: create one, or name the column in a query of "
            "lance_core.query"
        )
    if len(text) > 1 and text[0] == text[-1] == '"':
        if len(names) > 1:
            raise InvalidInputError(f"name the column of a phrase, one of {', '.join(names)}")
        return _leaf(TextMatch(names[0], text[1:-1], slop=0), own)
    parts = [_leaf(TextMatch(name, text), own) for name in names]
    return parts[0] if len(parts) == 1 else BestTextQuery(parts)


def _of_query(query: FullTextQuery, columns: _Columns, depth: int) -> RankedQuery:
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"queries are nested deeper than {MAX_DEPTH}")
    if isinstance(query, MatchQuery):
        match = TextMatch(
            query.column,
            query.query,
            query.boost,
            needs_all=query.operator is FullTextOperator.AND,
            fuzziness=_fuzziness(query),
            by_element=columns.by_element(query.column, query.document_granularity),
        )
        return _leaf(match, columns)
    if isinstance(query, PhraseQuery):
        if query.slop < 0:
            raise InvalidInputError(f"slop is negative: {query.slop}")
        by_element = columns.by_element(query.column, query.document_granularity)
        match = TextMatch(query.column, query.query, slop=query.slop, by_element=by_element)
        return _leaf(match, columns)
    if isinstance(query, CombinedFieldsQuery):
        raise UnsupportedFeatureError("CombinedFieldsQuery")
    if isinstance(query, MultiMatchQuery):
        needs_all = query.operator is FullTextOperator.AND
        pairs = zip(query.columns, query.boosts, strict=True)
        parts = [
            _leaf(TextMatch(column, query.query, boost, needs_all), columns)
            for column, boost in pairs
        ]
        if not parts:
            raise InvalidInputError("a MultiMatchQuery without columns")
        if any(columns.by_element(column, None) for column in query.columns):
            raise UnsupportedFeatureError("a MultiMatchQuery of the elements of lists")
        return BestTextQuery(parts)
    if isinstance(query, BoostQuery):
        both = [_of_query(part, columns, depth + 1) for part in (query.positive, query.negative)]
        return BoostTextQuery(_alike(both), query.negative_boost)
    if isinstance(query, BooleanQuery):
        return _of_boolean(query, columns, depth)
    raise UnsupportedFeatureError(f"text queries of type {type(query).__name__}")


def _of_boolean(query: BooleanQuery, columns: _Columns, depth: int) -> RankedQuery:
    by_occur: dict[Occur, list[RankedQuery]] = {occur: [] for occur in Occur}
    for occur, part in query.queries:
        by_occur[occur].append(_of_query(part, columns, depth + 1))
    groups = (by_occur[Occur.MUST], by_occur[Occur.SHOULD], by_occur[Occur.MUST_NOT])
    if not groups[0] and not groups[1]:
        raise InvalidInputError("a boolean query must have at least one should or must query")
    parts = _alike([*groups[0], *groups[1], *groups[2]])
    is_flat = all(isinstance(part, TextQuery) and len(part.matches) == 1 for part in parts)
    if is_flat and len({part.column for part in parts}) == 1:
        roles = [role for role, own in zip(Role, groups, strict=True) for _ in own]
        pairs = zip(roles, parts, strict=True)
        matches = [(role, part.matches[0][1]) for role, part in pairs]  # type: ignore[attr-defined]
        return TextQuery(matches, columns.parameters(parts[0].column))
    counts = (len(groups[0]), len(groups[1]), len(groups[2]))
    return BooleanTextQuery(parts, counts)


def _fuzziness(query: MatchQuery) -> Fuzziness | None:
    if query.fuzziness == 0:
        return None
    numbers = (query.fuzziness or 0, query.max_expansions, query.prefix_length)
    if min(numbers) < 0 or numbers[0] > MAX_EDITS:
        raise InvalidInputError(
            f"fuzziness is up to {MAX_EDITS}, max_expansions and prefix_length are not negative; "
            f"got {numbers}"
        )
    return Fuzziness(query.fuzziness, query.max_expansions, query.prefix_length)


def _leaf(match: TextMatch, columns: _Columns) -> TextQuery:
    return TextQuery([(Role.SHOULD, match)], columns.parameters(match.column))


def _alike(parts: Sequence[RankedQuery]) -> Sequence[RankedQuery]:
    """``parts``, unless some rank rows and others elements of lists."""
    if len({part.element_name for part in parts}) > 1:
        raise InvalidInputError("a query of rows and one of the elements of lists are not combined")
    return parts


class _Columns:
    """What a query needs of the columns that it names; nothing of a table if there is none."""

    def __init__(self, searched: SearchedColumns | None) -> None:
        self._searched = searched

    def parameters(self, column: str) -> TextParameters:
        """How the texts of a column are split if no index says it; raises `InvalidInputError`."""
        if self._searched is None:
            return UNINDEXED
        data_type = self._searched(column)
        if is_text(data_type):
            return UNINDEXED
        if self._searched.is_json(column):
            return replace(UNINDEXED, lance_tokenizer="json")
        raise InvalidInputError(
            f"column {column!r} has values of type {data_type}: strings, lists of them and JSON "
            "documents are searched"
        )

    def indexed_by_row(self) -> list[str]:
        """The columns with an index whose documents are rows."""
        return [column for column, own in self._indexed().items() if False in own]

    def by_element(self, column: str, granularity: DocumentGranularity | None) -> bool:
        """True if documents are elements of lists: as ``granularity`` or else the index says.

        Raises `InvalidInputError` if there are only indices of the other granularity, of both where
        a query says none, and for elements of a column without lists.
        """
        if self._searched is None:
            return False
        indexed = self._indexed().get(self._searched.short_path(column), set())
        if granularity is None:
            if len(indexed) > 1:
                raise InvalidInputError(
                    f"column {column!r} has indices of its rows and of the elements of its lists: "
                    "give the query a document_granularity"
                )
            return True in indexed
        by_element = granularity is DocumentGranularity.LIST_ELEMENT
        data_type = self._searched(column)
        if by_element and not is_list(data_type):
            raise InvalidInputError(f"column {column!r} has no lists whose elements are searched")
        if by_element and is_list(data_type.value_type):
            raise UnsupportedFeatureError("searches for the elements of lists in lists")
        if indexed and by_element not in indexed:
            raise InvalidInputError(
                f"the text index of column {column!r} has another granularity than "
                f"{granularity.name}"
            )
        return by_element

    def _indexed(self) -> dict[str, set[bool]]:
        """By column, whether documents of its indices are elements, of rows or both."""
        assert self._searched is not None
        indexed = self._searched.indexed(DETAILS_URL)
        return {
            column: {is_by_element(details) for details in every}
            for column, every in indexed.items()
        }
