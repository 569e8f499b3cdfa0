"""`TextSearch`: the search that the argument ``full_text_query`` of a scan asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError, UnsupportedFeatureError
from lance_core.hookspecs.options import did_you_mean
from lance_core.hookspecs.searches import RankedQuery, RankedSearch, SearchedColumns
from lance_core_text.analyzers.columns import is_text
from lance_core_text.plugin import DETAILS_URL
from lance_core_text.queries.clauses import Role
from lance_core_text.queries.compound import BestTextQuery, BooleanTextQuery, BoostTextQuery
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
from lance_core_text.queries.text_query import TextQuery
from lance_core_text.queries.words import TextMatch

MAX_EDITS = 8
"""Edits of fuzzy words at most: more would match nearly all terms."""

MAX_DEPTH = 32
"""The depth of queries in queries."""


TypeOf = Callable[[str], pa.DataType]
"""The type of a column."""


class TextSearch(RankedSearch):
    """Makes a query of a text, of a `FullTextQuery`, or of a dictionary with one and columns."""

    def query(self, value: Any, type_of: SearchedColumns) -> RankedQuery:
        columns: Sequence[str] | None = None
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
            return _of_query(value, type_of, 0)
        hint = ""
        if type(value).__module__.partition(".")[0] == "lance":
            hint = ": lance_core.query has the same classes"
        raise InvalidTypeError(f"full_text_query must be a text or a query, got {value!r}{hint}")


def query_parts(query: FullTextQuery) -> RankedQuery:
    """The query of a user, whatever columns it names. Raises `InvalidInputError`."""
    return _of_query(query, lambda _: pa.string(), 0)


def _of_text(text: str, columns: Sequence[str] | None, type_of: SearchedColumns) -> RankedQuery:
    names = list(columns) if columns else list(type_of.indexed(DETAILS_URL))
    if not names:
        raise InvalidInputError(
            "no column has a text index: create one, or name the column in a query of "
            "lance_core.query"
        )
    if len(text) > 1 and text[0] == text[-1] == '"':
        if len(names) > 1:
            raise InvalidInputError(f"name the column of a phrase, one of {', '.join(names)}")
        return _leaf(TextMatch(names[0], text[1:-1], slop=0), type_of)
    parts = [_leaf(TextMatch(name, text), type_of) for name in names]
    return parts[0] if len(parts) == 1 else BestTextQuery(parts)


def _of_query(query: FullTextQuery, type_of: TypeOf, depth: int) -> RankedQuery:
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"queries are nested deeper than {MAX_DEPTH}")
    if isinstance(query, MatchQuery):
        _check_granularity(query.document_granularity)
        needs_all = query.operator is FullTextOperator.AND
        match = TextMatch(
            query.column, query.query, query.boost, needs_all, fuzziness=_fuzziness(query)
        )
        return _leaf(match, type_of)
    if isinstance(query, PhraseQuery):
        _check_granularity(query.document_granularity)
        if query.slop < 0:
            raise InvalidInputError(f"slop is negative: {query.slop}")
        return _leaf(TextMatch(query.column, query.query, slop=query.slop), type_of)
    if isinstance(query, CombinedFieldsQuery):
        raise UnsupportedFeatureError("CombinedFieldsQuery")
    if isinstance(query, MultiMatchQuery):
        needs_all = query.operator is FullTextOperator.AND
        pairs = zip(query.columns, query.boosts, strict=True)
        parts = [
            _leaf(TextMatch(column, query.query, boost, needs_all), type_of)
            for column, boost in pairs
        ]
        if not parts:
            raise InvalidInputError("a MultiMatchQuery without columns")
        return BestTextQuery(parts)
    if isinstance(query, BoostQuery):
        both = [_of_query(one, type_of, depth + 1) for one in (query.positive, query.negative)]
        return BoostTextQuery(both, query.negative_boost)
    if isinstance(query, BooleanQuery):
        return _of_boolean(query, type_of, depth)
    raise UnsupportedFeatureError(f"text queries of type {type(query).__name__}")


def _of_boolean(query: BooleanQuery, type_of: TypeOf, depth: int) -> RankedQuery:
    by_occur: dict[Occur, list[RankedQuery]] = {occur: [] for occur in Occur}
    for occur, one in query.queries:
        by_occur[occur].append(_of_query(one, type_of, depth + 1))
    groups = (by_occur[Occur.MUST], by_occur[Occur.SHOULD], by_occur[Occur.MUST_NOT])
    if not groups[0] and not groups[1]:
        raise InvalidInputError("a boolean query must have at least one should or must query")
    parts = [*groups[0], *groups[1], *groups[2]]
    is_flat = all(isinstance(one, TextQuery) and len(one.asked) == 1 for one in parts)
    if is_flat and len({one.column for one in parts}) == 1:
        roles = [role for role, own in zip(Role, groups, strict=True) for _ in own]
        pairs = zip(roles, parts, strict=True)
        return TextQuery([(role, one.asked[0][1]) for role, one in pairs])  # type: ignore[attr-defined]
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


def _leaf(match: TextMatch, type_of: TypeOf) -> TextQuery:
    kind = type_of(match.column)
    if not is_text(kind):
        raise InvalidInputError(
            f"column {match.column!r} has values of type {kind}: strings and lists of them are "
            "searched"
        )
    return TextQuery([(Role.SHOULD, match)])


def _check_granularity(granularity: DocumentGranularity | None) -> None:
    if granularity is DocumentGranularity.LIST_ELEMENT:
        raise UnsupportedFeatureError("searches of the elements of lists as documents")
