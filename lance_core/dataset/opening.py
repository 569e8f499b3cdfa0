"""Opening: from a URI to a table's root, and from there to a version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lance_core.commits.base import ManifestLocation
from lance_core.dataset.snapshot import Snapshot, TableRoot
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.plugins import get_manager, open_store, select_commit_handler
from lance_core.store.config import StoreConfig
from lance_core.store.uri import parse_uri
from lance_core.table.manifest_file import parse_manifest_file

IGNORED_OPTIONS = frozenset(
    {
        "block_size",
        "index_cache_size",
        "index_cache_size_bytes",
        "metadata_cache_size",
        "metadata_cache_size_bytes",
        "read_params",
        "session",
        "s3_credentials_refresh_offset_seconds",
        "ignore_namespace_table_storage_options",
    }
)
"""Arguments of pylance's ``dataset`` that tune caches this library does not have."""


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse keyword arguments that would change what a call does and cannot be honoured.

    Raises ``TypeError`` for unknown names.
    """
    for name, value in options.items():
        if name in IGNORED_OPTIONS or value is None:
            continue
        if name in ("commit_lock", "namespace", "namespace_client", "table_id"):
            raise UnsupportedFeatureError(f"{name!r} is not supported yet")
        raise TypeError(f"unknown argument {name!r}")


def open_root(
    uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> TableRoot:
    """The place of a table, whether or not there is one."""
    return open_root_of(StoreConfig(os.fspath(uri), dict(storage_options or {})))


def open_root_of(config: StoreConfig) -> TableRoot:
    """The place that ``config`` describes."""
    url = parse_uri(config.uri)
    store = open_store(url, config.options)
    handler = select_commit_handler(store, url, config.options, explicit=config.commit_handler)
    return TableRoot(config, store, handler, get_manager().encodings)


def latest_location(root: TableRoot) -> ManifestLocation:
    """Where the newest version's manifest is, or `DatasetNotFoundError`."""
    location = root.handler.latest()
    if location is None:
        raise DatasetNotFoundError(f"Dataset at path {root.uri} was not found")
    return location


def open_version(root: TableRoot, version: int | None) -> Snapshot:
    """A version of the table, the newest one if ``version`` is None.

    Raises `DatasetNotFoundError`, `CorruptFileError`, and `UnsupportedFeatureError` for tables
    that need features this library does not have.
    """
    if version is None:
        location = latest_location(root)
    elif isinstance(version, int) and not isinstance(version, bool):
        location = _locate(root, version)
    else:
        raise UnsupportedFeatureError(f"versions are numbers; tags such as {version!r} come later")
    return load(root, location)


def _locate(root: TableRoot, version: int) -> ManifestLocation:
    if version < 1:
        raise InvalidInputError(f"versions count from 1, got {version}")
    try:
        return root.handler.locate(version)
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(
            f"Dataset at path {root.uri} has no version {version}"
        ) from error


def load(root: TableRoot, location: ManifestLocation) -> Snapshot:
    """Read the manifest at a known place."""
    try:
        data = root.store.get(location.path)
    except ObjectNotFoundError as error:
        raise DatasetNotFoundError(
            f"Dataset at path {root.uri} has no version {location.version}"
        ) from error
    return Snapshot(root, parse_manifest_file(data, location.path), location)
