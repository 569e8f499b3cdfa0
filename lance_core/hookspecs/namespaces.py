"""What authors of namespaces need: the descriptor, and what a namespace keeps of an open table.

A namespace is a ``LanceNamespace`` of the package lance-namespace, which has its requests,
responses and errors.
"""

from lance_core.store.namespaces import NamespaceFactory, NamespaceSpec, TableProvider

__all__ = ["NamespaceFactory", "NamespaceSpec", "TableProvider"]
