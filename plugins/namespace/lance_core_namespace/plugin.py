"""The entry point: the descriptors of the namespaces, which are imported at their first use."""

from __future__ import annotations

from lance_core.hookspecs import ToolSpec, hookimpl


@hookimpl
def lance_tools() -> list[ToolSpec]:
    """The namespace of the tables in a folder."""
    return [ToolSpec("lance_core_namespace.directory:DirectoryNamespace")]
