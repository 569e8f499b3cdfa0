"""`DatasetBase`: the state that all base classes of `LanceDataset` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from lance_core.dataset.snapshot.snapshot import Snapshot


class DatasetBase:
    """An open version of a table, with the default options of its scans."""

    _snapshot: Snapshot
    _scan_defaults: dict[str, Any]

    @classmethod
    def of(cls, snapshot: Snapshot, scan_defaults: Mapping[str, Any] | None = None) -> Self:
        """A dataset for a version that is already open."""
        dataset = cls.__new__(cls)
        dataset._snapshot = snapshot  # noqa: SLF001  # set by the class itself
        dataset._scan_defaults = dict(scan_defaults or {})  # noqa: SLF001  # as above
        return dataset

    @property
    def snapshot(self) -> Snapshot:
        """The open version; an internal value that pylance does not have."""
        return self._snapshot

    def move_to(self, snapshot: Snapshot) -> None:
        """Open another version in place; an internal method that pylance does not have."""
        self._snapshot = snapshot
