"""``Transaction.Merge``: add columns to the rows of all fragments."""

from __future__ import annotations

from collections.abc import Sequence

from lance_core._pb import transaction_pb2
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.proto import encode_metadata
from lance_core.schema.tree import Schema
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList, fragment_ids
from lance_core.table.manifest.manifest_draft import Draft, check_new_fields
from lance_core.table.row_ids.row_lineage import updated_everywhere
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields


@dataclass(frozen=True, slots=True)
class Merge(Operation):
    """Replaces the schema, and the files of all fragments; may add fragments.

    ``fragments`` are all fragments, and new ones, whose ids are above all ids that were ever used.
    ``schema`` is the schema after the operation. If
    ``preserves_nullability``, every new column is nullable, so that rows without it remain valid.
    """

    fragments: Sequence[Fragment]
    schema: Schema
    preserves_nullability: bool = False
    unknown: bytes = b""

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        safe = self.preserves_nullability
        return (OperationKind.MERGE_SAFE if safe else OperationKind.MERGE,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset(fragment_ids(self.fragments))

    def apply(self, draft: Draft) -> Draft:
        """The draft with the new columns; row ids and creation versions do not change.

        ``fragments`` must contain the fragments of the table, each once.
        """
        if draft.is_new_table:
            raise InvalidInputError("the table to merge columns into does not exist")
        same = isinstance(self.fragments, FragmentList) and self.fragments == draft.fragments
        ids = fragment_ids(self.fragments)
        known = frozenset(draft.fragments.ids)
        unused = draft.max_fragment_id_after(1) or 0
        if len(set(ids)) < len(ids) or {id_ for id_ in ids if id_ < unused} != known:
            raise InvalidInputError("a Merge must name every fragment of the table once")
        updated: dict[int, Fragment] = {}
        new: list[Fragment] = []
        for stated in () if same else self.fragments:
            if stated.id >= unused:
                new.append(stated)
                continue
            current = draft.fragments[draft.fragments.positions[stated.id]]
            if stated.physical_rows not in (None, current.physical_rows):
                raise InvalidInputError(f"fragment {stated.id} must not change its number of rows")
            changed = replace(
                current,
                files=tuple(stated.files),
                deletion_file=stated.deletion_file or current.deletion_file,
            )
            if changed == current:
                continue
            _ = changed.num_rows
            draft = draft.with_files_of(changed)
            if draft.stable_row_ids and changed.files != current.files:
                changed = updated_everywhere(changed, draft.version)
            updated[stated.id] = changed
        if any(fragment.deletion_file is not None for fragment in new):
            raise InvalidInputError("fragments with deleted rows cannot be added")
        after = replace(
            draft.with_new_fragments(draft.fragments.changed(updated, ()), new),
            schema=self.schema,
            has_deletion_files=None,
        )
        check_new_fields(draft.schema, after)
        return after.with_retained_indices()

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Merge) -> Merge:
        raw = (fragment.SerializeToString() for fragment in message.fragments)
        return cls(
            FragmentList(raw),
            Schema.from_proto(message.schema, message.schema_metadata),
            message.preserves_nullability,
            unknown_fields(message),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        stated = self.fragments
        if isinstance(stated, FragmentList):
            fragments = stated.messages()
        else:
            fragments = [fragment.to_proto() for fragment in stated]
        body = transaction_pb2.Transaction.Merge(
            schema=self.schema.to_proto(),
            schema_metadata=encode_metadata(self.schema.metadata),
            preserves_nullability=self.preserves_nullability,
        )
        body.MergeFromString(self.unknown)
        message.merge.CopyFrom(body)
        message.merge.fragments.extend(fragments)
