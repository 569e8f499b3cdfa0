"""``Transaction`` (``transaction.proto``): an operation, its read version and its uuid.

The same bytes are stored in the manifest of the new version and in a transaction file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from lance_core._pb import transaction_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.paths import transaction_file_name
from lance_core.table.transactions.operations import (
    Append,
    Clone,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    PreservedOperation,
    Project,
    ReserveFragments,
    Restore,
    Rewrite,
    UnknownOperation,
    Update,
    UpdateBases,
    UpdateConfig,
)
from lance_core.table.unknown_fields import parse

COMMIT_MESSAGE = "__lance_commit_message"
"""Key of `Transaction.properties` that holds the commit message."""

_ENVELOPE = ("read_version", "uuid", "tag", "transaction_properties")


@dataclass(frozen=True, slots=True)
class Transaction:
    """A change of a table.

    ``read_version`` is the version that the change was computed from, 0 for a new table; it stays
    the same when the change is rebased. ``uuid`` is generated once and is the same in every retry.
    """

    read_version: int
    uuid: str
    operation: Operation
    properties: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    tag: str = ""
    unknown: bytes = b""

    @property
    def file_name(self) -> str:
        """Name of the transaction file."""
        return transaction_file_name(self.read_version, self.uuid)

    @property
    def has_blob_operation(self) -> bool:
        """True if the transaction also changes the separate blob table of early releases."""
        if not self.unknown:
            return False
        rest = parse(transaction_pb2.Transaction, self.unknown, "Transaction")
        return rest.WhichOneof("blob_operation") is not None

    @classmethod
    def from_bytes(cls, data: bytes, path: str = "") -> Transaction:
        """Decode a transaction; ``path`` is for error messages.

        An operation that this library does not know becomes an `UnknownOperation`. Raises
        `CorruptFileError` if ``data`` is not a transaction.
        """
        try:
            message = parse(transaction_pb2.Transaction, data, "Transaction")
            return cls.from_proto(message)
        except CorruptFileError as error:
            raise error.at(path, field="Transaction") from None

    def to_bytes(self) -> bytes:
        """Serialize; equal transactions give equal bytes."""
        return self.to_proto().SerializeToString(deterministic=True)

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction) -> Transaction:
        rest = transaction_pb2.Transaction()
        rest.CopyFrom(message)
        for name in _ENVELOPE:
            rest.ClearField(name)  # type: ignore[arg-type]  # one of several literals
        rest.ClearField("operation")
        unknown = rest.SerializeToString()
        arm = message.WhichOneof("operation")
        return cls(
            message.read_version,
            message.uuid,
            UnknownOperation(unknown) if arm is None else _OPERATIONS[arm](getattr(message, arm)),
            dict(message.transaction_properties),
            message.tag,
            b"" if arm is None else unknown,
        )

    def to_proto(self) -> transaction_pb2.Transaction:
        message = transaction_pb2.Transaction(
            read_version=self.read_version,
            uuid=self.uuid,
            tag=self.tag,
            transaction_properties=self.properties,
        )
        self.operation.add_to(message)
        message.MergeFromString(self.unknown)
        return message


_OPERATIONS: Mapping[str, Callable[[Any], Operation]] = {
    "append": Append.from_proto,
    "delete": Delete.from_proto,
    "overwrite": Overwrite.from_proto,
    "create_index": CreateIndex.from_proto,
    "rewrite": Rewrite.from_proto,
    "merge": Merge.from_proto,
    "restore": Restore.from_proto,
    "reserve_fragments": ReserveFragments.from_proto,
    "update": Update.from_proto,
    "project": Project.from_proto,
    "update_config": UpdateConfig.from_proto,
    "data_replacement": DataReplacement.from_proto,
    "update_mem_wal_state": PreservedOperation.from_mem_wal,
    "clone": Clone.from_proto,
    "update_bases": UpdateBases.from_proto,
    "data_overlay": PreservedOperation.from_overlay,
}
"""The decoder of each field of the oneof ``Transaction.operation``."""
