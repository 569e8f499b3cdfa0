"""`LanceDataset.commit_batch`: commit the rows of several transactions as one version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypedDict, TypeVar

from lance_core.commits.options import CommitOptions
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.values.operations import LanceOperation
from lance_core.dataset.values.transaction import Transaction
from lance_core.dataset.write.commit import commit_operation
from lance_core.errors import InvalidInputError, UnsupportedFeatureError

D = TypeVar("D")


class BulkCommitResult(TypedDict, Generic[D]):
    """The dataset at the new version, and the transaction that was committed."""

    dataset: D
    merged: Transaction


def commit_batch(
    root: TableRoot,
    transactions: Sequence[Transaction],
    options: CommitOptions,
    properties: Mapping[str, str],
) -> tuple[Snapshot, Transaction]:
    """Commit `merged` of ``transactions``; return the new version and the merged transaction."""
    transaction = merged(transactions)
    return commit_operation(root, transaction, None, options, properties), transaction


def merged(transactions: Sequence[Transaction]) -> Transaction:
    """One Append of all fragments, based on the oldest ``read_version`` of ``transactions``.

    It is a new transaction without the properties of ``transactions``. Raises `InvalidInputError`
    if ``transactions`` is empty, `UnsupportedFeatureError` for other operations.
    """
    if not isinstance(transactions, Sequence):
        raise TypeError(f"transactions must be a sequence, got {type(transactions).__name__}")
    fragments = []
    for transaction in transactions:
        if not isinstance(transaction, Transaction):
            raise TypeError(
                f"transactions must be Transaction objects, got {type(transaction).__name__}"
            )
        if not isinstance(transaction.operation, LanceOperation.Append):
            raise UnsupportedFeatureError(
                "only Append transactions can be committed together, not "
                f"{type(transaction.operation).__name__}"
            )
        fragments += transaction.operation.fragments
    if not transactions:
        raise InvalidInputError("transactions is empty: pass at least one")
    read_version = min(transaction.read_version for transaction in transactions)
    return Transaction(read_version, LanceOperation.Append(fragments))
