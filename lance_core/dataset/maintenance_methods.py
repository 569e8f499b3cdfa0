"""The part of `LanceDataset` that looks after a table's files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lance_core.dataset.mixin_base import Opened
from lance_core.dataset.snapshot import open_table
from lance_core.on_demand import lazy_module
from lance_core.store.secret import hide_secrets
from lance_core.suggestions import unknown_argument

if TYPE_CHECKING:
    from lance_core.dataset.maintenance import cleanup, drop, naming_migration, validate
    from lance_core.dataset.maintenance.cleanup import CleanupExplanation, CleanupStats
else:
    cleanup = lazy_module("lance_core.dataset.maintenance.cleanup")
    drop = lazy_module("lance_core.dataset.maintenance.drop")
    naming_migration = lazy_module("lance_core.dataset.maintenance.naming_migration")
    validate = lazy_module("lance_core.dataset.maintenance.validate")


class MaintenanceMethods(Opened):
    """Checks and tidies what the table is stored as."""

    def validate(self) -> None:
        """Check that every file of the version is there and agrees with the manifest."""
        validate.check_table(self._snapshot)

    def cleanup_old_versions(
        self,
        older_than: timedelta | None = None,
        retain_versions: int | None = None,
        *,
        delete_unverified: bool = False,
        versions: Sequence[int] | None = None,
        **options: Any,
    ) -> CleanupStats:
        """Remove old versions, and files that no version needs any more.

        ``older_than``: only versions made longer ago; two weeks if nothing is given.
        ``retain_versions``: all but the newest so many. ``versions``: only these. What several of
        them say must all hold. The open version and newer ones stay, and so do versions that a
        branch begins at, that have a tag, or that were superseded within the last 20 minutes (twice
        the table's commit deadline: a warning says so).
        ``delete_unverified``: your word that nobody else is at work on the table; then recent
        versions, and recent files that no version names, go as well.

        Options: ``error_if_tagged_old_versions`` (True: raise `CleanupError` instead of sparing
        tagged versions), ``delete_rate_limit`` (removals in a second) and ``delete_concurrency``.
        Raises `UnsupportedFeatureError` if the table may need files that this library does not know
        of, and `CorruptFileError` for versions, tags and branches that cannot be read; then nothing
        is removed.
        """
        _check(options, {"error_if_tagged_old_versions", "delete_rate_limit", "delete_concurrency"})
        chosen = _chosen(older_than, retain_versions, versions, delete_unverified)
        return cleanup.cleanup(self._snapshot, {**chosen, **options})

    def explain_cleanup_old_versions(
        self,
        older_than: timedelta | None = None,
        retain_versions: int | None = None,
        *,
        delete_unverified: bool = False,
        versions: Sequence[int] | None = None,
        include_files: bool = False,
        max_files: int = 1000,
        **options: Any,
    ) -> CleanupExplanation:
        """What `cleanup_old_versions` would remove, and why other versions stay.

        ``include_files``: list files too, up to ``max_files``. Other arguments and errors as of
        `cleanup_old_versions`.
        """
        _check(options, {"error_if_tagged_old_versions", "delete_rate_limit"})
        # It does not matter how fast nothing is removed.
        tagged = {k: v for k, v in options.items() if k != "delete_rate_limit"}
        chosen = _chosen(older_than, retain_versions, versions, delete_unverified)
        return cleanup.explain(self._snapshot, {**chosen, **tagged}, include_files, max_files)

    def migrate_manifest_paths_v2(self) -> None:
        """Give the manifests names by which the newest is found at once; open the newest version.

        Nobody may write to the table meanwhile, and writers that had it open must open it anew.
        `lance_core.dataset.migrate_manifest_paths_v2` completes a migration that was interrupted.
        Raises `UnsupportedFeatureError` if an external store keeps the names.
        """
        naming_migration.migrate(self._snapshot.root)
        self._snapshot = open_table.open_version(self._snapshot.root)

    @staticmethod
    def drop(
        base_uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        ignore_not_found: bool | None = None,
    ) -> None:
        """Remove a table with everything in its folder, for good. Nobody may write to it meanwhile.

        Dropping again completes a drop that was interrupted. Raises `DatasetNotFoundError`, unless
        ``ignore_not_found``, and `InvalidInputError` if what is there is no table.
        """
        storage_options = hide_secrets(storage_options)
        drop.drop(base_uri, storage_options, bool(ignore_not_found))


def _chosen(
    older_than: timedelta | None,
    retain_versions: int | None,
    versions: Sequence[int] | None,
    delete_unverified: bool,
) -> dict[str, Any]:
    return {
        "older_than": older_than,
        "retain_versions": retain_versions,
        "versions": versions,
        "delete_unverified": delete_unverified,
    }


def _check(options: dict[str, Any], known: set[str]) -> None:
    for name in options.keys() - known:
        raise unknown_argument(name, known)
