"""``Transaction.Restore``: an old version's content becomes the newest version's."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.draft import Draft
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Restore(Operation):
    """Brings back ``version``. Applying it needs that version as `Draft.source`."""

    version: int
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.RESTORE,)

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("Restore cannot be applied yet")

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Restore) -> Restore:
        return cls(message.version, unknown_fields(message))

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Restore(version=self.version)
        body.MergeFromString(self.unknown)
        message.restore.CopyFrom(body)
