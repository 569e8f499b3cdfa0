"""``Transaction.ReserveFragments``: reserve fragment ids before the fragments are written."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class ReserveFragments(Operation):
    """Reserves the next ``num_fragments`` ids, which end at the new ``max_fragment_id``."""

    num_fragments: int
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.RESERVE_FRAGMENTS,)

    def apply(self, draft: Draft) -> Draft:
        return replace(draft, max_fragment_id=draft.max_fragment_id_after(self.num_fragments))

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.ReserveFragments) -> ReserveFragments:
        return cls(message.num_fragments, unknown_fields(message))

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.ReserveFragments(num_fragments=self.num_fragments)
        body.MergeFromString(self.unknown)
        message.reserve_fragments.CopyFrom(body)
