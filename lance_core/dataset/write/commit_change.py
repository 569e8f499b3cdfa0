"""Commit changes that the library computes itself from an open version."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.options import DEFAULT_OPTIONS
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit import commit
from lance_core.errors import CommitConflictError, CorruptFileError, LanceError
from lance_core.lazy_dataclass import replace
from lance_core.table.transactions.operations import Operation, Restore
from lance_core.table.transactions.transaction import Transaction


def new_transaction(
    snapshot: Snapshot,
    operation: Operation,
    environment: Environment = SYSTEM,
    properties: Mapping[str, str] | None = None,
) -> Transaction:
    """A new transaction with ``operation``, which was computed from ``snapshot``."""
    uuid = str(environment.new_uuid())
    return Transaction(snapshot.version, uuid, operation, dict(properties or {}))


def commit_change(
    snapshot: Snapshot, operation: Operation, properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Commit ``operation``, which was computed from ``snapshot``, as a new version.

    Raises the errors of `commit_transaction`: `CommitConflictError`, or `CommitUnknownError`, after
    which the written files must be kept.
    """
    transaction = new_transaction(snapshot, operation, properties=properties)
    return commit(snapshot.root, snapshot, transaction, DEFAULT_OPTIONS)


def restore(snapshot: Snapshot) -> Snapshot:
    """Commit a new version with the content of ``snapshot``; later versions stay readable.

    The newest version need not be readable: see `_unreadable`. Raises `CommitConflictError` if
    another version has the number of ``snapshot`` now.
    """
    ours = snapshot.file
    there = open_table.load(snapshot.root, open_table.locate(snapshot.root, snapshot.version)).file
    # A transaction has a UUID; versions without a transaction are compared as a whole.
    if there.transaction != ours.transaction or (ours.transaction is None and there != ours):
        raise CommitConflictError(
            f"version {snapshot.version} is not the open version any more: the table was "
            "recreated; open it again"
        )
    try:
        newest = open_table.open_version(snapshot.root)
    except CorruptFileError:
        newest = _unreadable(snapshot)
    return commit_change(newest, Restore(snapshot.version))


def _unreadable(snapshot: Snapshot) -> Snapshot:
    """The newest version, whose manifest is damaged, with the content of the one before it.

    Of several damaged ones, the content is that of the newest that can be read. A Restore takes
    only the highest ids from it; those that the damaged versions added are used again, which
    nothing that can be read refers to.
    """
    location = open_table.latest_location(snapshot.root)
    for version in range(location.version - 1, snapshot.version, -1):
        with contextlib.suppress(LanceError):
            before = open_table.load(snapshot.root, open_table.locate(snapshot.root, version))
            break
    else:
        before = snapshot
    manifest = replace(before.file.manifest, version=location.version)
    return Snapshot(snapshot.root, replace(before.file, manifest=manifest), location)
