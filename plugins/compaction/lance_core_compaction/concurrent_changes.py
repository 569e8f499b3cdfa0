"""What other writers have changed in fragments since a task of a compaction has read them.

A result stays valid if all that has happened to its fragments is that further rows were deleted:
the same rows are then deleted in the new fragments. Everything else is a conflict. The comparison
needs only the newest version, because files never change: a fragment with the same files and row
ids has the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lance_core.maintenance import (
    SYSTEM,
    AddressMap,
    Environment,
    Fragment,
    FragmentMetadata,
    NewFiles,
    RowOffsets,
    Snapshot,
    UInt64Array,
    fragment_bitmap,
    fragment_reuse,
    indices_of,
    shortened,
    write_deletion_file,
)
from lance_core_compaction.remap import is_remappable, moved_rows
from lance_core_compaction.tasks import RewriteResult, metadata_of

if TYPE_CHECKING:
    from pyroaring import BitMap

_HIGH_BITS = np.uint64(32)
_NOTHING = np.empty(0, np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class RewrittenGroup:
    """A result whose new fragments have their final ids.

    ``old``: the fragments as the task has read them.
    """

    result: RewriteResult
    old: tuple[Fragment, ...]
    new: tuple[Fragment, ...]

    @property
    def pairs(self) -> Iterator[tuple[FragmentMetadata, Fragment]]:
        """The old fragments as the result has them, and as a manifest has them."""
        return zip(self.result.original_fragments, self.old, strict=True)


def conflicts_of(snapshot: Snapshot, groups: Sequence[RewrittenGroup]) -> list[str | None]:
    """Why the new fragments of each group cannot replace the old ones; None if they can."""
    reuse = fragment_reuse(snapshot)
    coverages = [
        _Coverage(shortened(index.name), reuse.fragments(index), is_remappable(snapshot, index))
        for index in indices_of(snapshot)
    ]

    def conflict(group: RewrittenGroup) -> str | None:
        ids = fragment_bitmap(fragment.id for fragment in group.old)
        is_deferred = group.result.row_addrs is not None
        reasons = (
            *(_fragment_conflict(snapshot, *pair) for pair in group.pairs),
            *(coverage.conflict(ids, is_deferred) for coverage in coverages),
        )
        return next((reason for reason in reasons if reason is not None), None)

    return [conflict(group) for group in groups]


def _fragment_conflict(snapshot: Snapshot, read: FragmentMetadata, before: Fragment) -> str | None:
    current = snapshot.manifest.fragments.by_id(before.id)
    if current is None:
        return f"fragment {before.id} is gone"
    now = metadata_of(snapshot, current)
    if now.deletion_file != read.deletion_file:
        now = replace(now, deletion_file=read.deletion_file)
        if len(np.setdiff1d(_deleted(snapshot, before), _deleted(snapshot, current))):
            return f"deleted rows of fragment {before.id} are back"
    return None if now == read else f"fragment {before.id} has other files or row ids"


@dataclass(frozen=True, slots=True, eq=False)
class _Coverage:
    """The fragments of an index, None if they are unknown."""

    name: str
    fragments: BitMap | None
    is_remappable: bool

    def conflict(self, ids: BitMap, is_deferred: bool) -> str | None:
        """Why the index does not allow that the fragments ``ids`` become other ones."""
        known = self.fragments
        if known is not None and not known.intersect(ids):
            return None
        if known is not None and not ids.issubset(known):
            return f"index {self.name} covers only some of the fragments of a task"
        if self.is_remappable or (is_deferred and known is not None):
            return None
        return f"index {self.name} covers fragments of a task, and cannot be updated here"


def with_late_deletions(
    snapshot: Snapshot,
    group: RewrittenGroup,
    files: NewFiles,
    environment: Environment = SYSTEM,
) -> tuple[Fragment, ...]:
    """The new fragments without the rows that were deleted after the task had read them.

    The fragments with new deletion files are added to ``files``.
    """
    late = [_late_addresses(snapshot, before) for before in group.old]
    if not any(map(len, late)):
        return group.new
    moves = AddressMap.of_groups([moved_rows(snapshot, group.old, group.new)])
    now, _ = moves.moved(np.concatenate(late))  # the task has read all of them as live rows
    owners = now >> _HIGH_BITS
    changed = []
    for fragment in group.new:
        offsets = np.sort(now[owners == fragment.id].astype(np.uint32))
        if not len(offsets):
            changed.append(fragment)
            continue
        file = write_deletion_file(snapshot, fragment.id, offsets, environment)
        changed.append(replace(fragment, deletion_file=file))
        files.deletions.append(changed[-1])
    return tuple(changed)


def _late_addresses(snapshot: Snapshot, before: Fragment) -> UInt64Array:
    """The addresses of the rows that were deleted after the fragment had been read."""
    current = snapshot.fragment(before.id)
    if current.deletion_file == before.deletion_file:
        return np.empty(0, np.uint64)
    late = np.setdiff1d(_deleted(snapshot, current), _deleted(snapshot, before), assume_unique=True)
    return late.astype(np.uint64) | (np.uint64(before.id) << _HIGH_BITS)


def _deleted(snapshot: Snapshot, fragment: Fragment) -> RowOffsets:
    offsets = snapshot.deleted_offsets(fragment)
    return _NOTHING if offsets is None else offsets
