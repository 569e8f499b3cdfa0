"""Catalogs of Lance tables, with the interface of the package lance-namespace."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_namespace.directory import DirectoryNamespace

__all__ = ["DirectoryNamespace"]


def __getattr__(name: str) -> object:
    # The plugin lookup imports this package and must not import the slow client of namespaces.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core_namespace.directory import DirectoryNamespace

    return DirectoryNamespace
