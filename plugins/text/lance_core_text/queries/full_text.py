"""Queries of full-text search, for the argument ``full_text_query`` of scans.

The classes are those of ``lance.query``: their arguments have the same names and defaults. A text
instead of a query matches any of its words in all columns with a text index.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence

from lance_core.errors import InvalidInputError, InvalidTypeError


class FullTextQueryType(enum.Enum):
    """The kinds of queries."""

    MATCH = "match"
    MATCH_PHRASE = "match_phrase"
    BOOST = "boost"
    MULTI_MATCH = "multi_match"
    COMBINED_FIELDS = "combined_fields"
    BOOLEAN = "boolean"


class FullTextOperator(enum.Enum):
    """Whether a row must have all words of a query, or any of them."""

    AND = "AND"
    OR = "OR"


class Occur(enum.Enum):
    """What a clause of a `BooleanQuery` demands."""

    SHOULD = "SHOULD"
    MUST = "MUST"
    MUST_NOT = "MUST_NOT"


class DocumentGranularity(enum.StrEnum):
    """What is one document: a row, or an element of a list."""

    ROW = "row"
    LIST_ELEMENT = "list_element"


class FullTextQuery(ABC):
    """A query; ``&`` and ``|`` make a `BooleanQuery` of two."""

    @abstractmethod
    def query_type(self) -> FullTextQueryType:
        """The kind of the query."""

    def __and__(self, other: FullTextQuery) -> BooleanQuery:
        return BooleanQuery([(Occur.MUST, self), (Occur.MUST, other)])

    def __or__(self, other: FullTextQuery) -> BooleanQuery:
        return BooleanQuery([(Occur.SHOULD, self), (Occur.SHOULD, other)])


class MatchQuery(FullTextQuery):
    """The rows that have any of the words of a text, or all of them (``operator``).

    ``boost`` multiplies scores. ``fuzziness``: words match that are at most so many edits away;
    None allows 0 for words of up to 2 characters, 1 up to 5, and 2 for longer ones. Of those,
    ``max_expansions`` are searched, whose first ``prefix_length`` characters are those of the word.
    """

    def __init__(  # noqa: PLR0913  # pylance's arguments
        self,
        query: str,
        column: str,
        *,
        boost: float = 1.0,
        fuzziness: int | None = 0,
        max_expansions: int = 50,
        operator: FullTextOperator = FullTextOperator.OR,
        prefix_length: int = 0,
        document_granularity: DocumentGranularity | None = None,
    ) -> None:
        self.query = _text(query)
        self.column = column
        self.boost = boost
        self.fuzziness = fuzziness
        self.max_expansions = max_expansions
        self.operator = FullTextOperator(operator)
        self.prefix_length = prefix_length
        self.document_granularity = _granularity(document_granularity)

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.MATCH


class PhraseQuery(FullTextQuery):
    """The rows that have the words of a text in their order.

    Between two of them, at most ``slop`` other words may be.
    """

    def __init__(
        self,
        query: str,
        column: str,
        *,
        slop: int = 0,
        document_granularity: DocumentGranularity | None = None,
    ) -> None:
        self.query = _text(query)
        self.column = column
        self.slop = slop
        self.document_granularity = _granularity(document_granularity)

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.MATCH_PHRASE


class BoostQuery(FullTextQuery):
    """The rows of ``positive``; their scores lose ``negative_boost`` times that of ``negative``."""

    def __init__(
        self, positive: FullTextQuery, negative: FullTextQuery, *, negative_boost: float = 0.5
    ) -> None:
        self.positive = positive
        self.negative = negative
        self.negative_boost = negative_boost

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.BOOST


class MultiMatchQuery(FullTextQuery):
    """The rows that match in any of the columns, with the best of their scores.

    ``boosts``: a factor for each column. ``operator`` applies to each column alone.
    """

    def __init__(
        self,
        query: str,
        columns: list[str],
        *,
        boosts: list[float] | None = None,
        operator: FullTextOperator = FullTextOperator.OR,
    ) -> None:
        self.query = _text(query)
        self.columns = list(columns)
        self.boosts = [1.0] * len(self.columns) if boosts is None else list(boosts)
        self.operator = FullTextOperator(operator)
        if len(self.boosts) != len(self.columns):
            raise InvalidInputError(
                f"{len(self.boosts)} boosts are given for {len(self.columns)} columns"
            )

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.MULTI_MATCH


class CombinedFieldsQuery(MultiMatchQuery):
    """The rows that match in the columns as if they were one. Not supported by searches yet."""

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.COMBINED_FIELDS


class BooleanQuery(FullTextQuery):
    """The rows that all clauses with `Occur.MUST` have, and none with `Occur.MUST_NOT`.

    Without a clause that must match, one that should is enough. Scores of clauses that match are
    added.
    """

    def __init__(self, queries: Sequence[tuple[Occur, FullTextQuery]]) -> None:
        self.queries = [(Occur(occur), query) for occur, query in queries]

    def query_type(self) -> FullTextQueryType:
        return FullTextQueryType.BOOLEAN


def _text(query: object) -> str:
    if not isinstance(query, str):
        raise InvalidTypeError(f"the text of a query must be a string, got {query!r}")
    return query


def _granularity(value: DocumentGranularity | None) -> DocumentGranularity | None:
    return None if value is None else DocumentGranularity(getattr(value, "value", value))
