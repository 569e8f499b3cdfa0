"""Recognise a transaction that is in the table already.

A transaction keeps its uuid through all retries, but two writers may use the same uuid, so the
content is compared as well. Rebasing changes the content; therefore a rebased transaction records a
digest of the original one in its properties.
"""

from __future__ import annotations

import hashlib

from lance_core.errors import CommitConflictError
from lance_core.lazy_dataclass import replace
from lance_core.table.transactions.transaction import Transaction

INTENT = "lance_core.intent"
"""Key of `Transaction.properties`: SHA-256, in hex, of the transaction before rebasing."""


class IdentityTakenError(CommitConflictError):
    """Another change has the same transaction id, and therefore the same transaction file."""


def with_intent(rebased: Transaction, original: Transaction) -> Transaction:
    """``rebased`` with the digest of ``original`` in its properties."""
    return replace(rebased, properties={**rebased.properties, INTENT: _digest(original)})


def is_same(committed: Transaction, ours: Transaction, version: int) -> bool:
    """True if the transaction of ``version`` is ``ours``, perhaps rebased.

    Raises `IdentityTakenError` if it is another change with the same uuid.
    """
    if committed.uuid != ours.uuid:
        return False
    if committed.to_bytes() == ours.to_bytes():
        return True
    if committed.properties.get(INTENT) in (_digest(ours), ours.properties.get(INTENT, "-")):
        return True
    raise IdentityTakenError(
        f"version {version} is another change with the same transaction id {committed.uuid}: "
        "use a different id for each change"
    )


def _digest(transaction: Transaction) -> str:
    return hashlib.sha256(transaction.to_bytes()).hexdigest()
