"""``Transaction.UpdateBases``: add base paths, additional roots for files of the table."""

from __future__ import annotations

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.manifest_parts import BasePath, next_base_id
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class UpdateBases(Operation):
    """Adds base paths; a base path with id 0 gets the next free id."""

    new_bases: tuple[BasePath, ...]
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.UPDATE_BASES,)

    def apply(self, draft: Draft) -> Draft:
        bases = list(draft.base_paths)
        for base in self.new_bases:
            for other in bases:
                if base.path == other.path or (base.name and base.name == other.name):
                    raise InvalidInputError(
                        f"base path {base.path!r} (name {base.name!r}) already exists"
                    )
                if base.id and base.id == other.id:
                    raise InvalidInputError(f"base path id {base.id} is in use")
            bases.append(base if base.id else replace(base, id=next_base_id(bases)))
        return replace(draft, base_paths=tuple(bases))

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.UpdateBases) -> UpdateBases:
        return cls(tuple(map(BasePath.from_proto, message.new_bases)), unknown_fields(message))

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.UpdateBases(
            new_bases=[base.to_proto() for base in self.new_bases]
        )
        body.MergeFromString(self.unknown)
        message.update_bases.CopyFrom(body)
