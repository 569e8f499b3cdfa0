"""`KMeans` and `validate_vector_index`, which come with the extra ``vector``."""

from typing import Any

_TOOLS = ("KMeans", "validate_vector_index")


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    if name not in _TOOLS:
        raise AttributeError(f"module 'lance_core.util' has no attribute {name!r}")
    from lance_core.plugins.index_tools import index_tool

    return index_tool(name)
