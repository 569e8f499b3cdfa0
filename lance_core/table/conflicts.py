"""Which transactions can be committed after which others: the table, and the check.

A transaction computed from version N can become version M > N + 1 only if it goes together with
every transaction committed in between. What goes together was measured on release 14 of the
reference implementation, which commits to the same tables.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.table.operations.base import Operation
from lance_core.table.operations.base import OperationKind as Kind
from lance_core.table.transaction import Transaction


class Verdict(enum.Enum):
    """What the table says about a pair."""

    COMPATIBLE = "."
    RETRYABLE_IF_SHARED = "s"
    """Retryable if both touch the same fragment, else compatible."""
    RETRYABLE = "R"
    """Computing the change again from the newest version may succeed."""
    INCOMPATIBLE = "X"


_COLUMNS = (
    Kind.APPEND,
    Kind.DELETE,
    Kind.UPDATE_ROWS,
    Kind.UPDATE_COLUMNS,
    Kind.OVERWRITE,
    Kind.CREATE_INDEX,
    Kind.REWRITE,
    Kind.MERGE,
    Kind.MERGE_SAFE,
    Kind.PROJECT,
    Kind.PROJECT_SAFE,
    Kind.RESTORE,
    Kind.UPDATE_CONFIG,
    Kind.UPDATE_METADATA,
    Kind.DATA_REPLACEMENT,
    Kind.RESERVE_FRAGMENTS,
    Kind.UPDATE_MEM_WAL,
    Kind.CLONE,
    Kind.UPDATE_BASES,
    Kind.DATA_OVERLAY,
    Kind.UNKNOWN,
)
"""What was committed, in the order of the columns below."""

_ROWS = {
    # Appended, deleted, updated (rows, columns), overwritten, indexed, rewritten, merged (2x),
    # projected (2x), restored, configured (2x), replaced | reserved, log, clone, bases, overlay, ?
    Kind.APPEND: ". . . . X . . R . R . X . . . . X X . . X",
    Kind.DELETE: ". s s s X . s R R . . X . . s . X X . s X",
    Kind.OVERWRITE: ". . . . R . . . . . . . . . . . X X . . X",
}
"""One row for each kind of transaction that this library commits."""

MATRIX: Mapping[Kind, Mapping[Kind, Verdict]] = {
    ours: dict(zip(_COLUMNS, map(Verdict, row.split()), strict=True)) for ours, row in _ROWS.items()
}
"""``MATRIX[committing][committed]``."""

_SEVERITY = list(Verdict)


def verdict(ours: Operation, committed: Operation) -> Verdict:
    """What becomes of ``ours`` after ``committed``; never `Verdict.RETRYABLE_IF_SHARED`.

    Kinds that the table has no row for are incompatible with everything.
    """
    worst = Verdict.COMPATIBLE
    for our_kind in ours.kinds:
        row = MATRIX.get(our_kind)
        for kind in committed.kinds:
            found = Verdict.INCOMPATIBLE if row is None else row[kind]
            if found is Verdict.RETRYABLE_IF_SHARED:
                shared = ours.touched_fragments & committed.touched_fragments
                found = Verdict.RETRYABLE if shared else Verdict.COMPATIBLE
            worst = max(worst, found, key=_SEVERITY.index)
    return worst


def check(transaction: Transaction, committed: Transaction | None, version: int) -> None:
    """Raise unless ``transaction`` can follow ``committed``, which led to ``version``.

    None stands for a version that does not say which transaction led to it: nothing is compatible
    with that. Raises `RetryableCommitConflictError` or `CommitConflictError`.
    """
    ours = _names(transaction.operation)
    based = f"{ours} computed from version {transaction.read_version}"
    if committed is None:
        raise CommitConflictError(
            f"commit conflict: {based} meets version {version}, whose transaction is not known"
        )
    found = verdict(transaction.operation, committed.operation)
    theirs = _names(committed.operation)
    if found is Verdict.RETRYABLE:
        raise RetryableCommitConflictError(
            f"commit conflict: {based} was overtaken by {theirs}, committed as version {version}; "
            "retry on the newest version"
        )
    if found is Verdict.INCOMPATIBLE:
        raise CommitConflictError(
            f"commit conflict: {based} is incompatible with {theirs}, "
            f"committed as version {version}"
        )


def _names(operation: Operation) -> str:
    return " and ".join(kind.value for kind in operation.kinds)
