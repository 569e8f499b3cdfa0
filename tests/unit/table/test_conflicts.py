from __future__ import annotations

import pytest

from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.schema.tree import Schema
from lance_core.table.conflicts import MATRIX, Verdict, check, verdict
from lance_core.table.fragment import Fragment
from lance_core.table.operations import (
    Append,
    Delete,
    Operation,
    OperationKind,
    Overwrite,
    PreservedOperation,
    UnknownOperation,
)
from lance_core.table.transaction import Transaction

KIND = OperationKind
APPEND, OVERWRITE = Append((Fragment(0),)), Overwrite((), Schema())

# Each line: the committed operation, then what an Append, a Delete of rows of the same fragment, a
# Delete elsewhere and an Overwrite meet: "." compatible, R retryable, X incompatible.
EXPECTED = """
    APPEND             . . . .
    DELETE             . R . .
    UPDATE_ROWS        . R . .
    UPDATE_COLUMNS     . R . .
    OVERWRITE          X X X R
    CREATE_INDEX       . . . .
    REWRITE            . R . .
    MERGE              R R R .
    MERGE_SAFE         . R R .
    PROJECT            R . . .
    PROJECT_SAFE       . . . .
    RESTORE            X X X .
    UPDATE_CONFIG      . . . .
    UPDATE_METADATA    . . . .
    DATA_REPLACEMENT   . R . .
    RESERVE_FRAGMENTS  . . . .
    UPDATE_MEM_WAL     X X X X
    CLONE              X X X X
    UPDATE_BASES       . . . .
    DATA_OVERLAY       . R . .
    UNKNOWN            X X X X
"""


def committed(kind: OperationKind) -> Operation:
    """An operation of this kind; if it touches fragments at all, it touches fragment 1."""
    if kind is KIND.APPEND:
        return APPEND
    if kind is KIND.OVERWRITE:
        return OVERWRITE
    if kind is KIND.DELETE:
        return Delete((Fragment(1),), (2,), "")
    if kind is KIND.UNKNOWN:
        return UnknownOperation()
    return PreservedOperation("", (kind,), frozenset({1, 2}), b"")


CASES = [
    (ours, committed(KIND[line.split()[0]]), Verdict(line.split()[column]))
    for line in EXPECTED.strip().splitlines()
    for column, ours in enumerate(
        (APPEND, Delete((), (1,), ""), Delete((Fragment(9),), (), ""), OVERWRITE), start=1
    )
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), CASES)
def test_the_matrix_is_the_measured_one(
    ours: Operation, theirs: Operation, expected: Verdict
) -> None:
    assert verdict(ours, theirs) is expected
    transaction = Transaction(3, "ours", ours)
    other = Transaction(3, "theirs", theirs)
    if expected is Verdict.COMPATIBLE:
        check(transaction, other, 4)
        return
    with pytest.raises(CommitConflictError) as caught:
        check(transaction, other, 4)
    assert isinstance(caught.value, RetryableCommitConflictError) is (expected is Verdict.RETRYABLE)
    for text in ("version 3", "version 4", ours.kinds[0].value, theirs.kinds[0].value):
        assert text in str(caught.value)


def test_the_matrix_has_a_verdict_for_every_kind() -> None:
    assert len(CASES) == 4 * len(OperationKind)
    for row in MATRIX.values():
        assert set(row) == set(OperationKind)


def test_an_operation_that_does_several_things_meets_the_worst_of_them() -> None:
    both = PreservedOperation("", (KIND.APPEND, KIND.RESTORE, KIND.PROJECT), frozenset(), b"")
    assert verdict(APPEND, both) is Verdict.INCOMPATIBLE


def test_what_this_library_cannot_commit_is_incompatible() -> None:
    assert verdict(committed(KIND.REWRITE), APPEND) is Verdict.INCOMPATIBLE


def test_a_version_without_a_known_transaction_is_incompatible() -> None:
    with pytest.raises(CommitConflictError, match="version 4, whose transaction is not known"):
        check(Transaction(3, "u", APPEND), None, 4)
