"""Resolve the outcome of a commit that ended with `CommitUnknownError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.commits import resolve as resolving
from lance_core.dataset.dataset import LanceDataset
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Target
from lance_core.errors import CommitUnknownError, InvalidInputError, StoreError
from lance_core.store.secret import hide_secrets


def resolve(
    target: Target,
    unknown: CommitUnknownError,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> LanceDataset | None:
    """Find the outcome of the commit to the table ``target`` that raised the error ``unknown``.

    Returns the version that the commit created, or None if the commit was not applied and never
    will be. Raises ``unknown`` again while the outcome is unknown, for example because the store
    may still apply the write. Writes nothing. Raises ``TypeError`` if ``unknown`` is another error,
    and `InvalidInputError` if it is about another table.
    """
    storage_options = hide_secrets(storage_options)
    if not isinstance(unknown, CommitUnknownError):
        raise TypeError(f"unknown must be a CommitUnknownError, got {type(unknown).__name__}")
    root = open_table.root_of(target, storage_options)
    if unknown.table not in ("", root.base_uri):
        raise InvalidInputError(
            f"the commit was to the table {unknown.table}, not to {root.base_uri}"
        )
    try:
        root = open_table.with_newest_versions_handler(root)
        version = resolving.resolve(root.handler, root.store, unknown)
        return None if version is None else LanceDataset.of(open_table.load(root, version.location))
    except StoreError as error:
        raise unknown from error
