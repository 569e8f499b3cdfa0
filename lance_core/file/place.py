"""Resolve the path of a single file to a store and a name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.imports.on_demand import lazy_module
from lance_core.plugins import open_store
from lance_core.store.base import ObjectStore
from lance_core.store.secret import hide_secrets
from lance_core.store.uri import StoreUrl, parse_uri

if TYPE_CHECKING:
    from lance_core.dataset.snapshot import namespace_tables
else:
    namespace_tables = lazy_module("lance_core.dataset.snapshot.namespace_tables")

StorageOptions: TypeAlias = Mapping[str, str]


def located(
    path: str | os.PathLike[str],
    storage_options: StorageOptions | None,
    namespace_client: object = None,
    table_id: Sequence[str] | None = None,
) -> tuple[ObjectStore, str]:
    """The store of the folder of a file, and the file's name in the folder.

    Raises `InvalidInputError` if ``path`` ends with a slash.
    """
    storage_options = hide_secrets(storage_options)
    url = parse_uri(path)
    folder, _, name = url.path.rpartition("/")
    if not name:
        raise InvalidInputError(f"{url} does not name a file")
    parent = replace(url, path=folder or ("/" if url.scheme == "file" else ""), text="")
    return open_folder(parent, storage_options, namespace_client, table_id), name


def open_folder(
    folder: str | os.PathLike[str] | StoreUrl,
    storage_options: StorageOptions | None,
    namespace_client: object = None,
    table_id: Sequence[str] | None = None,
) -> ObjectStore:
    """The store of a folder; of that of the table ``table_id``, with options of its namespace.

    Raises `InvalidInputError` if one of ``namespace_client`` and ``table_id`` is missing.
    """
    storage_options = hide_secrets(storage_options)
    if namespace_client is None and table_id is None:
        return open_store(folder, storage_options)
    if namespace_client is None or table_id is None:
        raise InvalidInputError("namespace_client and table_id must be given together")
    url = folder if isinstance(folder, StoreUrl) else parse_uri(folder)
    options, provider = namespace_tables.vended(storage_options, namespace_client, table_id)
    return open_store(url, options) if provider is None else provider.open_store(url, options)
