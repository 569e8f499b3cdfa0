"""Namespaces: catalogs of tables by their names, by the names of pylance's module.

They come with the extra ``namespace``. All other names are those of the package lance-namespace:
its interface, requests, responses and errors.
"""

import importlib
from typing import Any

from lance_core.imports.provided_names import provided

__all__ = [
    "DirectoryNamespace",
    "DynamicContextProvider",
    "RestAdapter",
    "RestNamespace",
    "TableOperations",
    "connect",
]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    if name in __all__ or name.startswith("_"):
        return provided(__name__, *__all__)(name)
    try:
        return getattr(importlib.import_module("lance_namespace"), name)
    except (ImportError, AttributeError):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
