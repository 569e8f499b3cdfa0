"""`migrate_manifest_paths_v2`: new names for the manifests of a table made long ago."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.naming_migration import migrate_names
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import TableRoot, Target
from lance_core.errors import UnsupportedFeatureError
from lance_core.store.secret import hide_secrets


def migrate_manifest_paths_v2(
    uri: Target, storage_options: Mapping[str, Any] | None = None
) -> None:
    """Give the manifests of the table at ``uri`` names by which the newest is found at once.

    This also completes a migration that was interrupted, after which the table cannot be opened.
    Nobody may write to the table meanwhile, and writers that had it open must open it anew. Raises
    `CorruptFileError` if a version has two different manifests, and `UnsupportedFeatureError` if an
    external store keeps their names.
    """
    storage_options = hide_secrets(storage_options)
    migrate(open_table.with_newest_versions_handler(open_table.root_of(uri, storage_options)))


def migrate(root: TableRoot) -> None:
    """As `migrate_manifest_paths_v2`, of a table whose place is known."""
    if isinstance(root.handler, ExternalManifestCommitHandler):
        raise UnsupportedFeatureError(
            "the manifests of tables with an external manifest store cannot be renamed"
        )
    migrate_names(root.store)
