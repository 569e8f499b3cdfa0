"""Conflicts of transactions: the conflict table and the check.

A transaction computed from version N can become version M > N + 1 only if it is compatible with
each transaction committed in between. The table was measured on release 14 of the reference
implementation, which commits to the same tables. See "Conflicts" in docs/format/table.md.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.table.transactions import conflict_conditions as conditions
from lance_core.table.transactions.operations.base import Operation
from lance_core.table.transactions.operations.base import OperationKind as Kind
from lance_core.table.transactions.transaction import Transaction


class Verdict(enum.Enum):
    """An entry of the conflict table: the verdict on ``ours`` after the committed operation.

    Entries with a lower-case letter depend on a condition on the two operations.
    """

    COMPATIBLE = "."
    RETRYABLE_IF_SHARED_ROWS = "r"
    """Retryable if both touch the same fragment and the rows that ``ours`` touches are unknown.

    If the rows are known, the commit merges the deleted rows of both operations. The merge fails if
    both touch the same row.
    """
    RETRYABLE_IF_SHARED = "s"
    """Retryable if both touch the same fragment."""
    RETRYABLE_IF_SHARED_ROWS_OR_KEYS = "u"
    """Retryable under the condition of ``r``, or if both insert the same key."""
    RETRYABLE_IF_SHARED_OR_KEYS = "v"
    """Retryable under the condition of ``s``, or if both insert the same key."""
    RETRYABLE_IF_SAME_NAME = "n"
    """Retryable if both create or remove an index with the same name."""
    RETRYABLE_IF_COVERED = "c"
    """Retryable if a rewrite moves rows that the other operation indexes.

    Also retryable if the other removes an index that the rewrite replaces to update row addresses.
    """
    RETRYABLE_IF_INDEXED = "i"
    """Retryable if one operation replaces values or the type of a field that the other indexes."""
    RETRYABLE_IF_SAME_FIELD = "f"
    """Retryable if both replace values of the same field."""
    RETRYABLE_IF_SAME_CELLS = "g"
    """Retryable if both replace values of the same field in the same fragment."""
    RETRYABLE_IF_DESCRIBED = "e"
    """Retryable if the other changed metadata of a field, and ``ours`` has the old metadata."""
    RETRYABLE_IF_REPLACED = "a"
    """Retryable if the other removed a field that the appended rows have, as a change of type does.

    The rows would have no values in the field that replaces it.
    """
    INCOMPATIBLE_IF_REMOVED = "d"
    """Incompatible if the other removed a fragment that ``ours`` touches."""
    INCOMPATIBLE_IF_SAME_KEY = "k"
    """Incompatible if both set the same config key or change the same key of table metadata."""
    INCOMPATIBLE_IF_SAME_METADATA = "m"
    """Incompatible if both change the schema's metadata, or the metadata of the same field."""
    INCOMPATIBLE_IF_SAME_BASE = "b"
    """Incompatible if both add a base path with the same name, path or id."""
    RETRYABLE = "R"
    """The caller can compute the change again from the newest version, which may succeed."""
    INCOMPATIBLE = "X"


_KINDS = {
    "Ap": Kind.APPEND,
    "De": Kind.DELETE,
    "Ur": Kind.UPDATE_ROWS,
    "Uc": Kind.UPDATE_COLUMNS,
    "Ov": Kind.OVERWRITE,
    "CI": Kind.CREATE_INDEX,
    "Rw": Kind.REWRITE,
    "Me": Kind.MERGE,
    "Mn": Kind.MERGE_SAFE,
    "Pr": Kind.PROJECT,
    "Pn": Kind.PROJECT_SAFE,
    "Re": Kind.RESTORE,
    "Co": Kind.UPDATE_CONFIG,
    "Md": Kind.UPDATE_METADATA,
    "DR": Kind.DATA_REPLACEMENT,
    "RF": Kind.RESERVE_FRAGMENTS,
    "MW": Kind.UPDATE_MEM_WAL,
    "Cl": Kind.CLONE,
    "UB": Kind.UPDATE_BASES,
    "DO": Kind.DATA_OVERLAY,
    "??": Kind.UNKNOWN,
}
"""The abbreviations of the table, which docs/format/table.md uses, too."""

_TABLE = """
   Ap De Ur Uc Ov CI Rw Me Mn Pr Pn Re Co Md DR RF MW Cl UB DO ??
Ap .  .  .  .  X  .  .  R  a  R  .  X  .  .  .  .  X  X  .  .  X
De .  r  r  s  X  .  s  R  R  .  .  X  .  .  s  .  X  X  .  s  X
Ur .  r  u  v  X  .  s  R  R  R  .  X  .  .  s  .  X  X  .  s  X
Uc .  s  v  v  X  .  s  R  R  R  .  X  .  .  s  .  X  X  .  s  X
Ov .  .  .  .  R  .  .  .  .  .  .  .  .  .  .  .  X  X  .  .  X
CI .  .  .  i  X  n  c  .  .  .  .  X  .  .  i  .  .  X  .  R  X
Rw .  s  s  s  X  c  s  R  R  .  .  X  .  .  s  .  .  X  .  s  X
Me R  R  R  R  X  i  R  R  R  X  X  X  .  R  R  .  X  X  .  R  X
Mn R  R  R  R  X  i  R  R  R  X  X  X  .  R  R  .  X  X  .  R  X
Pr R  .  R  R  X  .  .  R  R  R  R  X  .  e  R  .  X  X  .  R  X
Pn .  .  .  .  X  .  .  R  R  R  R  X  .  e  .  .  X  X  .  R  X
Re .  .  .  .  .  .  .  .  .  .  .  .  .  X  .  .  X  X  .  .  X
Co .  .  .  .  .  .  .  .  .  .  .  .  k  .  .  .  .  X  .  .  X
Md .  .  .  .  X  .  .  R  R  .  .  X  .  m  .  .  X  X  .  .  X
DR .  d  s  f  X  i  s  R  R  R  .  X  .  .  g  .  X  X  .  s  X
RF .  .  .  .  X  .  .  .  .  .  .  X  .  .  .  .  .  X  .  .  X
UB .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  X  b  .  X
"""
"""A row for the operation to commit, a column for the one committed after its read version.

Each operation that can be committed to an existing table has a row. A clone can only be the first
transaction of a table. Some entries are stricter than the reference implementation. An index built
before its field was replaced in place would index old values, and a change of the field's type
would drop the index. A projection contains the fields with their metadata, so it would undo changes
of the metadata. The removal of an index that a rewrite has replaced would have no effect. Rows
appended with a field whose type was changed would lose its values.
"""


