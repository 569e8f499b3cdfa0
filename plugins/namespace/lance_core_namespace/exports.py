"""What the package has, which imports the slow client of namespaces."""

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
