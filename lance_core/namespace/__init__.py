"""`DirectoryNamespace`, the tables in a folder, by the name of pylance's module.

It comes with the extra ``namespace``, and has the interface of the package lance-namespace.
"""

from typing import Any

from lance_core.imports.provided_names import provided

__all__ = ["DirectoryNamespace"]


def __getattr__(name: str) -> Any:
    """What a plugin provides; raises `PluginNotFoundError` without it."""
    return provided(__name__, *__all__)(name)
