"""``Transaction.Rewrite``: the same rows, stored in other fragments."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Sequence
from dataclasses import dataclass

from lance_core._pb import table_pb2, transaction_pb2
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.table.draft import Draft
from lance_core.table.fragment import Fragment
from lance_core.table.fragment_list import FragmentList, fragment_ids
from lance_core.table.index_metadata import IndexDetails, IndexFile
from lance_core.table.operations.base import Operation, OperationKind
from lance_core.table.unknown_fields import unknown_fields

_Message = transaction_pb2.Transaction.Rewrite


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """``new_fragments`` hold the live rows of ``old_fragments``, in the same order.

    The ids of new fragments were taken by a ``ReserveFragments`` before, or are 0.
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
    """The index ``old_id`` was rewritten to the new row addresses, as ``new_id``."""

    old_id: uuids.UUID
    new_id: uuids.UUID
    new_index_details: IndexDetails | None = None
    new_index_version: int = 0
    new_index_files: tuple[IndexFile, ...] = ()
    unknown: bytes = b""

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
class Rewrite(Operation):
    """Exchanges fragments group by group, and indices for ones that know the new addresses.

    ``first_is_older``: the transaction names its first group in the older form.
    """

    groups: tuple[RewriteGroup, ...]
    rewritten_indices: tuple[RewrittenIndex, ...] = ()
    unknown: bytes = b""
    first_is_older: bool = False

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        return (OperationKind.REWRITE,)

    @property
    def touched_fragments(self) -> frozenset[int]:
        return frozenset(id_ for group in self.groups for id_ in fragment_ids(group.old_fragments))

    def apply(self, draft: Draft) -> Draft:
        raise UnsupportedFeatureError("Rewrite cannot be applied yet")

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
        raise CorruptFileError(f"a UUID of {len(message.uuid)} bytes", field="RewrittenIndex")
    return uuids.UUID(bytes=message.uuid)
