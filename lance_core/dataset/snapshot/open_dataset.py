"""`open_dataset`: open a version of a table, with the arguments of `lance_core.dataset`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.session import Session
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.error_texts.suggestions import unknown_argument
from lance_core.errors import UnsupportedFeatureError, warn_caller
from lance_core.imports.on_demand import lazy_module
from lance_core.store.config import StoreConfig

if TYPE_CHECKING:
    from lance_core.dataset.snapshot import namespace_tables, versions
    from lance_core.table.manifest import file as manifest_file
else:
    manifest_file = lazy_module("lance_core.table.manifest.file")
    namespace_tables = lazy_module("lance_core.dataset.snapshot.namespace_tables")
    versions = lazy_module("lance_core.dataset.snapshot.versions")

_IGNORED = frozenset(
    {
        "block_size",
        "index_cache_size",
        "metadata_cache_size",
        "read_params",
        "s3_credentials_refresh_offset_seconds",
    }
)
"""Arguments of pylance that have no effect here."""

_UNSUPPORTED = frozenset({"namespace"})

_SUPPORTED = frozenset(
    {
        *("version", "asof", "storage_options", "default_scan_options", "commit_lock"),
        *("allow_base_paths", "session", "index_cache_size_bytes", "metadata_cache_size_bytes"),
        *("serialized_manifest", "namespace_client", "table_id", "base_store_params"),
        *("verify", "checksums"),
        "ignore_namespace_table_storage_options",
        "namespace_client_managed_versioning",
    }
)


def open_dataset(
    uri: str | os.PathLike[str] | None,
    version: open_table.VersionLike | None,
    asof: datetime | str | None,
    storage_options: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Snapshot:
    """Open a version of a table; ``options`` are further arguments of `lance_core.dataset`.

    ``serialized_manifest``: if no version is named, that of this manifest is opened. Its content
    is read from the table. Raises ``TypeError`` for unknown names and `UnsupportedFeatureError`
    for arguments that would change the result.
    """
    if options:
        check_options(options)
    where: str | os.PathLike[str] | StoreConfig
    if uri is None or options.get("namespace_client") or options.get("table_id"):
        where, storage_options = namespace_tables.located(uri, storage_options, options)
    else:
        where = uri
    session = options.get("session")
    if session is None:
        limits = options.get("index_cache_size_bytes"), options.get("metadata_cache_size_bytes")
        session = Session(*limits)
    root = open_table.open_root(
        where,
        storage_options,
        options.get("allow_base_paths"),
        session,
        options.get("base_store_params"),
        options,
    )
    root = root.with_lock(options.get("commit_lock"))
    serialized = options.get("serialized_manifest")
    if version is None and serialized is not None:
        version = manifest_file.version_of(serialized)
    if version is None and asof is not None:
        version = versions.version_at(root, asof)
    return open_table.open_version(root, version)


def check_options(options: Mapping[str, Any]) -> None:
    """Check further arguments of `lance_core.dataset`.

    Raises `UnsupportedFeatureError` for arguments that would change the result, ``TypeError`` for
    unknown names.
    """
    for name, value in options.items():
        if name in _UNSUPPORTED:
            if value:
                raise UnsupportedFeatureError(f"{name!r} is not supported yet")
        elif name not in _SUPPORTED and name not in _IGNORED:
            raise unknown_argument(name, _IGNORED | _SUPPORTED)
    if options.get("index_cache_size") is not None:
        warn_caller(
            "index_cache_size has no effect: use index_cache_size_bytes", DeprecationWarning
        )
