"""Values that describe indices, and the parameters of new ones.

With the extra ``vector``, also `IndicesBuilder`, which builds vector indices step by step, the
models that it trains, `IvfModel` and `PqModel`, and `IndexFileVersion`.
"""

from typing import Any

from lance_core.dataset.values.index import Index, IndexFile, IndexSegment
from lance_core.dataset.values.index_config import IndexConfig, SupportedDistributedIndices
from lance_core.dataset.values.index_description import IndexDescription, IndexSegmentDescription
from lance_core.dataset.values.index_problem import IndexProblem
from lance_core.imports.provided_names import provided

__all__ = [
    "Index",
    "IndexConfig",
    "IndexDescription",
    "IndexFile",
    "IndexProblem",
    "IndexSegment",
    "IndexSegmentDescription",
    "SupportedDistributedIndices",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, "IndexFileVersion", "IndicesBuilder", "IvfModel", "PqModel")(name)
