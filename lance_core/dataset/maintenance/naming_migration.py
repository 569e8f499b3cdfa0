"""`migrate_manifest_paths_v2`: rename the manifests of an old table to the V2 naming scheme."""

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
    """Rename the manifests of the table at ``uri``, so that a store lists the newest one first.

    An interrupted migration leaves a table that cannot be opened; a second call completes it. No
    other process may write to the table during the migration, and writers that had it open must
    open it again. Raises `CorruptFileError` if a version has two different manifests, and
    `UnsupportedFeatureError` if an external manifest store keeps their names.
    """
    storage_options = hide_secrets(storage_options)
    migrate(open_table.with_newest_versions_handler(open_table.root_of(uri, storage_options)))


def migrate(root: TableRoot) -> None:
    """Migrate the table at ``root``: see `migrate_manifest_paths_v2`."""
    if isinstance(root.handler, ExternalManifestCommitHandler):
        raise UnsupportedFeatureError(
            "the manifests of tables with an external manifest store cannot be renamed"
        )
    migrate_names(root.store)
