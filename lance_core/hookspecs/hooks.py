"""All hooks of plugins, and the markers of their implementations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from lance_core.command_spec import CommandSpec
    from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
    from lance_core.encodings.kernels.table import KernelSpec
    from lance_core.encodings.registry import EncodingSpec
    from lance_core.encodings.version import FileVersionSpec
    from lance_core.function_spec import SqlFunctionSpec
    from lance_core.imports.provided_names import ToolSpec
    from lance_core.index.spec import AnalyzerSpec, IndexTypeSpec, SearchSpec
    from lance_core.store.namespaces import NamespaceSpec
    from lance_core.store.spec import ObjectStoreSpec

PROJECT = "lance_core"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
"""Decorator of the functions of this module: the hooks that exist."""

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Decorator that marks a function of a plugin as the implementation of the hook of its name."""


@hookspec
def lance_object_stores() -> Iterable[ObjectStoreSpec]:
    """Stores, by URL scheme.

    ``ObjectStoreSpec.schemes`` are the keys. The factory gets the parsed URL of a table and the
    options, with aliases resolved and secrets wrapped, and returns a store rooted at this URL. It
    is imported and called when a URL with one of the schemes is opened for the first time.
    """
    return ()


@hookspec
def lance_commit_handlers() -> Iterable[CommitHandlerSpec]:
    """Commit handlers, by name and by URL suffix.

    A handler with a ``url_suffix`` serves ``scheme+suffix://`` URLs and is used only on request. A
    handler without a suffix is chosen for each table whose store guarantees what the handler
    ``requires``, unless another suitable handler has a higher ``rank``.
    """
    return ()


@hookspec
def lance_manifest_stores() -> Iterable[ManifestStoreSpec]:
    """Key-value back-ends of the external manifest protocol, by name and by URL suffix.

    A back-end holds one row per version of a table and adds a row only if it does not exist. This
    project implements the protocol (`lance_core.commits.handlers.external_manifest`). A back-end is
    used for ``scheme+suffix://`` URLs and for its name as the name of a commit handler. The factory
    gets the parsed URL of a table and all options each time the table is opened. So the factory
    must not connect, and back-ends must share connections.
    """
    return ()


@hookspec
def lance_encodings() -> Iterable[EncodingSpec]:
    """Encodings of data files, by family and key.

    The key is the field name in the oneof of the format's protobuf message, or a type URL for an
    encoding that is not part of the format. A `ValueEncodingSpec` is enough for the latter: it
    converts values to bytes and back, and the metadata of a field requests it.
    """
    return ()


@hookspec
def lance_file_versions() -> Iterable[FileVersionSpec]:
    """Versions of the data file format, by name.

    `FileVersionSpec.version` has the names and number pairs of the version and what its files can
    store; the functions of the descriptor, or their import paths, read and write its files. They
    are imported when the first file of the version is read or written.
    """
    return ()


@hookspec
def lance_kernels() -> Iterable[KernelSpec]:
    """Faster implementations of the inner loops of encodings, by name.

    A loop has the name, arguments and bit-identical results of a method of
    `lance_core.encodings.kernels.Kernels`; a plugin may provide some or all. The provider with the
    highest ``KernelSpec.rank`` is used; the rank of the numpy implementation is 0.
    """
    return ()


@hookspec
def lance_index_types() -> Iterable[IndexTypeSpec]:
    """Types of secondary indices, by name and by the type URL of their details.

    The factory returns an `lance_core.index.base.IndexType`, which builds, opens and merges
    indices. `lance_core.index` has what it works with: `queries` and `files`.
    """
    return ()


@hookspec
def lance_sql_functions() -> Iterable[SqlFunctionSpec]:
    """Functions of SQL expressions, by name and by alias; the case does not matter.

    The ``plan`` of a descriptor is imported at the first call of the function in an expression. It
    is written with `lance_core.sql_functions`.
    """
    return ()


@hookspec
def lance_searches() -> Iterable[SearchSpec]:
    """Searches that rank rows, by the argument of scans that asks for one, such as ``nearest``.

    The factory returns a `lance_core.index.ranking.RankedSearch`, which makes queries. Index types
    whose open indices are a `lance_core.index.ranking.RankedIndex` answer them.
    """
    return ()


@hookspec
def lance_analyzers() -> Iterable[AnalyzerSpec]:
    """Analyzers of texts, by the name that indices store as ``base_tokenizer``.

    The factory returns a `lance_core.index.analysis.Analyzer`, which splits texts into words. Texts
    of an index whose analyzer is missing are searched without the index.
    """
    return ()


@hookspec
def lance_namespaces() -> Iterable[NamespaceSpec]:
    """Catalogs of tables, by the name that users give to `lance_core.namespace.connect`.

    The factory gets the properties of users as keyword arguments, and returns a ``LanceNamespace``
    of the package lance-namespace. What it is tested with is in `lance_core_testing.namespaces`.
    """
    return ()


@hookspec
def lance_tools() -> Iterable[ToolSpec]:
    """What users import from modules of the core, by its name: ways to work on a table.

    The core itself calls three. ``Compaction``: `LanceDataset.optimize` calls its ``execute`` and
    ``verify``. ``notebook_html``: a function that returns what notebooks show of a dataset.
    ``new_observer``: a function that returns an `Observer` of `lance_core.hookspecs.observers`;
    several plugins may have one. Other tools are written with `lance_core.maintenance`.
    """
    return ()


@hookspec
def lance_commands() -> Iterable[CommandSpec]:
    """Commands of ``lance-core``, by name.

    The factory returns a `lance_core.commands.Command`, which has arguments and returns lines.
    """
    return ()
