"""``Transaction.Clone``: a table or branch begins with a version of another."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core._pb import transaction_pb2
from lance_core.errors import UnsupportedFeatureError
from lance_core.table.draft import Draft
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Clone(Operation):
    """The first transaction of a copy of version ``ref_version`` of the table at ``ref_path``.

    A shallow one leaves the files where they are. ``ref_name`` is the branch of the source, None
    for the main one; ``branch_name`` the branch that this makes, None if it makes a table. Applying
    it needs the version as `Draft.source`.
    """

    is_shallow: bool
    ref_name: str | None
    ref_version: int
    ref_path: str
    branch_name: str | None = None
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.CLONE,)

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("Clone cannot be applied yet")

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Clone) -> Clone:
        return cls(
            message.is_shallow,
            message.ref_name if message.HasField("ref_name") else None,
            message.ref_version,
            message.ref_path,
            message.branch_name if message.HasField("branch_name") else None,
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Clone(
            is_shallow=self.is_shallow,
            ref_name=self.ref_name,
            ref_version=self.ref_version,
            ref_path=self.ref_path,
            branch_name=self.branch_name,
        )
        body.MergeFromString(self.unknown)
        message.clone.CopyFrom(body)
