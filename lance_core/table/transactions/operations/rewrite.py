"""``Transaction.Rewrite``: store the same rows in other fragments (compaction)."""

from __future__ import annotations

import dataclasses
import uuid as uuids
from collections.abc import Sequence

from lance_core._pb import table_pb2, transaction_pb2
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList, fragment_ids
from lance_core.table.indices.index_coverage import (
    REUSE_INDEX,
    Groups,
    exchanged,
    has_row_ids,
    is_system_index,
    without_replaced,
)
from lance_core.table.indices.index_metadata import IndexDetails, IndexFile, IndexMetadata
from lance_core.table.manifest.manifest_draft import Draft
from lance_core.table.transactions.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction.Rewrite


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """``new_fragments`` hold the rows of ``old_fragments`` without deleted ones, in the same order.

    A new fragment has an id that an earlier ``ReserveFragments`` reserved, or id 0.
    """

    old_fragments: Sequence[Fragment]
    new_fragments: Sequence[Fragment]
    unknown: bytes = b""

    @classmethod
    def from_proto(cls, message: _Message.RewriteGroup) -> RewriteGroup:
        return cls(
            FragmentList(fragment.SerializeToString() for fragment in message.old_fragments),
            FragmentList(fragment.SerializeToString() for fragment in message.new_fragments),
            unknown_fields(message),
        )

    def to_proto(self) -> _Message.RewriteGroup:
        message = _Message.RewriteGroup(
            old_fragments=[fragment.to_proto() for fragment in self.old_fragments],
            new_fragments=[fragment.to_proto() for fragment in self.new_fragments],
        )
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class RewrittenIndex:
    """Index ``new_id`` replaces index ``old_id``; it refers to the new row addresses.

    ``coverage`` has the ``fragment_bitmap`` of the replaced index and of the new one; None if the
    latter follows from the groups of the rewrite. It is not stored in the transaction: only the
    creator of the operation has it.
    """

    old_id: uuids.UUID
    new_id: uuids.UUID
    new_index_details: IndexDetails | None = None
    new_index_version: int = 0
    new_index_files: tuple[IndexFile, ...] = ()
    unknown: bytes = b""
    coverage: tuple[bytes, bytes] | None = dataclasses.field(default=None, compare=False)

    @classmethod
    def from_proto(cls, message: _Message.RewrittenIndex) -> RewrittenIndex:
        """Raises `CorruptFileError` if a UUID does not have 16 bytes."""
        has_details = message.HasField("new_index_details")
        return cls(
            _uuid(message.old_id),
            _uuid(message.new_id),
            IndexDetails.from_proto(message.new_index_details) if has_details else None,
            message.new_index_version,
            tuple(map(IndexFile.from_proto, message.new_index_files)),
            unknown_fields(message),
        )

    def replacing(self, index: IndexMetadata, groups: Groups) -> IndexMetadata:
        """The metadata of ``index`` after the rewrite.

        Raises `InvalidInputError` if the coverage of ``index`` is unknown.
        """
        if index.fragments is None:
            raise InvalidInputError(f"index {index.uuid} does not say which fragments it covers")
        if self.coverage is None:
            (after,) = exchanged((index,), groups)
            bitmap = after.fragment_bitmap
        else:
            _, bitmap = self.coverage
        return replace(
            index,
            uuid=self.new_id,
            fragment_bitmap=bitmap,
            base_id=None,
            index_details=self.new_index_details or index.index_details,
            index_version=self.new_index_version,
            files=self.new_index_files,
        )

    def to_proto(self) -> _Message.RewrittenIndex:
        details = self.new_index_details
        message = _Message.RewrittenIndex(
            old_id=table_pb2.UUID(uuid=self.old_id.bytes),
            new_id=table_pb2.UUID(uuid=self.new_id.bytes),
            new_index_details=None if details is None else details.to_proto(),
            new_index_version=self.new_index_version,
            new_index_files=[file.to_proto() for file in self.new_index_files],
        )
        message.MergeFromString(self.unknown)
        return message


@dataclass(frozen=True, slots=True)
class NewReuseIndex:
    """``index`` is the fragment-reuse index after the rewrite.

    It extends the one with the uuid ``previous``; None if there was none.
    """

    previous: uuids.UUID | None
    index: IndexMetadata

    def placed(self, indices: Sequence[IndexMetadata], version: int) -> tuple[IndexMetadata, ...]:
        """``indices`` with this fragment-reuse index, at the end.

        Raises `RetryableCommitConflictError` if another writer has changed it since.
        """
        current = [index.uuid for index in indices if index.name == REUSE_INDEX]
        if current != ([] if self.previous is None else [self.previous]):
            raise RetryableCommitConflictError(
                f"Retryable commit conflict for version {version}: another compaction has changed "
                "the fragment-reuse index; retry on the newest version"
            )
        return (*(index for index in indices if index.name != REUSE_INDEX), self.index)


def _check_group(draft: Draft, group: RewriteGroup, removed: set[int]) -> None:
    """Raise `InvalidInputError` unless the new fragments can replace the old ones in the table."""
    old_rows: int | None = 0
    for id_ in fragment_ids(group.old_fragments):
        current = draft.fragments.by_id(id_)
        if current is None or id_ in removed:
            raise InvalidInputError(f"fragment {id_} is not in the table or is named twice")
        rows = current.num_rows
        old_rows = None if rows is None or old_rows is None else old_rows + rows
    counts = [fragment.num_rows for fragment in group.new_fragments]
    new_rows = sum(count for count in counts if count is not None)
    if old_rows is not None and None not in counts and new_rows != old_rows:
        raise InvalidInputError(
            f"a group of a rewrite stores {new_rows} rows instead of {old_rows}"
        )


