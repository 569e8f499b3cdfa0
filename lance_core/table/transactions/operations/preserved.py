"""Operations of other writers that this library checks for conflicts but cannot apply."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind


@dataclass(frozen=True, slots=True)
class PreservedOperation(Operation):
    """An operation in serialized form.

    ``arm`` is its field name in the oneof ``Transaction.operation``, ``payload`` its message.
    """

    arm: str
    operation_kinds: tuple[OperationKind, ...]
    fragment_ids: frozenset[int]
    payload: bytes

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return self.operation_kinds

    @property
    def touched_fragments(self) -> frozenset[int]:
        return self.fragment_ids

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError(f"{self.kinds[0].value} cannot be applied")

    @classmethod
    def from_mem_wal(
        cls, message: transaction_pb2.Transaction.UpdateMemWalState
    ) -> PreservedOperation:
        """Preserve an ``UpdateMemWalState`` message."""
        kinds = (OperationKind.UPDATE_MEM_WAL,)
        return cls(
            "update_mem_wal_state",
            kinds,
            frozenset(),
            message.SerializeToString(deterministic=True),
        )

    @classmethod
    def from_overlay(cls, message: transaction_pb2.Transaction.DataOverlay) -> PreservedOperation:
        """Preserve a ``DataOverlay`` message."""
        ids = frozenset(group.fragment_id for group in message.groups)
        return cls(
            "data_overlay",
            (OperationKind.DATA_OVERLAY,),
            ids,
            message.SerializeToString(deterministic=True),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        getattr(message, self.arm).MergeFromString(self.payload)
        getattr(message, self.arm).SetInParent()
