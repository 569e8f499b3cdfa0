"""Queries of full-text search, with the names of pylance's module, and what is done with results.

`hybrid` searches by texts and vectors, `explain_score` shows how a score is computed.
"""

from lance_core.query.text_queries import __getattr__

# All others are looked up in plugins when they are used.
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
    "__getattr__",
    "explain_score",
    "hybrid",
]
