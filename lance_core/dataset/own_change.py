"""Changes that the library works out itself, from a version that is open."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping

from lance_core.dataset import opening
from lance_core.dataset.commit import CommitOptions, commit
from lance_core.dataset.snapshot import Snapshot
from lance_core.table.operations import Operation, Restore
from lance_core.table.transaction import Transaction

_OPTIONS = CommitOptions()


def commit_change(
    snapshot: Snapshot, operation: Operation, properties: Mapping[str, str] | None = None
) -> Snapshot:
    """Make a version of ``operation``, which was worked out from ``snapshot``."""
    uuid = str(uuids.uuid4())
    transaction = Transaction(snapshot.version, uuid, operation, dict(properties or {}))
    return commit(snapshot.root, snapshot, transaction, _OPTIONS)


def restore(snapshot: Snapshot) -> Snapshot:
    """Make the content of ``snapshot`` the newest version's; what came after it stays readable."""
    newest = opening.open_version(snapshot.root)
    return commit_change(newest, Restore(snapshot.version))
