"""Tools with the names of pylance's module.

`KMeans` and `validate_vector_index` come with the extra ``vector``.
"""

from typing import Any

from lance_core.imports.provided_names import provided
from lance_core.util.times import sanitize_ts, td_to_micros

__all__ = ["KMeans", "sanitize_ts", "td_to_micros", "validate_vector_index"]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
