"""Tools with the names of pylance's module.

`KMeans` and `validate_vector_index` come with the extra ``vector``.
"""

from typing import Any

from lance_core.util.times import sanitize_ts, td_to_micros

__all__ = ["KMeans", "sanitize_ts", "td_to_micros", "validate_vector_index"]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core.plugins.index_tools import index_tool

    return index_tool(name)
