"""The methods of `LanceDataset` that maintain a table's files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot import open_table
from lance_core.error_texts.suggestions import unknown_argument
from lance_core.imports.on_demand import lazy_module
from lance_core.store.secret import hide_secrets

if TYPE_CHECKING:
    from lance_core.dataset import optimize as optimizing
    from lance_core.dataset.arguments import CleanupArguments, CleanupPlanArguments
    from lance_core.dataset.maintenance import (
        cleanup,
        drop,
        naming_migration,
        table_files,
        validate,
    )
    from lance_core.dataset.maintenance.cleanup import CleanupExplanation, CleanupStats
else:
    optimizing = lazy_module("lance_core.dataset.optimize")
    cleanup = lazy_module("lance_core.dataset.maintenance.cleanup")
    drop = lazy_module("lance_core.dataset.maintenance.drop")
    naming_migration = lazy_module("lance_core.dataset.maintenance.naming_migration")
    table_files = lazy_module("lance_core.dataset.maintenance.table_files")
    validate = lazy_module("lance_core.dataset.maintenance.validate")


@short_tracebacks
class MaintenanceMethods(DatasetBase):
    """Validates, compacts and cleans up the table's files."""

    @property
    def optimize(self) -> optimizing.DatasetOptimizer:
        """Methods that rewrite the table's files for faster reads."""
        return optimizing.DatasetOptimizer(self)

    def validate(self) -> None:
        """Check that every file of the version exists and agrees with the manifest.

        Raises `CorruptFileError` and `ObjectNotFoundError`.
        """
        validate.check_table(self._snapshot)

    def cleanup_old_versions(
        self,
        older_than: timedelta | None = None,
        retain_versions: int | None = None,
        *,
        delete_unverified: bool = False,
        versions: Sequence[int] | None = None,
        **options: Unpack[CleanupArguments],
    ) -> CleanupStats:
        """Remove old versions, and files that no remaining version references.

        ``older_than``: remove only older versions; two weeks if no argument is given.
        ``retain_versions``: number of newest versions to keep. ``versions``: remove only these. A
        version is removed only if all given arguments select it. The open version and newer ones
        stay. So do versions with a tag, versions that a branch starts from, and (with a warning)
        versions superseded within the last 20 minutes, which is twice the table's commit deadline.
        ``delete_unverified``: the caller guarantees that no other process uses the table; then
        recent versions, and recent files that no version references, are removed too.

        Options: ``error_if_tagged_old_versions`` (True: raise `CleanupError` instead of keeping
        tagged versions), ``delete_rate_limit`` (removals per second) and ``delete_concurrency``.
        Raises `UnsupportedFeatureError` if the table may need files that this library does not
        know, and `CorruptFileError` for versions, tags and branches that cannot be read; then
        nothing is removed.
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
        **options: Unpack[CleanupPlanArguments],
    ) -> CleanupExplanation:
        """The versions and files that `cleanup_old_versions` would remove, and why others stay.

        ``include_files``: list files too, up to ``max_files``. See `cleanup_old_versions` for the
        other arguments and errors.
        """
        _check(options, {"error_if_tagged_old_versions", "delete_rate_limit"})
        # A rate limit has no effect on a plan, which removes nothing.
        tagged = {k: v for k, v in options.items() if k != "delete_rate_limit"}
        chosen = _chosen(older_than, retain_versions, versions, delete_unverified)
        return cleanup.explain(self._snapshot, {**chosen, **tagged}, include_files, max_files)

    def tracked_files(
        self,
        *,
        min_version: int | None = None,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> pa.RecordBatchReader:
        """The files that versions of the open branch refer to, from ``min_version`` on, as batches.

        The columns ``version``, ``base_uri``, ``path`` (below it) and ``type``: manifest, or data,
        deletion, transaction or index file. A file of several versions is listed for each. Files of
        blobs, and of indices of other tables, which pylance leaves out, are listed, too.
        ``progress`` is called with the number of manifests that are done, and of all. Raises
        `CorruptFileError`.
        """
        return table_files.referenced_files(self._snapshot, min_version, progress)

    def all_files(self) -> pa.RecordBatchReader:
        """The files below the table's root, as batches of ``base_uri``, ``path``, size and time."""
        return table_files.present_files(self._snapshot)

    def migrate_manifest_paths_v2(self) -> None:
        """Rename the manifests to the V2 naming scheme, and open the newest version.

        No other process may write to the table at the same time, and writers that had it open must
        open it again. `lance_core.dataset.migrate_manifest_paths_v2` completes an interrupted
        migration. Raises `UnsupportedFeatureError` if an external manifest store keeps the names.
        """
        naming_migration.migrate(self._snapshot.root)
        self._snapshot = open_table.open_version(self._snapshot.root)

    @staticmethod
    def drop(
        base_uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        ignore_not_found: bool | None = None,
    ) -> None:
        """Remove a table and all files in its folder.

        No process may write to the table at the same time. A second call completes an interrupted
        drop. Raises `DatasetNotFoundError`, unless ``ignore_not_found``, and `InvalidInputError` if
        the folder is not a table.
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


_NAMED = {"older_than", "retain_versions", "versions", "delete_unverified"}
"""The arguments that both cleanup methods name themselves."""


def _check(options: Mapping[str, object], known: set[str]) -> None:
    for name in options.keys() - known:
        raise unknown_argument(name, known | _NAMED)
