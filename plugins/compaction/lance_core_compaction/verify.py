"""Compare the rows of the newest compaction with the rows that it has rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core.errors import (
    CompactionError,
    CorruptFileError,
    DatasetNotFoundError,
    NotFoundError,
)
from lance_core.maintenance import (
    Fragment,
    Rewrite,
    Snapshot,
    Transaction,
    open_table,
    scan_batches,
    transaction_of,
)
from lance_core.optimize import CompactionCheck
from lance_core_compaction.checksum import checksum
from lance_core_compaction.stored_rows import all_rows, rows_plan


def verify(snapshot: Snapshot) -> CompactionCheck:
    """Read the rows of the newest compaction up to ``snapshot``, before and after it.

    Raises `CorruptFileError` naming the fragments if rows differ, and `CompactionError` if there is
    no compaction, or if a cleanup has removed files that it has read.
    """
    after, transaction, rewrite = _newest_compaction(snapshot)
    checksums, rows = [], 0
    for group in rewrite.groups:
        # The transaction has the old fragments with their deletions when they were read.
        old, new = list(group.old_fragments), list(group.new_fragments)
        try:
            old_checksum, new_checksum = _checksum(after, old), _checksum(after, new)
        except NotFoundError as error:
            raise CompactionError(
                f"the compaction of version {after.version} cannot be verified, because a file was "
                f"removed: {error}"
            ) from error
        if old_checksum != new_checksum:
            raise CorruptFileError(
                f"the rows of fragments {_ids(old)} before the compaction and those of fragments "
                f"{_ids(new)} after it are not the same"
            )
        checksums.append(old_checksum)
        rows += sum(after.live_rows(fragment) for fragment in new)
    return CompactionCheck(transaction.read_version, after.version, rows, checksums)


def _newest_compaction(snapshot: Snapshot) -> tuple[Snapshot, Transaction, Rewrite]:
    current = snapshot
    while True:
        transaction = transaction_of(current.root.store, current.file)
        if transaction is not None and isinstance(transaction.operation, Rewrite):
            return current, transaction, transaction.operation
        try:
            current = open_table.open_version(snapshot.root, current.version - 1)
        except DatasetNotFoundError:
            raise CompactionError(f"no version up to {snapshot.version} is a compaction") from None


def _checksum(snapshot: Snapshot, fragments: Sequence[Fragment]) -> str:
    plan = rows_plan(snapshot.schema, all_rows(snapshot, fragments), 1 << 14)
    return checksum(scan_batches(snapshot, plan))


def _ids(fragments: Sequence[Fragment]) -> str:
    return ", ".join(str(fragment.id) for fragment in fragments)
