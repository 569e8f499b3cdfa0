"""Commit new segments of indices: those that are still valid on the newest version.

Appends, deletes and most updates do not touch the fragments of a segment, so the first attempt
succeeds beside them. After a conflict, each segment is compared with the newest version: it keeps
the fragments whose values and rows are the same there. A segment whose predecessors were rewritten
or removed in the meantime is not committed, since both would cover the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lance_core.commits.environment import Environment
from lance_core.commits.options import CommitOptions
from lance_core.concurrency.backoff import backoff
from lance_core.dataset.maintenance.indices.create import by_name
from lance_core.dataset.maintenance.indices.segments import covered_now, unchanged_fragments
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.discard_on_failure import NewFiles
from lance_core.errors import CommitConflictError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
)
from lance_core.table.transactions.operations import CreateIndex

if TYPE_CHECKING:
    from pyroaring import BitMap

_MAX_ATTEMPTS = 32
"""Maximum attempts to commit the segments. Each takes little longer than that of another writer."""

_FIRST_PAUSE, _MAX_PAUSE = 0.001, 0.05
"""Seconds between attempts, see `backoff`."""


@dataclass(frozen=True, slots=True, eq=False)
class NewSegment:
    """A segment whose files are written, and what its commit needs.

    ``source``: the segment of the same index whose parameters it has. ``replaced``: the segments
    that its commit removes. ``added``: the fragments whose rows were read for it.
    """

    index: IndexMetadata
    source: IndexMetadata
    replaced: tuple[IndexMetadata, ...]
    added: BitMap


@dataclass(frozen=True, slots=True, eq=False)
class CommittedSegments:
    """The newest version, the names of the indices that it has a new segment of, and the others.

    ``left``: why an index is not committed, or not with all fragments, by name.
    """

    snapshot: Snapshot
    committed: frozenset[str]
    left: dict[str, str]


def commit_valid_segments(
    base: Snapshot,
    segments: Sequence[NewSegment],
    files: NewFiles,
    options: CommitOptions,
    environment: Environment,
) -> CommittedSegments:
    """Commit segments of different indices, built from ``base``; at once, without invalid ones.

    The files of segments that are not committed are removed. If none is valid, nothing is
    committed. Raises the errors of `commit_transaction` except for conflicts.
    """
    snapshot, left = base, dict[str, str]()
    valid = list(segments)
    attempts = 0
    while valid:
        new = tuple(segment.index for segment in valid)
        removed = tuple(index for segment in valid for index in segment.replaced)
        transaction = new_transaction(snapshot, CreateIndex(new, removed), environment)
        try:
            snapshot = files.commit(snapshot, transaction, options)
            break
        except CommitConflictError as error:
            attempts += 1
            if attempts >= _MAX_ATTEMPTS:
                left |= {segment.index.name: str(error) for segment in valid}
                valid = []
                break
        environment.sleep(backoff(attempts, _FIRST_PAUSE, _MAX_PAUSE, environment.random))
        snapshot = open_table.open_version(base.root)
        valid, left = _fitted(base, snapshot, segments)
    used = {str(segment.index.uuid) for segment in valid}
    files.discard_others(lambda path: path.split("/")[1] not in used)
    return CommittedSegments(snapshot, frozenset(segment.index.name for segment in valid), left)


def _fitted(
    base: Snapshot, newest: Snapshot, segments: Sequence[NewSegment]
) -> tuple[list[NewSegment], dict[str, str]]:
    """The segments that are valid on ``newest``, with what they cover there.

    Also returns why others are not valid, or do not cover all of their fragments.
    """
    before = {index.uuid for indices in by_name(base).values() for index in indices}
    named = by_name(newest)
    valid, left = [], {}
    for segment in segments:
        name, covered = segment.index.name, segment.index.fragments or fragment_bitmap(())
        same = unchanged_fragments(base, newest, covered, segment.index.fields[0])
        others = [index for index in named.get(name, ()) if index.uuid not in before]
        reason = _conflict(newest, segment, same, named.get(name, ()), others)
        if reason is not None:
            left[name] = reason
            continue
        if covered != same:
            left[name] = _changed(covered - same)
        index = replace(segment.index, fragment_bitmap=encode_fragment_ids(same))
        valid.append(replace(segment, index=index))
    return valid, left


def _conflict(
    newest: Snapshot,
    segment: NewSegment,
    same: BitMap,
    current: Sequence[IndexMetadata],
    others: Sequence[IndexMetadata],
) -> str | None:
    """Why a segment that covers ``same`` is not valid; None if it is.

    ``current``: the segments of the index now. ``others``: those that other writers have added.
    """
    uuids = {index.uuid for index in current}
    if any(index.uuid not in uuids for index in (segment.source, *segment.replaced)):
        return "its segments were rewritten or removed"
    if any(covered_now(newest, index).intersect(same) for index in others):
        return "another segment was added that covers the same fragments"
    if any(covered_now(newest, index) - same for index in segment.replaced):
        return "fragments that it covers were compacted"
    if segment.added and not segment.added.intersect(same):
        return _changed(segment.added)
    return None


def _changed(fragments: BitMap) -> str:
    ids = list(fragments[:10])
    more = f" and {len(fragments) - len(ids)} more" if len(fragments) > len(ids) else ""
    return f"fragments {', '.join(map(str, ids))}{more} were replaced, or their values were"
