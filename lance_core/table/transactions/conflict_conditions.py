"""Conditions of the conflict table: predicates on two operations.

The arguments are the operation to commit (``ours``) and the committed operation. A function returns
True if the changes overlap, and False for kinds of operations that the condition does not apply to.
"""

from __future__ import annotations

from uuid import UUID

import numpy as np

from lance_core.table.indices.index_coverage import covers_any
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.operations.append import Append
from lance_core.table.transactions.operations.base import Operation
from lance_core.table.transactions.operations.create_index import CreateIndex
from lance_core.table.transactions.operations.data_replacement import DataReplacement
from lance_core.table.transactions.operations.delete import Delete
from lance_core.table.transactions.operations.key_filter import (
    BloomKeys,
    ExactKeys,
    KeyExistenceFilter,
)
from lance_core.table.transactions.operations.merge import Merge
from lance_core.table.transactions.operations.project import Project
from lance_core.table.transactions.operations.rewrite import Rewrite
from lance_core.table.transactions.operations.update import Update
from lance_core.table.transactions.operations.update_bases import UpdateBases
from lance_core.table.transactions.operations.update_config import UpdateConfig

_BLOCK_WORDS = 8
"""32-bit words in a block of a split-block bloom filter; a key sets one bit in each word."""


def shared_fragments(ours: Operation, committed: Operation) -> bool:
    """True if both operations touch the same fragment."""
    return not ours.touched_fragments.isdisjoint(committed.touched_fragments)


def unresolved_rows(ours: Operation, committed: Operation) -> bool:
    """True if both touch the same fragment, and the rows that ``ours`` touches are unknown."""
    return ours.affected_rows is None and shared_fragments(ours, committed)


def unresolved_rows_or_keys(ours: Operation, committed: Operation) -> bool:
    """True if `unresolved_rows`, or if both may insert the same key."""
    return unresolved_rows(ours, committed) or same_inserted_keys(ours, committed)


def shared_fragments_or_keys(ours: Operation, committed: Operation) -> bool:
    """True if `shared_fragments`, or if both may insert the same key."""
    return shared_fragments(ours, committed) or same_inserted_keys(ours, committed)


def same_inserted_keys(ours: Operation, committed: Operation) -> bool:
    """True if both may insert the same key; also True if their filters are not comparable."""
    if not isinstance(ours, Update) or not isinstance(committed, Update):
        return False
    if ours.inserted_rows is None or committed.inserted_rows is None:
        return False
    return _may_share(ours.inserted_rows, committed.inserted_rows)


def _may_share(first: KeyExistenceFilter, second: KeyExistenceFilter) -> bool:
    keys, other = first.keys, second.keys
    if first.field_ids != second.field_ids:
        return True
    if isinstance(keys, ExactKeys) and isinstance(other, ExactKeys):
        return not frozenset(keys.key_hashes).isdisjoint(other.key_hashes)
    if isinstance(keys, BloomKeys) and isinstance(other, BloomKeys) and keys.is_like(other):
        return _blooms_meet(keys.bitmap, other.bitmap)
    return True


def _blooms_meet(left: bytes, right: bytes) -> bool:
    """True if in some block, each word has a bit that is set in both filters."""
    if len(left) % (4 * _BLOCK_WORDS):
        return True
    both = np.frombuffer(left, dtype="<u4") & np.frombuffer(right, dtype="<u4")
    return bool((both.reshape(-1, _BLOCK_WORDS) != 0).all(axis=1).any())


def same_index_name(ours: Operation, committed: Operation) -> bool:
    """True if both create or remove an index with the same name."""
    return not _index_names(ours).isdisjoint(_index_names(committed))


def indexed_fragments(ours: Operation, committed: Operation) -> bool:
    """True if a rewrite moves rows that the other operation indexes, or replaces an index.

    The latter counts only if the other operation removes this index: a rewritten index has a new
    uuid, so removal by the old uuid would have no effect. An index with unknown coverage may cover
    all fragments.
    """
    indices = (*_new_indices(ours), *_new_indices(committed))
    rewrites = [operation for operation in (ours, committed) if isinstance(operation, Rewrite)]
    rewritten = {index.old_id for rewrite in rewrites for index in rewrite.rewritten_indices}
    if any(uuid in rewritten for uuid in (*_removed_uuids(ours), *_removed_uuids(committed))):
        return True
    moved = fragment_bitmap(id_ for rewrite in rewrites for id_ in rewrite.touched_fragments)
    return any(index.fragments is None or covers_any(index, moved) for index in indices)


