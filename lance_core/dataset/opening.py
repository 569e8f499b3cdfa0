"""Opening: from a URI to a table's root, and from there to a version."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lance_core.commits.base import ManifestLocation
from lance_core.dataset.snapshot import HasSnapshot, Snapshot, TableRoot, Target
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    ObjectNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.plugins import get_manager, open_store, select_commit_handler
from lance_core.plugins.handlers import MARKER
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


VersionLike = int | tuple[str | None, int | None]
"""A version as users name it: its number, or (branch, number or None for the newest)."""


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


def root_of(target: Target, storage_options: Mapping[str, Any] | None = None) -> TableRoot:
    """The place of the table that a user named."""
    if isinstance(target, HasSnapshot):
        return target.snapshot.root
    return open_root(target, storage_options)


def open_root_of(config: StoreConfig) -> TableRoot:
    """The place that ``config`` describes."""
    url = parse_uri(config.uri)
    store = open_store(url, config.options)
    handler = select_commit_handler(store, url, config.options, config.commit_handler)
    return TableRoot(config, store, handler, get_manager().encodings)


def _marked(root: TableRoot, marker: str) -> TableRoot:
    """The same place with the commit handler that the table's config asks for."""
    config = root.config
    handler = select_commit_handler(
        root.store, parse_uri(config.uri), config.options, config.commit_handler, marker
    )
    return replace(root, handler=handler)


def latest_location(root: TableRoot) -> ManifestLocation:
    """Where the newest version's manifest is, or `DatasetNotFoundError`."""
    location = root.handler.latest()
    if location is None:
        raise DatasetNotFoundError(f"Dataset at path {root.shown} was not found")
    return location


def open_version(root: TableRoot, version: object = None) -> Snapshot:
    """A version of the table, the newest one if ``version`` is None; see `VersionLike`.

    Raises `DatasetNotFoundError`, `CorruptFileError`, and `UnsupportedFeatureError` for tables
    that need features this library does not have.
    """
    snapshot = load(root, _locate(root, version))
    marker = snapshot.manifest.config.get(MARKER)
    if marker is None:
        return snapshot
    # The table says who finds and makes its versions: ask that handler.
    marked = _marked(root, marker)
    return load(marked, _locate(marked, version))


def _locate(root: TableRoot, version: object) -> ManifestLocation:
    if version is None:
        return latest_location(root)
    number = _number(version)
    if number is None:
        return latest_location(root)
    try:
        if number >= 1:
            return root.handler.locate(number)
    except (DatasetNotFoundError, InvalidInputError) as error:
        raise _no_version(root, number) from error
    raise _no_version(root, number)


def _number(version: object) -> int | None:
    """The number in what users pass as a version; None for the newest version.

    A pair is a branch and a version of it; the only branch here is the main one.
    """
    if isinstance(version, tuple) and len(version) == 2:
        branch, version = version
        if branch not in (None, "main"):
            raise UnsupportedFeatureError(f"there are no branches here yet, such as {branch!r}")
        if version is None:
            return None
    if isinstance(version, str):
        raise UnsupportedFeatureError(f"versions are numbers; tags such as {version!r} come later")
    try:
        return operator.index(version)  # type: ignore[arg-type]  # what it is for is to find out
    except TypeError:
        raise InvalidInputError(f"a version is a whole number, got {version!r}") from None


def _no_version(root: TableRoot, number: int) -> DatasetNotFoundError:
    return DatasetNotFoundError(f"Dataset at path {root.shown} has no version {number}")


def load(root: TableRoot, location: ManifestLocation) -> Snapshot:
    """Read the manifest at a known place."""
    try:
        data = root.store.get(location.path)
    except ObjectNotFoundError as error:
        raise _no_version(root, location.version) from error
    return Snapshot(root, parse_manifest_file(data, location.path), location)
