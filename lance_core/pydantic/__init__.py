"""Schemas of tables from models of pydantic, with the names of pylance's ``lance.pydantic``.

All come with the extra ``arrays``; without it, their use raises `PluginNotFoundError`.
"""

from typing import Any

from lance_core.imports.provided_names import provided

__all__ = [
    "FixedSizeListMixin",
    "MultiVector",
    "Vector",
    "get_extras",
    "is_nullable",
    "pydantic_to_schema",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
