"""The methods of `LanceDataset` for versions, tags, branches and clones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, Unpack

from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.snapshot import open_dataset, open_table
from lance_core.dataset.values.base_path import DatasetBasePath
from lance_core.errors import UnsupportedFeatureError
from lance_core.imports.on_demand import lazy_module
from lance_core.store.secret import hide_secrets
from lance_core.table.manifest.version_summary import VersionSummary

if TYPE_CHECKING:
    import os

    from lance_core.dataset import branches as _branches
    from lance_core.dataset import delta as _delta
    from lance_core.dataset import tags as _tags
    from lance_core.dataset.arguments import CloneArguments
    from lance_core.dataset.branches import Branches
    from lance_core.dataset.delta import DatasetDelta
    from lance_core.dataset.maintenance import clone
    from lance_core.dataset.snapshot import versions
    from lance_core.dataset.snapshot.open_table import Reference
    from lance_core.dataset.tags import Tags
    from lance_core.dataset.values import listings
    from lance_core.dataset.values.transaction import Transaction
else:
    _branches = lazy_module("lance_core.dataset.branches")
    _delta = lazy_module("lance_core.dataset.delta")
    _tags = lazy_module("lance_core.dataset.tags")
    clone = lazy_module("lance_core.dataset.maintenance.clone")
    versions = lazy_module("lance_core.dataset.snapshot.versions")


@short_tracebacks
class HistoryMethods(DatasetBase):
    """Lists, describes and opens the versions of the table."""

    @property
    def latest_version(self) -> int:
        """The number of the newest version in the store."""
        return open_table.latest_location(self._snapshot.root).version

    def versions(self) -> list[listings.Version]:
        """Every version that can be opened, oldest first, with number, local time and totals."""
        return versions.describe_all(self._snapshot.root)

    def get_version(self) -> listings.Version:
        """The open version, with the keys of `versions`."""
        return versions.describe(VersionSummary.of(self._snapshot.manifest))

    def checkout_version(self, version: open_table.VersionLike) -> Self:
        """A new dataset for another version of the same table.

        ``version``: a number on the open branch, the name of a tag, or a tuple of a branch (None or
        "main" for the main branch) and a number (None for the newest). Raises
        `DatasetNotFoundError` and `RefNotFoundError`.
        """
        snapshot = open_table.open_version(self._snapshot.root, version)
        return type(self).of(snapshot, self._scan_defaults)

    def checkout_latest(self) -> None:
        """Move this dataset to the newest version."""
        self._snapshot = open_table.open_version(self._snapshot.root, None)

    def read_transaction(self, version: int) -> Transaction | None:
        """The transaction that committed a version, None if it was not recorded."""
        return versions.transaction(self._snapshot.root, version)

    def get_transactions(self, recent_transactions: int = 10) -> list[Transaction | None]:
        """The transactions of the newest versions up to the open one, newest first."""
        return versions.recent_transactions(self._snapshot, recent_transactions)

    def delta(
        self,
        compared_against: int | None = None,
        *,
        begin_version: int | None = None,
        end_version: int | None = None,
    ) -> DatasetDelta:
        """The changes between two versions: transactions, and inserted, updated and deleted rows.

        The changes after ``begin_version`` up to and including ``end_version``;
        ``compared_against`` stands for ``begin_version``, with the open version as end. Raises
        `InvalidInputError` if a version is missing.
        """
        snapshot = self._snapshot
        return _delta.DatasetDelta.of(snapshot, compared_against, begin_version, end_version)

    def version_refs(self) -> list[listings.VersionRef]:
        """The numbers of all versions of the open branch, oldest first; reads no manifest."""
        handler = self._snapshot.root.handler
        return [{"version": location.version} for location in handler.list_versions()]

    def base_paths(self) -> dict[int, DatasetBasePath]:
        """The base paths of this version, by id: locations of files outside of the table's root."""
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
        """Create a branch that starts from the version ``reference``, and open it.

        ``reference`` has the meaning of `Tags.create`. The branch's files are inside the table, so
        ``storage_options`` must be those of the table. Raises `InvalidRefError`,
        `RefConflictError` if the branch exists, `DatasetNotFoundError` if the version does not
        exist, and `CommitUnknownError`.
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
        **options: Unpack[CloneArguments],
    ) -> Self:
        """Create a table with the content of a version, whose files stay in this table.

        ``reference`` has the meaning of `Tags.create`. ``storage_options``: by default those of
        this table. ``options``: see `lance_core.dataset`. A cleanup of this table does not see its
        clones, so keep a tag on the version while clones need its files. The returned clone may
        read them; callers that open the clone by its URI must set ``allow_base_paths``. Raises
        `DatasetExistsError` if the target has a table.
        """
        storage_options = hide_secrets(storage_options)
        defaults = options.pop("default_scan_options", None)
        _check(options)
        made = clone.shallow_clone(self._snapshot, target_path, reference, storage_options)
        return type(self).of(made, defaults)

    def deep_clone(
        self,
        target_path: str | os.PathLike[str],
        reference: Reference,
        storage_options: Mapping[str, str] | None = None,
        **options: Unpack[CloneArguments],
    ) -> Self:
        """Create a table with copies of all files of a version, which needs its source no more.

        Files in base paths are copied as well, so the clone has none. See `shallow_clone` for the
        arguments and errors.
        """
        storage_options = hide_secrets(storage_options)
        defaults = options.pop("default_scan_options", None)
        _check(options)
        made = clone.deep_clone(self._snapshot, target_path, reference, storage_options)
        return type(self).of(made, defaults)


def _check(options: Mapping[str, Any]) -> None:
    open_dataset.check_options(options)
    if options.get("base_store_params"):
        raise UnsupportedFeatureError("a clone has the 'base_store_params' of its source")
    if options.get("namespace_client") is not None or options.get("table_id") is not None:
        raise UnsupportedFeatureError("a clone cannot be made in a namespace: name its target_path")
