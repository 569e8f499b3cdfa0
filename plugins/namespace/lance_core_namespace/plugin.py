"""The entry point: the descriptors of the namespaces, which are imported at their first use."""

from __future__ import annotations

from lance_core.hookspecs import NamespaceSpec, ToolSpec, hookimpl


@hookimpl
def lance_namespaces() -> list[NamespaceSpec]:
    """The namespaces of a folder and of a server."""
    return [
        NamespaceSpec(name="dir", factory="lance_core_namespace.directory:DirectoryNamespace"),
        NamespaceSpec(name="rest", factory="lance_core_namespace.rest:RestNamespace"),
    ]


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """What `lance_core.namespace` has, and what opens the tables of namespaces."""
    return [
        ToolSpec(f"lance_core_namespace.{path}")
        for path in (
            "connecting:connect",
            "context:DynamicContextProvider",
            "directory:DirectoryNamespace",
            "provider:table_provider",
            "rest:RestNamespace",
            "rest_adapter:RestAdapter",
            "tables:TableOperations",
        )
    ]
