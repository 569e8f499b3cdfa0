"""The part of `LanceDataset` that makes versions: writes and commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from lance_core.dataset import opening
from lance_core.dataset.commit import CommitOptions, commit_operation
from lance_core.dataset.input import ReaderLike
from lance_core.dataset.opened import Opened
from lance_core.dataset.operation import LanceOperation, Transaction
from lance_core.dataset.snapshot import Target
from lance_core.dataset.write import write


class ChangeMethods(Opened):
    """Makes new versions of the table."""

    def insert(self, data: ReaderLike, *, mode: str = "append", **options: Any) -> None:
        """Write rows as `lance_core.write_dataset` does, and move to the new version."""
        self._snapshot = write(data, self, None, mode, options)

    @classmethod
    def commit(
        cls,
        base_uri: Target,
        operation: LanceOperation.BaseOperation | Transaction,
        read_version: int | None = None,
        storage_options: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """Make a version out of an operation whose files are already written.

        ``read_version``: the version that the operation is based on; needed for every operation
        but Overwrite. ``options`` as of `CommitOptions`.
        """
        root = opening.root_of(base_uri, storage_options)
        return cls.of(commit_operation(root, operation, read_version, CommitOptions.of(options)))