@dataclass(frozen=True, slots=True)
class Rewrite(Operation):
    """Replaces groups of fragments, and indices whose row addresses change.

    ``first_is_older`` is True if the message stores its first group in the older form: in
    ``Rewrite.old_fragments`` and ``new_fragments`` instead of ``groups``. ``reuse_index`` is not
    stored in the transaction: only the creator of the operation has it.
    """

    groups: tuple[RewriteGroup, ...]
    rewritten_indices: tuple[RewrittenIndex, ...] = ()
    unknown: bytes = b""
    first_is_older: bool = False
    reuse_index: NewReuseIndex | None = None

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.REWRITE,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset(id_ for group in self.groups for id_ in fragment_ids(group.old_fragments))

    def apply(self, draft: Draft) -> Draft:
        """The draft after the rewrite; fragments are in the order of their ids.

        Raises `RetryableCommitConflictError` if a rewritten index was removed after the rewrite was
        computed.
        """
        removed: set[int] = set()
        for group in self.groups:
            _check_group(draft, group, removed)
            removed.update(fragment_ids(group.old_fragments))
        new = [fragment for group in self.groups for fragment in group.new_fragments]
        if draft.stable_row_ids and any(fragment.row_ids is None for fragment in new):
            raise InvalidInputError(
                "a rewritten fragment has no row ids in a table with stable row ids"
            )
        remaining = draft.fragments.changed({}, removed)
        placed = draft.with_new_fragments(remaining, new)
        groups, start = [], len(remaining)
        for group in self.groups:
            stop = start + len(group.new_fragments)
            ids = placed.fragments.ids[start:stop]
            groups.append((fragment_ids(group.old_fragments), ids))
            start = stop
        changed = replace(
            placed, fragments=placed.fragments.by_ascending_id(), has_deletion_files=None
        )
        indices = self._indices_of(draft, groups)
        if self.reuse_index is not None:
            indices = self.reuse_index.placed(indices, draft.version - 1)
        return changed.with_indices(indices)

    def _indices_of(self, draft: Draft, groups: Groups) -> tuple[IndexMetadata, ...]:
        """The indices after the rewrite.

        Rewritten indices cover the new fragments. In a table with stable row ids, so do indices
        with row ids; all others lose the removed fragments. Without stable row ids, the others keep
        the removed fragments in their lists, which has no effect. An index may have been removed or
        rewritten after this rewrite was computed.
        """
        rewritten = {index.old_id: index for index in self.rewritten_indices}
        indices = draft.indices
        missing = rewritten.keys() - {index.uuid for index in indices}
        if missing and draft.version > draft.read_version + 1:
            raise RetryableCommitConflictError(
                f"Retryable commit conflict for version {draft.version - 1}: the rewritten index "
                f"{min(missing)} does not exist in it; retry on the newest version"
            )
        if missing or len(rewritten) < len(self.rewritten_indices):
            raise InvalidInputError("a rewritten index is not in the table or is named twice")
        for index in indices:
            new = rewritten.get(index.uuid)
            if new and new.coverage and new.coverage[0] != index.fragment_bitmap:
                raise RetryableCommitConflictError(
                    f"Retryable commit conflict for version {draft.version - 1}: another writer "
                    f"has changed the fragments of index {index.name!r}; retry on the newest "
                    "version"
                )

        def after(index: IndexMetadata) -> IndexMetadata:
            if index.uuid in rewritten:
                return rewritten[index.uuid].replacing(index, groups)
            if not draft.stable_row_ids or is_system_index(index):
                return index
            if not has_row_ids(index):
                return without_replaced(index, groups)
            (covering,) = exchanged((index,), groups)
            return covering

        return tuple(map(after, indices))

    @classmethod
    def from_proto(cls, message: _Message) -> Rewrite:
        groups = tuple(map(RewriteGroup.from_proto, message.groups))
        first_is_older = bool(message.old_fragments or message.new_fragments)
        if first_is_older:
            first = _Message.RewriteGroup(
                old_fragments=message.old_fragments, new_fragments=message.new_fragments
            )
            groups = (RewriteGroup.from_proto(first), *groups)
        return cls(
            groups,
            tuple(map(RewrittenIndex.from_proto, message.rewritten_indices)),
            unknown_fields(message),
            first_is_older,
        )

    def add_to(self, message: transaction_pb2.Transaction) -> None:
        body = _Message(rewritten_indices=[index.to_proto() for index in self.rewritten_indices])
        groups = [group.to_proto() for group in self.groups]
        if self.first_is_older:
            body.old_fragments.extend(groups[0].old_fragments)
            body.new_fragments.extend(groups[0].new_fragments)
        body.groups.extend(groups[self.first_is_older :])
        body.MergeFromString(self.unknown)
        message.rewrite.CopyFrom(body)


def _uuid(message: table_pb2.UUID) -> uuids.UUID:
    if len(message.uuid) != 16:
        raise CorruptFileError(
            f"the UUID of an index has {len(message.uuid)} bytes, expected 16",
            field="RewrittenIndex",
        )
    return uuids.UUID(bytes=message.uuid)
