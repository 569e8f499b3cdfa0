"""The surface for plugins: all hooks, and what their authors need.

A plugin imports nothing else of lance-core but `lance_core` and its public modules, such as
`lance_core.errors`. The hooks, descriptors and most used names are here. Each kind of plugin has a
module with everything that its author needs: `stores`, `commits`, `encodings`, `indices`,
`searches`, `analyzers`, `file_versions`, `kernels`, `functions`, `stored_pages`, `namespaces`,
`tools` and `commands`. All kinds share `options`, `concurrency`, `arrays` and `json_values`. A name
is imported at its first use, and a module of the package imports what it has.

A plugin is a module (or any object) with functions that have the names below and the decorator
`hookimpl`. A distribution registers its plugin with an entry point::

    [project.entry-points.lance_core]
    vault = "lance_core_vault"

All hooks are providers: they take no arguments and return descriptors. They are called once, at the
first look-up in a process. Descriptors are immutable and cheap to create: the entry module imports
no SDK. The ``factory`` of a descriptor, a callable or text of the form ``"module:attribute"``,
imports the SDK when the factory is called. The built-in stores, handlers, encodings and
kernels use the same hooks (`lance_core.plugins.builtin`).

A plugin is ignored as a whole if it raises an error, returns anything but descriptors, or has a
hook that does not exist; the error of a failed look-up lists ignored plugins. If two plugins
provide one key, use of the key raises `PluginConflictError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_core.hookspecs.hooks import (
    PROJECT,
    hookimpl,
    hookspec,
    lance_analyzers,
    lance_commands,
    lance_commit_handlers,
    lance_encodings,
    lance_file_versions,
    lance_index_types,
    lance_kernels,
    lance_manifest_stores,
    lance_namespaces,
    lance_object_stores,
    lance_searches,
    lance_sql_functions,
    lance_tools,
)

if TYPE_CHECKING:
    from lance_core.byte_ranges import ByteRange, BytesLike
    from lance_core.command_spec import CommandSpec
    from lance_core.commits.base import (
        Candidate,
        CommitHandler,
        CommitHandlerSpec,
        ManifestLocation,
        ManifestStoreSpec,
    )
    from lance_core.commits.environment import Environment
    from lance_core.commits.handlers.directory import DirectoryCommitHandler
    from lance_core.commits.handlers.external_manifest_store import (
        ExternalManifestStore,
        ManifestEntry,
    )
    from lance_core.encodings.kernels.table import KernelSpec
    from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
    from lance_core.encodings.registry import EncodingFamily, EncodingSpec
    from lance_core.encodings.version import FileVersionSpec
    from lance_core.file_version import FileVersion, NullableTypes, StorableTypes, VersionFacts
    from lance_core.function_spec import SqlFunctionSpec
    from lance_core.imports.provided_names import ToolSpec
    from lance_core.index.spec import IndexTypeSpec
    from lance_core.store.base import (
        Buffers,
        Guarantee,
        ObjectMeta,
        ObjectStore,
        ObjectWriter,
        PutMode,
        StoreCapabilities,
    )
    from lance_core.store.buffers import joined
    from lance_core.store.namespaces import NamespaceSpec
    from lance_core.store.paths import check_folder, check_path
    from lance_core.store.ranges import slice_ranges
    from lance_core.store.secret import Secret, plain
    from lance_core.store.spec import ObjectStoreSpec
    from lance_core.store.spooling import SpoolingWriter
    from lance_core.store.uri import StoreUrl

__all__ = [
    "PROJECT",
    "Buffers",
    "ByteRange",
    "BytesLike",
    "Candidate",
    "CommandSpec",
    "CommitHandler",
    "CommitHandlerSpec",
    "DirectoryCommitHandler",
    "EncodingFamily",
    "EncodingSpec",
    "Environment",
    "ExternalManifestStore",
    "FileVersion",
    "FileVersionSpec",
    "Guarantee",
    "IndexTypeSpec",
    "KernelSpec",
    "ManifestEntry",
    "ManifestLocation",
    "ManifestStoreSpec",
    "NamespaceSpec",
    "NullableTypes",
    "ObjectMeta",
    "ObjectStore",
    "ObjectStoreSpec",
    "ObjectWriter",
    "PutMode",
    "Secret",
    "SpoolingWriter",
    "SqlFunctionSpec",
    "StorableTypes",
    "StoreCapabilities",
    "StoreUrl",
    "ToolSpec",
    "ValueEncodingSpec",
    "VersionFacts",
    "check_folder",
    "check_path",
    "hookimpl",
    "hookspec",
    "joined",
    "lance_analyzers",
    "lance_commands",
    "lance_commit_handlers",
    "lance_encodings",
    "lance_file_versions",
    "lance_index_types",
    "lance_kernels",
    "lance_manifest_stores",
    "lance_namespaces",
    "lance_object_stores",
    "lance_searches",
    "lance_sql_functions",
    "lance_tools",
    "plain",
    "slice_ranges",
]


if not TYPE_CHECKING:  # for type checkers, every name would exist

    def __getattr__(name: str) -> object:
        """Import a name on first access: the entry module of a plugin needs a few."""
        import importlib

        homes = importlib.import_module("lance_core.hookspecs.exports").HOMES
        if name not in homes:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)


def __dir__() -> list[str]:
    return __all__
