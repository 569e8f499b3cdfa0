"""Finding out what became of a commit whose outcome was unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.commits import resolve as resolving
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot, Target
from lance_core.errors import CommitUnknownError, InvalidInputError, StoreError
from lance_core.store.secret import hide_secrets


def find_outcome(
    target: Target,
    unknown: CommitUnknownError,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Snapshot | None:
    """The version that a commit led to, None if it certainly was and will not be applied.

    Arguments and errors are those of `lance_core.commit.resolve`.
    """
    storage_options = hide_secrets(storage_options)
    if not isinstance(unknown, CommitUnknownError):
        raise TypeError(f"unknown must be a CommitUnknownError, got {type(unknown).__name__}")
    root = open_table.root_of(target, storage_options)
    if unknown.table not in ("", root.base_uri):
        raise InvalidInputError(f"the commit was one to {unknown.table}, not to {root.base_uri}")
    try:
        root = open_table.with_newest_versions_handler(root)
        version = resolving.resolve(root.handler, root.store, unknown)
        return None if version is None else open_table.load(root, version.location)
    except StoreError as error:
        raise unknown from error
