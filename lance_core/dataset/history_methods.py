"""The part of `LanceDataset` that goes through a table's history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from lance_core.dataset.mixin_base import Opened
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.on_demand import lazy_module
from lance_core.store.secret import hide_secrets

if TYPE_CHECKING:
    import os

    from lance_core.dataset import branches as _branches
    from lance_core.dataset import tags as _tags
    from lance_core.dataset.branches import Branches
    from lance_core.dataset.maintenance import clone
    from lance_core.dataset.snapshot import versions
    from lance_core.dataset.snapshot.open_table import Reference
    from lance_core.dataset.tags import Tags
    from lance_core.dataset.values.transaction import Transaction
else:
    _branches = lazy_module("lance_core.dataset.branches")
    _tags = lazy_module("lance_core.dataset.tags")
    clone = lazy_module("lance_core.dataset.maintenance.clone")
    versions = lazy_module("lance_core.dataset.snapshot.versions")


class HistoryMethods(Opened):
    """Lists, describes and opens the versions of the table."""

    @property
    def latest_version(self) -> int:
        """Number of the newest version that there is now."""
        return open_table.latest_location(self._snapshot.root).version

    def versions(self) -> list[dict[str, Any]]:
        """Every version that can be opened, oldest first: number, local time, and totals."""
        return versions.describe_all(self._snapshot.root)

    def get_version(self) -> dict[str, Any]:
        """The open version, described as `versions` does."""
        return versions.describe(self._snapshot.manifest)

    def checkout_version(self, version: open_table.VersionLike) -> Self:
        """Another version of the same table, as a dataset of its own.

        ``version`` is a number on the branch that is open, the name of a tag, or a branch (None or
        "main" for the main one) with a number (None for the newest). Raises `DatasetNotFoundError`
        and `RefNotFoundError`.
        """
        snapshot = open_table.open_version(self._snapshot.root, version)
        return type(self).of(snapshot, self._scan_defaults)

    def checkout_latest(self) -> None:
        """Move this dataset to the newest version."""
        self._snapshot = open_table.open_version(self._snapshot.root, None)

    def read_transaction(self, version: int) -> Transaction | None:
        """The transaction that made a version, None if it was not recorded."""
        return versions.transaction(self._snapshot.root, version)

    def get_transactions(self, recent_transactions: int = 10) -> list[Transaction | None]:
        """The transactions of the newest versions up to the open one, newest first."""
        return versions.recent_transactions(self._snapshot, recent_transactions)

    def version_refs(self) -> list[dict[str, int]]:
        """The number of every version of the branch that is open, oldest first; reads none."""
        handler = self._snapshot.root.handler
        return [{"version": found.version} for found in handler.list_versions()]

    def base_paths(self) -> dict[int, DatasetBasePath]:
        """The other places that files of this version may be in, by their ids."""
        bases = self._snapshot.manifest.base_paths
        return {base.id: DatasetBasePath.of(base) for base in bases}

    @property
    def tags(self) -> Tags:
        """The table's tags."""
        return _tags.Tags(self)

    @property
    def branches(self) -> Branches:
        """The table's branches."""
        return _branches.Branches(self)

    def create_branch(
        self,
        branch: str,
        reference: Reference = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """Make a branch that begins with a version, and open it; see `Tags.create` for which.

        The branch's files are within the table, so ``storage_options`` are those of the table.
        Raises `InvalidRefError`, `RefConflictError` if there is such a branch,
        `DatasetNotFoundError` if there is no such version, and `CommitUnknownError`.
        """
        storage_options = hide_secrets(storage_options)
        return type(self).of(
            _branches.create_branch(self._snapshot, branch, reference), self._scan_defaults
        )

    def shallow_clone(
        self,
        target_path: str | os.PathLike[str],
        reference: Reference,
        storage_options: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """A new table with the content of a version, whose files stay in this table.

        ``reference`` as of `Tags.create`. ``storage_options`` by default those of this table;
        ``options`` as of `lance_core.dataset`. This table does not know of its clones: keep the
        version, by a tag, for as long as they need its files. The clone that is returned may read
        them; whoever opens it by its URI has to allow base paths. Raises `DatasetExistsError`.
        """
        storage_options = hide_secrets(storage_options)
        defaults = options.pop("default_scan_options", None)
        open_table.check_options(options)
        made = clone.shallow_clone(self._snapshot, target_path, reference, storage_options)
        return type(self).of(made, defaults)

    def deep_clone(
        self,
        target_path: str | os.PathLike[str],
        reference: Reference,
        storage_options: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """A new table with copies of all files of a version; arguments as of `shallow_clone`."""
        storage_options = hide_secrets(storage_options)
        defaults = options.pop("default_scan_options", None)
        open_table.check_options(options)
        made = clone.deep_clone(self._snapshot, target_path, reference, storage_options)
        return type(self).of(made, defaults)
