"""`Transaction`: a change that users pass to a commit, with its identity."""

from __future__ import annotations

import re
import uuid as uuids
from collections.abc import Mapping
from dataclasses import field

from lance_core.dataset.values.from_stored import operation_of
from lance_core.dataset.values.operations import LanceOperation
from lance_core.dataset.values.to_stored import MAX_VERSION, check_text
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.transactions.transaction import COMMIT_MESSAGE
from lance_core.table.transactions.transaction import Transaction as StoredTransaction

LANCE_COMMIT_MESSAGE_KEY = COMMIT_MESSAGE
"""The transaction property that holds the commit message; the name is pylance's."""

_UUID = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
"""Valid UUIDs of transactions; restricted because the UUID is part of a file name."""


@dataclass
class Transaction:
    """A change, the version it is based on, and a UUID that all retries share.

    ``transaction_properties``: text by name, stored with the transaction. The name
    ``__lance_commit_message`` holds the commit message.
    """

    read_version: int
    operation: LanceOperation.BaseOperation
    uuid: str = field(default_factory=lambda: str(uuids.uuid4()))
    transaction_properties: dict[str, str] | None = field(default_factory=dict)

    @classmethod
    def of(cls, transaction: StoredTransaction) -> Transaction:
        """The public value for a transaction of the table's history."""
        return cls(
            transaction.read_version,
            operation_of(transaction.operation),
            transaction.uuid,
            dict(transaction.properties),
        )

    def to_stored(self) -> StoredTransaction:
        """The transaction as the table stores it.

        Raises ``TypeError`` for an ``operation`` of another class, `InvalidInputError` for an
        invalid version, UUID or property.
        """
        if not isinstance(self.operation, LanceOperation.BaseOperation):
            raise TypeError(
                "operation of a Transaction must be a LanceOperation.BaseOperation, "
                f"got {type(self.operation).__name__}"
            )
        self._check_identity()
        return StoredTransaction(
            read_version=self.read_version,
            uuid=self.uuid,
            operation=self.operation.to_stored(),
            properties=properties_of(None, self.transaction_properties),
        )

    def _check_identity(self) -> None:
        read, uuid = self.read_version, self.uuid
        if not isinstance(read, int) or isinstance(read, bool) or not 0 <= read <= MAX_VERSION:
            raise InvalidInputError(f"read_version must be the number of a version, got {read!r}")
        if not isinstance(uuid, str) or not _UUID.fullmatch(uuid):
            raise InvalidInputError(
                f"uuid of a Transaction must be 1 to 128 letters, digits, '-' or '_', got {uuid!r}"
            )


def properties_of(message: str | None, properties: Mapping[str, str] | None) -> dict[str, str]:
    """Transaction properties, including the commit message.

    Raises `InvalidInputError` unless names and values are ``str``.
    """
    if properties is not None and not isinstance(properties, Mapping):
        raise InvalidInputError(f"transaction_properties must be a dict, got {properties!r}")
    merged = dict(properties or {})
    if message is not None:
        merged[COMMIT_MESSAGE] = message
    for name, value in merged.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidInputError(f"transaction property {name!r} is not text: {value!r}")
        check_text(name)
        check_text(value)
    return merged
