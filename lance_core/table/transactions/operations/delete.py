"""``Transaction.Delete``: mark rows as deleted and remove fragments that have no rows left."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList, fragment_ids
from lance_core.table.manifest.manifest_draft import Draft, check_bases
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields

if TYPE_CHECKING:
    from lance_core.table.fragments.deletion import RowOffsets


@dataclass(frozen=True, slots=True)
class Delete(Operation):
    """Sets the deletion files of ``updated_fragments`` and removes ``deleted_fragment_ids``.

    ``predicate`` is the text of the filter that selected the rows. ``affected_rows`` are the
    physical offsets by fragment id of the deleted rows, if known; they are not stored.
    """

    updated_fragments: Sequence[Fragment]
    deleted_fragment_ids: tuple[int, ...]
    predicate: str
    unknown: bytes = b""
    affected_rows: Mapping[int, RowOffsets] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.DELETE,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset((*fragment_ids(self.updated_fragments), *self.deleted_fragment_ids))

    def apply(self, draft: Draft) -> Draft:
        """The draft after the delete; only the deletion file of an updated fragment is used.

        The other attributes of an updated fragment are from the version that the delete read; a
        compatible commit in between may have changed them.
        """
        removed = frozenset(self.deleted_fragment_ids)
        updated: dict[int, Fragment] = {}
        for fragment in self.updated_fragments:
            current = draft.fragments.by_id(fragment.id)
            if current is None or fragment.id in removed or fragment.id in updated:
                raise InvalidInputError(
                    f"fragment {fragment.id} is not in the table or is named twice"
                )
            if fragment.deletion_file is None:
                raise InvalidInputError(f"updated fragment {fragment.id} has no deletion file")
            changed = replace(current, deletion_file=fragment.deletion_file)
            _ = changed.num_rows
            check_bases(changed, draft.base_paths)
            updated[fragment.id] = changed
        missing = removed.difference(draft.fragments.ids)
        if missing:
            raise InvalidInputError(f"fragment {min(missing)} is not in the table")
        fragments = draft.fragments.changed(updated, removed)
        after = replace(draft, fragments=fragments, has_deletion_files=None)
        return after.with_retained_indices()

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Delete) -> Delete:
        raw = (fragment.SerializeToString() for fragment in message.updated_fragments)
        return cls(
            FragmentList(raw),
            tuple(message.deleted_fragment_ids),
            message.predicate,
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = transaction_pb2.Transaction.Delete(
            updated_fragments=[fragment.to_proto() for fragment in self.updated_fragments],
            deleted_fragment_ids=self.deleted_fragment_ids,
            predicate=self.predicate,
        )
        body.MergeFromString(self.unknown)
        message.delete.CopyFrom(body)