def _parsed(table: str) -> dict[Kind, dict[Kind, Verdict]]:
    head, *rows = (line.split() for line in table.strip().splitlines())
    committed = [_KINDS[name] for name in head]
    return {
        _KINDS[ours]: dict(zip(committed, map(Verdict, verdicts), strict=True))
        for ours, *verdicts in rows
    }


MATRIX: Mapping[Kind, Mapping[Kind, Verdict]] = _parsed(_TABLE)
"""``MATRIX[committing][committed]``."""

_CONDITIONS: Mapping[Verdict, tuple[Callable[[Operation, Operation], bool], Verdict]] = {
    Verdict.RETRYABLE_IF_SHARED_ROWS: (conditions.unresolved_rows, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_SHARED: (conditions.shared_fragments, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_SHARED_ROWS_OR_KEYS: (
        conditions.unresolved_rows_or_keys,
        Verdict.RETRYABLE,
    ),
    Verdict.RETRYABLE_IF_SHARED_OR_KEYS: (
        conditions.shared_fragments_or_keys,
        Verdict.RETRYABLE,
    ),
    Verdict.RETRYABLE_IF_SAME_NAME: (conditions.same_index_name, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_COVERED: (conditions.indexed_fragments, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_INDEXED: (conditions.indexed_fields, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_SAME_FIELD: (conditions.same_fields, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_SAME_CELLS: (conditions.same_cells, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_DESCRIBED: (conditions.described_fields, Verdict.RETRYABLE),
    Verdict.RETRYABLE_IF_REPLACED: (conditions.replaced_fields, Verdict.RETRYABLE),
    Verdict.INCOMPATIBLE_IF_REMOVED: (conditions.removed_fragments, Verdict.INCOMPATIBLE),
    Verdict.INCOMPATIBLE_IF_SAME_KEY: (conditions.same_config_key, Verdict.INCOMPATIBLE),
    Verdict.INCOMPATIBLE_IF_SAME_METADATA: (conditions.same_metadata, Verdict.INCOMPATIBLE),
    Verdict.INCOMPATIBLE_IF_SAME_BASE: (conditions.same_base, Verdict.INCOMPATIBLE),
}
"""The condition of each conditional verdict and the verdict if it holds; else compatible."""

_SEVERITY = (Verdict.COMPATIBLE, Verdict.RETRYABLE, Verdict.INCOMPATIBLE)


def verdict(ours: Operation, committed: Operation) -> Verdict:
    """The verdict on ``ours`` after ``committed``: compatible, retryable or incompatible.

    A kind without a row in the table is incompatible with every operation.
    """
    worst = Verdict.COMPATIBLE
    for our_kind in ours.kinds:
        row = MATRIX.get(our_kind)
        for kind in committed.kinds:
            result = Verdict.INCOMPATIBLE if row is None else row[kind]
            if result in _CONDITIONS:
                holds, consequence = _CONDITIONS[result]
                result = consequence if holds(ours, committed) else Verdict.COMPATIBLE
            worst = max(worst, result, key=_SEVERITY.index)
    return worst


def check(transaction: Transaction, committed: Transaction | None, version: int) -> None:
    """Raise an error unless ``transaction`` can follow ``committed``, which created ``version``.

    ``committed`` is None if the version does not record its transaction; every transaction
    conflicts with it. Raises `RetryableCommitConflictError` or `CommitConflictError`.
    """
    ours = _names(transaction.operation)
    based = f"{ours} computed from version {transaction.read_version}"
    if committed is None:
        raise CommitConflictError(
            f"Commit conflict for version {version}: {based} meets a version whose transaction is "
            "not known"
        )
    result = verdict(transaction.operation, committed.operation)
    theirs = _names(committed.operation)
    if result is Verdict.RETRYABLE:
        raise RetryableCommitConflictError(
            f"Retryable commit conflict for version {version}: {based} was overtaken by {theirs}; "
            "retry on the newest version"
        )
    if result is Verdict.INCOMPATIBLE:
        raise CommitConflictError(
            f"Commit conflict for version {version}: {based} is incompatible with {theirs}, "
            "committed in the meantime"
        )


def _names(operation: Operation) -> str:
    return " and ".join(kind.value for kind in operation.kinds)
