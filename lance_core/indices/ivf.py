"""`IvfModel`, by the name of pylance's module. It comes with the extra ``vector``."""

from typing import Any


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    if name != "IvfModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core.plugins.index_tools import index_tool

    return index_tool(name)
