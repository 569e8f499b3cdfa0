"""Queries of full-text search, with the names of pylance's module, `hybrid`, and `explain_score`.

All of them come with the extra ``text``: `FullTextQuery` and its kinds `MatchQuery`, `PhraseQuery`,
`BooleanQuery`, `BoostQuery`, `MultiMatchQuery` and `CombinedFieldsQuery`, and `FullTextQueryType`,
`FullTextOperator`, `Occur` and `DocumentGranularity`. `hybrid` searches by texts and vectors, and
`explain_score` shows how a score, an `Explanation`, is computed.
"""

from typing import Any

from lance_core.imports.provided_names import provided

__all__ = [
    "BooleanQuery",
    "BoostQuery",
    "CombinedFieldsQuery",
    "DocumentGranularity",
    "Explanation",
    "FullTextOperator",
    "FullTextQuery",
    "FullTextQueryType",
    "MatchQuery",
    "MultiMatchQuery",
    "Occur",
    "PhraseQuery",
    "explain_score",
    "hybrid",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
