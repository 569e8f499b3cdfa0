"""Queries of full-text search, with the names of pylance's module, `hybrid`, and `explain_score`.

All of them come with the extra ``text``: `FullTextQuery` and its kinds `MatchQuery`, `PhraseQuery`,
`BooleanQuery`, `BoostQuery`, `MultiMatchQuery` and `CombinedFieldsQuery`, and `FullTextQueryType`,
`FullTextOperator`, `Occur` and `DocumentGranularity`.
"""

from typing import Any

_TOOLS = (
    *("BooleanQuery", "BoostQuery", "CombinedFieldsQuery", "DocumentGranularity"),
    *("FullTextOperator", "FullTextQuery", "FullTextQueryType", "MatchQuery", "MultiMatchQuery"),
    *("Occur", "PhraseQuery", "Explanation", "explain_score", "hybrid"),
)


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    if name not in _TOOLS:
        raise AttributeError(f"module 'lance_core.query' has no attribute {name!r}")
    from lance_core.plugins.index_tools import index_tool

    return index_tool(name)
