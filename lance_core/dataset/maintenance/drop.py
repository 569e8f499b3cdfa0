"""`LanceDataset.drop`: remove a table with all its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lance_core.commits import drop as dropping
from lance_core.dataset.snapshot import open_table
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.store.secret import hide_secrets


def drop(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    ignore_not_found: bool = False,
) -> None:
    """Remove the table at ``uri``: see `LanceDataset.drop`."""
    storage_options = hide_secrets(storage_options)
    root = open_table.with_newest_versions_handler(open_table.open_root(uri, storage_options))
    try:
        dropping.drop(root.store, root.handler)
    except DatasetNotFoundError as error:
        if not ignore_not_found:
            raise DatasetNotFoundError(
                f"Dataset at path {root.redacted_uri} was not found"
            ) from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{root.redacted_uri}: {error}") from error
