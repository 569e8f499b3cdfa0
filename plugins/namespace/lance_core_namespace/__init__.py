"""Catalogs of Lance tables, with the interface of the package lance-namespace."""

from lance_core_namespace.directory import DirectoryNamespace

__all__ = ["DirectoryNamespace"]
