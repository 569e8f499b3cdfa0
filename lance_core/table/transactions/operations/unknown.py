"""An operation that is newer than this library, or a transaction without one."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind


@dataclass(frozen=True, slots=True)
class UnknownOperation(Operation):
    """``payload`` is what the transaction holds besides its envelope. Conflicts with everything."""

    payload: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.UNKNOWN,)

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("a transaction with an unknown operation cannot be applied")

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        message.MergeFromString(self.payload)
