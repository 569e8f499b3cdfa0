"""Telling one's own transaction in a table from everybody else's.

A transaction keeps its uuid through all retries, but a uuid alone could have been used twice, so
its content counts as well. Rebasing changes the content: whoever rebases records a digest of what
was asked for in the properties, by which the transaction is known again.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from lance_core.errors import CommitConflictError
from lance_core.table.transactions.transaction import Transaction

INTENT = "lance_core.intent"
"""Key of `Transaction.properties`: SHA-256, in hex, of the transaction before it was rebased."""


class IdentityTakenError(CommitConflictError):
    """Another change has the same transaction id, and so its transaction file the same name."""


def with_intent(rebased: Transaction, original: Transaction) -> Transaction:
    """``rebased``, known again as ``original``."""
    return replace(rebased, properties={**rebased.properties, INTENT: _digest(original)})


def is_same(committed: Transaction, ours: Transaction, version: int) -> bool:
    """Whether what led to ``version`` is ``ours``, perhaps rebased.

    Raises `IdentityTakenError` if it is another change that has the same uuid.
    """
    if committed.uuid != ours.uuid:
        return False
    if committed.to_bytes() == ours.to_bytes():
        return True
    if committed.properties.get(INTENT) in (_digest(ours), ours.properties.get(INTENT, "-")):
        return True
    raise IdentityTakenError(
        f"version {version} is another change with the same transaction id {committed.uuid}: "
        "give each change an id of its own"
    )


def _digest(transaction: Transaction) -> str:
    return hashlib.sha256(transaction.to_bytes()).hexdigest()
