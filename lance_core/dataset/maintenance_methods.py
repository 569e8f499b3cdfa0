"""The part of `LanceDataset` that looks after a table's files."""

from __future__ import annotations

from lance_core.dataset.opened import Opened
from lance_core.dataset.validate import check_table


class MaintenanceMethods(Opened):
    """Checks and tidies what the table is stored as."""

    def validate(self) -> None:
        """Check that every file of the version is there and agrees with the manifest."""
        check_table(self._snapshot)
