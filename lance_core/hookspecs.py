"""All hooks of this project, and the classes and functions for writing a plugin.

A plugin is a module (or any object) with functions that have the names below and the decorator
`hookimpl`. A distribution registers its plugin with an entry point::

    [project.entry-points.lance_core]
    vault = "lance_core_vault"

All hooks are providers: they take no arguments and return descriptors. They are called once, at the
first look-up in a process. Descriptors are immutable and cheap to create: the entry module imports
no SDK. The ``factory`` of a descriptor, a callable or text of the form ``"module:attribute"``,
imports the SDK when the factory is called. The built-in stores, handlers, encodings and
kernels use the same hooks (`lance_core.builtin`).

A plugin is ignored as a whole if it raises an error, returns anything but descriptors, or has a
hook that is not in this file; the error of a failed look-up lists ignored plugins. If two plugins
provide one key, use of the key raises `PluginConflictError`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from lance_core.commits.base import (
    Candidate,
    CommitHandler,
    CommitHandlerSpec,
    ManifestLocation,
    ManifestStoreSpec,
)
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.encodings.kernels.table import KernelSpec
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.encodings.version import FileVersionSpec
from lance_core.file_version import FileVersion, NullableTypes, StorableTypes, VersionFacts
from lance_core.index.spec import IndexTypeSpec
from lance_core.store.base import (
    Buffers,
    ByteRange,
    BytesLike,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import joined
from lance_core.store.paths import check_folder, check_path
from lance_core.store.ranges import slice_ranges
from lance_core.store.secret import Secret, plain
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.spooling import SpoolingWriter
from lance_core.store.uri import StoreUrl

__all__ = [
    "Buffers",
    "ByteRange",
    "BytesLike",
    "Candidate",
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
    "NullableTypes",
    "ObjectMeta",
    "ObjectStore",
    "ObjectStoreSpec",
    "ObjectWriter",
    "PutMode",
    "Secret",
    "SpoolingWriter",
    "StorableTypes",
    "StoreCapabilities",
    "StoreUrl",
    "ValueEncodingSpec",
    "VersionFacts",
    "check_folder",
    "check_path",
    "hookimpl",
    "hookspec",
    "joined",
    "lance_commit_handlers",
    "lance_encodings",
    "lance_file_versions",
    "lance_index_types",
    "lance_kernels",
    "lance_manifest_stores",
    "lance_object_stores",
    "plain",
    "slice_ranges",
]

PROJECT = "lance_core"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
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
