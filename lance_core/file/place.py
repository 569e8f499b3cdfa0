"""Resolve the path of a single file to a store and a name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.plugins import open_store
from lance_core.store.base import ObjectStore
from lance_core.store.secret import hide_secrets
from lance_core.store.uri import parse_uri

StorageOptions: TypeAlias = Mapping[str, str]


def located(
    path: str | os.PathLike[str], storage_options: StorageOptions | None
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
    return open_store(parent, storage_options), name


def refuse_namespace(namespace_client: object, table_id: list[str] | None) -> None:
    """Raise `UnsupportedFeatureError` if an argument for credentials from a namespace is given."""
    if namespace_client is not None or table_id is not None:
        raise UnsupportedFeatureError("namespace_client and table_id are not supported")
