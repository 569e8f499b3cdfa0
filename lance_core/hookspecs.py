"""Every hook of this project, and what a plugin is written with, in one file.

A plugin is a module (or any object) with functions named as below and marked with `hookimpl`. A
distribution makes its plugin known by an entry point::

    [project.entry-points.lance_core]
    vault = "lance_core_vault"

All hooks are providers: they take no arguments, are called once, when a process first looks
something up, and return descriptors. Descriptors are immutable and cheap: the entry module imports
no SDK; the ``factory`` of a descriptor, which may be text of the form ``"module:attribute"``, does
so when it is needed. The built-in stores, handlers, encodings and kernels come through the
same hooks (`lance_core.builtin`).

A plugin that raises, offers something else than descriptors or has a hook that is not in this file
is left out as a whole and reported to whoever asks for something that is not there. Two providers
of one key are an error when the key is used.
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
    "Guarantee",
    "KernelSpec",
    "ManifestEntry",
    "ManifestLocation",
    "ManifestStoreSpec",
    "ObjectMeta",
    "ObjectStore",
    "ObjectStoreSpec",
    "ObjectWriter",
    "PutMode",
    "Secret",
    "SpoolingWriter",
    "StoreCapabilities",
    "StoreUrl",
    "ValueEncodingSpec",
    "check_folder",
    "check_path",
    "hookimpl",
    "hookspec",
    "joined",
    "lance_commit_handlers",
    "lance_encodings",
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
"""Marks a function of a plugin as the implementation of the hook that has its name."""


@hookspec
def lance_object_stores() -> Iterable[ObjectStoreSpec]:
    """Stores, by URL scheme.

    ``ObjectStoreSpec.schemes`` are the keys. The factory is called with the parsed URL of a table
    and the options, aliases resolved and secrets wrapped, and returns a store rooted at that URL.
    Importing and calling it happens when a URL with such a scheme is first opened.
    """
    return ()


@hookspec
def lance_commit_handlers() -> Iterable[CommitHandlerSpec]:
    """Ways of making a version *the* version, by name and by URL suffix.

    A handler with a ``url_suffix`` serves ``scheme+suffix://`` URLs and is never chosen without
    being asked for. One without is chosen for every table whose store guarantees what it
    ``requires``, if no other that fits has a higher ``rank``.
    """
    return ()


@hookspec
def lance_manifest_stores() -> Iterable[ManifestStoreSpec]:
    """Key-value back-ends of the external manifest protocol, by name and by URL suffix.

    A back-end holds a row for each version of a table and adds one only if there is none; the
    protocol on top of it belongs to this project
    (`lance_core.commits.handlers.external_manifest`). It is used for ``scheme+suffix://`` URLs and
    where its name is asked for as a commit handler's. The factory is called with the parsed URL of
    a table and all options, whenever the table is opened:
    it connects to nothing, and connections are shared.
    """
    return ()


@hookspec
def lance_encodings() -> Iterable[EncodingSpec]:
    """Encodings of data files, by family and key.

    The key is the name of the alternative in the format's protobuf message, or a type URL for an
    encoding that the format does not know. For the latter a `ValueEncodingSpec` is enough: it turns
    values into bytes and back, and the metadata of a field asks for it.
    """
    return ()


@hookspec
def lance_kernels() -> Iterable[KernelSpec]:
    """Faster inner loops for the encodings that there are, by name.

    The names, arguments and results are those of the methods of
    `lance_core.encodings.kernels.Kernels`, bit for bit; a plugin offers some or all. Of the
    providers of a loop, the one with the highest ``KernelSpec.rank`` is used: numpy's have 0.
    """
    return ()
