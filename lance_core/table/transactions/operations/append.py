"""``Transaction.Append`` (``transaction.proto``): add rows in new fragments."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """Adds ``fragments`` after the existing ones; the commit assigns ids to fragments with id 0."""

    fragments: Sequence[Fragment]
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.APPEND,)

    def apply(self, draft: Draft) -> Draft:
        if draft.is_new_table:
            raise InvalidInputError("the table to append to does not exist")
        if any(fragment.deletion_file is not None for fragment in self.fragments):
            raise InvalidInputError("fragments with deleted rows cannot be appended")
        return draft.with_new_fragments(draft.fragments, self.fragments)

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Append) -> Append:
        raw = (fragment.SerializeToString() for fragment in message.fragments)
        return cls(FragmentList(raw), unknown_fields(message))

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        message.append.SetInParent()
        message.append.fragments.extend(fragment.to_proto() for fragment in self.fragments)
        message.append.MergeFromString(self.unknown)
