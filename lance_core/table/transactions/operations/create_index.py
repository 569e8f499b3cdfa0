"""``Transaction.CreateIndex``: add, replace or remove indices."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_coverage import is_system_index
from lance_core.table.indices.index_metadata import IndexMetadata
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class CreateIndex(Operation):
    """Adds ``new_indices`` and removes ``removed_indices``, which are identified by uuid only."""

    new_indices: tuple[IndexMetadata, ...]
    removed_indices: tuple[IndexMetadata, ...] = ()
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.CREATE_INDEX,)

    def apply(self, draft: Draft) -> Draft:
        """The draft with changed indices.

        A new index does not replace one with the same name: both are parts of one index.
        """
        fields = frozenset(draft.schema.field_ids)
        removed = {index.uuid for index in self.removed_indices}
        remaining = tuple(index for index in draft.indices if index.uuid not in removed)
        known = {index.uuid for index in remaining}
        for index in self.new_indices:
            if index.uuid in known:
                raise InvalidInputError(f"index {index.uuid} already exists or is listed twice")
            if not is_system_index(index) and not fields.issuperset(index.fields):
                raise InvalidInputError(
                    f"index {index.name!r} is over fields {list(index.fields)}, "
                    "which are not all in the schema"
                )
            known.add(index.uuid)
        return draft.with_indices(remaining + self.new_indices)

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.CreateIndex) -> CreateIndex:
        return cls(
            tuple(map(IndexMetadata.from_proto, message.new_indices)),
            tuple(map(IndexMetadata.from_proto, message.removed_indices)),
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.CreateIndex(
            new_indices=[index.to_proto() for index in self.new_indices],
            removed_indices=[index.to_proto() for index in self.removed_indices],
        )
        body.MergeFromString(self.unknown)
        message.create_index.CopyFrom(body)
