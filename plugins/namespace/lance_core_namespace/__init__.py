"""Namespaces: catalogs of Lance tables, with the interface of the package lance-namespace."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_namespace.connecting import connect
    from lance_core_namespace.context import DynamicContextProvider
    from lance_core_namespace.directory import DirectoryNamespace
    from lance_core_namespace.requests import operation
    from lance_core_namespace.rest import RestNamespace
    from lance_core_namespace.rest_adapter import RestAdapter
    from lance_core_namespace.tables import TableOperations

__all__ = [
    "DirectoryNamespace",
    "DynamicContextProvider",
    "RestAdapter",
    "RestNamespace",
    "TableOperations",
    "connect",
    "operation",
]


def __getattr__(name: str) -> object:
    # The plugin lookup imports this package and must not import the slow client of namespaces.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lance_core_namespace import exports

    return getattr(exports, name)
