"""Changes that the library works out itself, from a version that is open."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping

from lance_core.commits.options import DEFAULT_OPTIONS
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit import commit
from lance_core.errors import CommitConflictError
from lance_core.table.transactions.operations import Operation, Restore
from lance_core.table.transactions.transaction import Transaction


def commit_change(
    snapshot: Snapshot, operation: Operation, properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Make a version of ``operation``, which was worked out from ``snapshot``."""
    uuid = str(uuids.uuid4())
    transaction = Transaction(snapshot.version, uuid, operation, dict(properties or {}))
    return commit(snapshot.root, snapshot, transaction, DEFAULT_OPTIONS)


def restore(snapshot: Snapshot) -> Snapshot:
    """Make the content of ``snapshot`` the newest version's; what came after it stays readable.

    Raises `CommitConflictError` if another version has its number by now.
    """
    ours = snapshot.file
    there = open_table.load(snapshot.root, open_table.locate(snapshot.root, snapshot.version)).file
    # A transaction has an identity; versions without one are compared as a whole.
    if there.transaction != ours.transaction or (ours.transaction is None and there != ours):
        raise CommitConflictError(
            f"version {snapshot.version} is not the one that is open: the table was made anew; "
            "open it again"
        )
    newest = open_table.open_version(snapshot.root)
    return commit_change(newest, Restore(snapshot.version))
