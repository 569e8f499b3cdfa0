"""``Transaction.Update``: change rows, in new fragments or in new files of their fragments."""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lance_core._pb import transaction_pb2
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.unknown_fields import without_known
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList, fragment_ids
from lance_core.table.indices.index_coverage import with_moved_rows, without_fragments
from lance_core.table.indices.index_metadata import decode_fragment_ids
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_lineage import updated_at, with_moved_versions
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.transactions.operations.key_filter import KeyExistenceFilter

if TYPE_CHECKING:
    from lance_core.table.fragments.deletion import RowOffsets

_NOT_INTERPRETED = frozenset({"compacted_sstables", "updated_fragment_offsets"})


class UpdateMode(enum.Enum):
    """Location of the new values of an update."""

    REWRITE_ROWS = 0
    """In new fragments; the old rows are marked as deleted."""
    REWRITE_COLUMNS = 1
    """In new files of the same fragments."""


@dataclass(frozen=True, slots=True)
class Update(Operation):
    """Changes ``updated_fragments``, removes ``removed_fragment_ids`` and adds ``new_fragments``.

    ``fields_modified`` are the ids of the fields with new values in the same fragments, and
    ``fields_for_preserving_frag_bitmap`` those with new values in the new fragments: an index with
    row ids on other fields covers the moved rows, too. ``updated_fragment_offsets`` has, by
    fragment id, a Roaring bitmap of the physical row offsets that new columns change.
    ``affected_rows`` are the physical offsets by fragment id of the moved or deleted rows, if
    known; they are not stored. ``unknown`` includes known fields that this library does not
    interpret.
    """

    removed_fragment_ids: tuple[int, ...]
    updated_fragments: Sequence[Fragment]
    new_fragments: Sequence[Fragment]
    fields_modified: tuple[int, ...] = ()
    fields_for_preserving_frag_bitmap: tuple[int, ...] = ()
    update_mode: UpdateMode = UpdateMode.REWRITE_ROWS
    inserted_rows: KeyExistenceFilter | None = None
    updated_fragment_offsets: Mapping[int, bytes] = dataclasses.field(
        default_factory=dict, hash=False
    )
    unknown: bytes = b""
    affected_rows: Mapping[int, RowOffsets] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        if self.update_mode is UpdateMode.REWRITE_COLUMNS:
            return (OperationKind.UPDATE_COLUMNS,)
        # Not all writers that replace values in place state the mode.
        columns = (OperationKind.UPDATE_COLUMNS,) if self.fields_modified else ()
        return (OperationKind.UPDATE_ROWS, *columns)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset((*self.removed_fragment_ids, *fragment_ids(self.updated_fragments)))

    def apply(self, draft: Draft) -> Draft:
        """The draft after the update; moved rows keep their stable ids, new rows get new ids."""
        touched = self._touched(draft)
        removed = frozenset(self.removed_fragment_ids)
        by_id = {fragment.id: fragment for fragment in self.updated_fragments}
        others = self.updated_fragment_offsets.keys() - by_id.keys()
        if others:
            raise InvalidInputError(f"rows of fragment {min(others)}, which is not updated")
        updated = {
            id_: self._updated(draft, touched[id_], fragment) for id_, fragment in by_id.items()
        }
        for fragment in updated.values():
            draft = draft.with_files_of(fragment)
        remaining = draft.fragments.changed(updated, removed)
        after = draft.with_new_fragments(remaining, self.new_fragments, fill_row_ids=True)
        if draft.stable_row_ids:
            placed = self._placed(draft, touched.values(), after.fragments[len(remaining) :])
            after = replace(after, fragments=remaining + FragmentList.of(placed))
        after = replace(after, has_deletion_files=None)
        if draft.index_section is not None:
            pruned = without_fragments(draft.indices, self.fields_modified, by_id)
            changed = self.fields_for_preserving_frag_bitmap
            if draft.stable_row_ids and changed and self.new_fragments:
                moved = self._fragments_of_moved_rows(after.fragments[len(remaining) :])
                pruned = with_moved_rows(pruned, changed, touched, moved)
            after = after.with_indices(pruned).with_retained_indices()
        return after

    def _fragments_of_moved_rows(self, new: Sequence[Fragment]) -> list[int]:
        """The ids of those ``new`` fragments that have no new rows."""
        return [
            fragment.id
            for stated, fragment in zip(self.new_fragments, new, strict=True)
            if isinstance(stated.row_ids, bytes)
            and RowIdSequence.from_bytes(stated.row_ids).count == stated.physical_rows
        ]

    def _placed(
        self, draft: Draft, touched: Collection[Fragment], new: Sequence[Fragment]
    ) -> Iterator[Fragment]:
        """The ``new`` fragments, where moved rows have the versions of their creation.

        They come from ``touched``, unless a caller names ids of rows that it does not delete.
        """
        for stated, fragment in zip(self.new_fragments, new, strict=True):
            if stated.row_ids is None:
                yield fragment
            else:
                sources = itertools.chain(touched, draft.fragments)
                yield with_moved_versions(fragment, sources, draft.next_row_id, draft.version)

    def _touched(self, draft: Draft) -> dict[int, Fragment]:
        """The current fragments of ``draft`` that the operation updates or removes, by id."""
        ids = (*self.removed_fragment_ids, *fragment_ids(self.updated_fragments))
        touched: dict[int, Fragment] = {}
        for id_ in ids:
            current = draft.fragments.by_id(id_)
            if current is None or id_ in touched:
                raise InvalidInputError(f"fragment {id_} is not in the table or is named twice")
            touched[id_] = current
        return touched

    def _updated(self, draft: Draft, current: Fragment, new: Fragment) -> Fragment:
        """``current`` with the files and deleted rows of ``new``.

        Files of columns that were dropped after the update was computed are not added again.
        """
        if new.physical_rows not in (None, current.physical_rows):
            raise InvalidInputError(f"fragment {new.id} must not change its number of rows")
        fields = frozenset(draft.schema.field_ids)
        there = {file.path for file in current.files}
        files = tuple(
            file for file in new.files if file.path in there or not fields.isdisjoint(file.fields)
        )
        changed = replace(
            current,
            files=files or current.files,
            deletion_file=new.deletion_file or current.deletion_file,
        )
        _ = changed.num_rows
        offsets = self.updated_fragment_offsets.get(new.id)
        in_place = self.update_mode is UpdateMode.REWRITE_COLUMNS
        if not draft.stable_row_ids or not in_place or not offsets:
            return changed
        rows = np.array(decode_fragment_ids(offsets).to_array(), dtype=np.int64)
        return updated_at(changed, rows, draft.version)

    @classmethod
    def from_proto(cls, message: transaction_pb2.Transaction.Update) -> Update:
        """Raises `CorruptFileError` for an unknown update mode."""
        try:
            mode = UpdateMode(message.update_mode)
        except ValueError as error:
            raise CorruptFileError(str(error), field="Update.update_mode") from None
        inserted = message.inserted_rows if message.HasField("inserted_rows") else None
        return cls(
            tuple(message.removed_fragment_ids),
            FragmentList(fragment.SerializeToString() for fragment in message.updated_fragments),
            FragmentList(fragment.SerializeToString() for fragment in message.new_fragments),
            tuple(message.fields_modified),
            tuple(message.fields_for_preserving_frag_bitmap),
            mode,
            None if inserted is None else KeyExistenceFilter.from_proto(inserted),
            dict(message.updated_fragment_offset_bitmaps),
            without_known(message, _NOT_INTERPRETED),
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        inserted = self.inserted_rows
        columns = self.update_mode is UpdateMode.REWRITE_COLUMNS
        body = transaction_pb2.Transaction.Update(
            removed_fragment_ids=self.removed_fragment_ids,
            updated_fragments=[fragment.to_proto() for fragment in self.updated_fragments],
            new_fragments=[fragment.to_proto() for fragment in self.new_fragments],
            fields_modified=self.fields_modified,
            fields_for_preserving_frag_bitmap=self.fields_for_preserving_frag_bitmap,
            update_mode=(
                transaction_pb2.Transaction.REWRITE_COLUMNS
                if columns
                else transaction_pb2.Transaction.REWRITE_ROWS
            ),
            inserted_rows=None if inserted is None else inserted.to_proto(),
            updated_fragment_offset_bitmaps=self.updated_fragment_offsets,
        )
        body.MergeFromString(self.unknown)
        message.update.CopyFrom(body)
