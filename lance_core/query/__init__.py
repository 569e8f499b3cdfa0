"""Queries for the searches of scans, as in ``lance.query``, and what is done with their results.

`hybrid` searches by texts and vectors, `explain_score` shows how a score is computed.
"""

from lance_core.index.explanation import Explanation
from lance_core.query.explain_score import explain_score
from lance_core.query.full_text import (
    BooleanQuery,
    BoostQuery,
    CombinedFieldsQuery,
    DocumentGranularity,
    FullTextOperator,
    FullTextQuery,
    FullTextQueryType,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lance_core.query.reciprocal_ranks import hybrid

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
