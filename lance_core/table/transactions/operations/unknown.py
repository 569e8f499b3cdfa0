"""An operation that this library does not know, or the missing operation of a transaction."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind


@dataclass(frozen=True, slots=True)
class UnknownOperation(Operation):
    """An operation that conflicts with every other.

    ``payload`` is the serialized transaction without ``read_version``, ``uuid``, ``tag`` and
    ``transaction_properties``.
    """

    payload: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.UNKNOWN,)

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("a transaction with an unknown operation cannot be applied")

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        message.MergeFromString(self.payload)
