"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import IndexTypeSpec, SqlFunctionSpec, ToolSpec, hookimpl
from lance_core.hookspecs.analyzers import AnalyzerSpec
from lance_core.hookspecs.searches import SearchSpec

DETAILS_URL = "/lance.table.InvertedIndexDetails"

_QUERIES = (
    *("BooleanQuery", "BoostQuery", "CombinedFieldsQuery", "DocumentGranularity"),
    *("FullTextOperator", "FullTextQuery", "FullTextQueryType", "MatchQuery"),
    *("MultiMatchQuery", "Occur", "PhraseQuery"),
)
"""What users write queries with, as `lance_core.query` has it."""


@hookimpl
def lance_analyzers() -> Iterable[AnalyzerSpec]:
    """The analyzers of the format that need no dictionary."""
    return (
        AnalyzerSpec(name="code", factory="lance_core_text.analyzers.code:CodeAnalyzer"),
        AnalyzerSpec(name="ngram", factory="lance_core_text.analyzers.ngrams:NgramAnalyzer"),
        AnalyzerSpec(name="raw", factory="lance_core_text.analyzers.raw:RawAnalyzer"),
        AnalyzerSpec(name="simple", factory="lance_core_text.analyzers.runs:SimpleAnalyzer"),
        AnalyzerSpec(
            name="whitespace", factory="lance_core_text.analyzers.runs:WhitespaceAnalyzer"
        ),
    )


@hookimpl
def lance_searches() -> Iterable[SearchSpec]:
    """The search for texts."""
    return (SearchSpec(name="full_text_query", factory="lance_core_text.search:TextSearch"),)


@hookimpl
def lance_index_types() -> Iterable[IndexTypeSpec]:
    """The text indices of the format."""
    return (
        IndexTypeSpec(
            name="text",
            label="Inverted",
            details_url=DETAILS_URL,
            factory="lance_core_text.index_type:TextIndex",
            version=2,
            readable_version=3,
            kinds=("INVERTED", "FTS"),
        ),
    )


@hookimpl
def lance_sql_functions() -> Iterable[SqlFunctionSpec]:
    """The function of filters on words."""
    return (
        SqlFunctionSpec(
            name="contains_tokens",
            plan="lance_core_text.contains_tokens:contains_tokens",
            parameters="text, text*",
            summary="whether a text has all words of the second one, as they are written",
            group="text",
        ),
    )


@hookimpl
def lance_tools() -> Iterable[ToolSpec]:
    """Queries, what explains and combines their scores, and the terms of a text."""
    return (
        ToolSpec("lance_core_text.explain_score:explain_score"),
        ToolSpec("lance_core_text.hybrid:hybrid"),
        ToolSpec("lance_core_text.scoring.explanation:Explanation"),
        ToolSpec("lance_core_text.tokenize:FtsToken"),
        ToolSpec("lance_core_text.tokenize:tokenize"),
        *(ToolSpec(f"lance_core_text.queries.full_text:{name}") for name in _QUERIES),
    )