def indexed_fields(ours: Operation, committed: Operation) -> bool:
    """True if one operation replaces values of a field and the other creates an index on it.

    Also True for an index that was created on a field which ``ours``, a merge, replaces by one of
    another type.
    """
    if isinstance(ours, Merge):
        fields = frozenset(ours.schema.field_ids)
        return any(not fields.issuperset(index.fields) for index in _new_indices(committed))
    indices = (*_new_indices(ours), *_new_indices(committed))
    replaced = _replaced_fields(ours) | _replaced_fields(committed)
    return any(not replaced.isdisjoint(index.fields) for index in indices)


def same_fields(ours: Operation, committed: Operation) -> bool:
    """True if both replace values of the same field."""
    return not _replaced_fields(ours).isdisjoint(_replaced_fields(committed))


def same_cells(ours: Operation, committed: Operation) -> bool:
    """True if both replace values of the same field in the same fragment."""
    return not _replaced_cells(ours).isdisjoint(_replaced_cells(committed))


def described_fields(ours: Operation, committed: Operation) -> bool:
    """True if ``committed`` changed the metadata of a field, and ``ours`` has its old metadata."""
    if not isinstance(ours, Project) or not isinstance(committed, UpdateConfig):
        return False
    return not committed.field_metadata.keys().isdisjoint(ours.schema.field_ids)


def replaced_fields(ours: Operation, committed: Operation) -> bool:
    """True if ``committed`` is a merge whose schema lacks a field of rows that ``ours`` adds."""
    if not isinstance(ours, Append) or not isinstance(committed, Merge):
        return False
    files = (file for fragment in ours.fragments for file in fragment.files)
    appended = {field for file in files for field in file.fields if field >= 0}
    return not appended.issubset(committed.schema.field_ids)


def removed_fragments(ours: Operation, committed: Operation) -> bool:
    """True if ``committed`` is a delete that removed a fragment that ``ours`` touches."""
    if not isinstance(committed, Delete):
        return False
    return not ours.touched_fragments.isdisjoint(committed.deleted_fragment_ids)


def same_config_key(ours: Operation, committed: Operation) -> bool:
    """True if both change the same key of the config or of the table's metadata.

    Two removals of the same config key do not conflict. A replacement of the whole config conflicts
    only through the keys that it sets; for the table's metadata a replacement always conflicts.
    """
    if not isinstance(ours, UpdateConfig) or not isinstance(committed, UpdateConfig):
        return False
    own, other = ours.config, committed.config
    if own is not None and other is not None:
        keys = own.updates.keys() & other.updates.keys()
        if any(own.updates[key] is not None or other.updates[key] is not None for key in keys):
            return True
    own_metadata, other_metadata = ours.table_metadata, committed.table_metadata
    return (
        own_metadata is not None
        and other_metadata is not None
        and own_metadata.meets(other_metadata)
    )


def same_metadata(ours: Operation, committed: Operation) -> bool:
    """True if both change the schema's metadata or the metadata of one field, whatever the keys."""
    if not isinstance(ours, UpdateConfig) or not isinstance(committed, UpdateConfig):
        return False
    both = ours.schema_metadata is not None and committed.schema_metadata is not None
    return both or not ours.field_metadata.keys().isdisjoint(committed.field_metadata)


def same_base(ours: Operation, committed: Operation) -> bool:
    """True if both add a base path with the same name, path or id."""
    if not isinstance(ours, UpdateBases) or not isinstance(committed, UpdateBases):
        return False
    return any(
        _alike(new_base, other) for new_base in ours.new_bases for other in committed.new_bases
    )


def _alike(left: BasePath, right: BasePath) -> bool:
    same_name = bool(left.name) and left.name == right.name
    return left.path == right.path or same_name or (left.id != 0 and left.id == right.id)


def _new_indices(operation: Operation) -> tuple[IndexMetadata, ...]:
    return operation.new_indices if isinstance(operation, CreateIndex) else ()


def _removed_uuids(operation: Operation) -> tuple[UUID, ...]:
    if not isinstance(operation, CreateIndex):
        return ()
    return tuple(index.uuid for index in operation.removed_indices)


def _index_names(operation: Operation) -> frozenset[str]:
    if not isinstance(operation, CreateIndex):
        return frozenset()
    return frozenset(i.name for i in (*operation.new_indices, *operation.removed_indices))


def _replaced_fields(operation: Operation) -> frozenset[int]:
    if isinstance(operation, Update):
        return frozenset(operation.fields_modified)
    return frozenset(field for _, field in _replaced_cells(operation))


def _replaced_cells(operation: Operation) -> frozenset[tuple[int, int]]:
    """Pairs of fragment id and field id whose values the operation replaces."""
    if not isinstance(operation, DataReplacement):
        return frozenset()
    return frozenset(
        (group.fragment_id, field)
        for group in operation.replacements
        for field in group.new_file.fields
    )
