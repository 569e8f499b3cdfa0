"""The part of `LanceDataset` that goes through a table's history."""

from __future__ import annotations

from typing import Any, Self

from lance_core.dataset import opening, versions
from lance_core.dataset.opened import Opened
from lance_core.dataset.operation import Transaction


class HistoryMethods(Opened):
    """Lists, describes and opens the versions of the table."""

    @property
    def latest_version(self) -> int:
        """Number of the newest version that there is now."""
        return opening.latest_location(self._snapshot.root).version

    def versions(self) -> list[dict[str, Any]]:
        """Every version that can be opened, oldest first: number, local time, and totals."""
        return versions.describe_all(self._snapshot.root)

    def get_version(self) -> dict[str, Any]:
        """The open version, described as `versions` does."""
        return versions.describe(self._snapshot.manifest)

    def checkout_version(self, version: opening.VersionLike) -> Self:
        """Another version of the same table, as a dataset of its own; (None, None) is the newest.

        Raises `DatasetNotFoundError`.
        """
        snapshot = opening.open_version(self._snapshot.root, version)
        return type(self).of(snapshot, self._scan_defaults)

    def checkout_latest(self) -> None:
        """Move this dataset to the newest version."""
        self._snapshot = opening.open_version(self._snapshot.root, None)

    def read_transaction(self, version: int) -> Transaction | None:
        """The transaction that made a version, None if it was not recorded."""
        return versions.transaction(self._snapshot.root, version)

    def get_transactions(self, recent_transactions: int = 10) -> list[Transaction | None]:
        """The transactions of the newest versions up to the open one, newest first."""
        return versions.recent_transactions(self._snapshot, recent_transactions)
