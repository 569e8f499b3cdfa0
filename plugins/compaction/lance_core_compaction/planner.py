"""Choose the fragments that a compaction rewrites, and which of them it merges.

A bin is a run of fragments, in the order of their ids, that are worth rewriting and that the same
indices cover. A bin with many rows is split into tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lance_core.maintenance import (
    IndexMetadata,
    Int64Array,
    Snapshot,
    fragment_bitmap,
    fragment_reuse,
    indices_of,
    missing_plugins,
    shortened,
    warn_caller,
)
from lance_core_compaction.options import CompactionSettings
from lance_core_compaction.remap import is_remappable

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.maintenance import Fragment


class _Run(NamedTuple):
    """The ids and the live rows of neighbouring fragments."""

    ids: list[int]
    live_rows: list[int]


def plan_ids(snapshot: Snapshot, settings: CompactionSettings) -> list[list[int]]:
    """The ids of the fragments of each task, ascending; decodes no fragment whose rows are known.

    With a limit of bytes, the fragments of the tasks are decoded.
    """
    tasks = (
        task
        for bin_ in _bins(snapshot, settings)
        for task in _split(bin_, settings.target_rows_per_fragment)
    )
    return list(_within_budget(snapshot, settings, tasks))


def _bins(snapshot: Snapshot, settings: CompactionSettings) -> Iterator[_Run]:
    """Runs of fragments that are worth rewriting and can be merged."""
    ids, physical, deleted = _rows(snapshot)
    coverage = _Coverage.of(snapshot, settings)
    share = deleted / np.maximum(physical, 1)
    is_alone = settings.materialize_deletions & (deleted > 0)
    is_alone &= share > settings.materialize_deletions_threshold
    is_candidate = is_alone | (physical < settings.target_rows_per_fragment)
    is_candidate &= ~np.isin(ids, [*settings.excluded_fragment_ids, *coverage.left_out])
    is_start = np.ones(len(ids), bool)
    is_start[1:] = ~is_candidate[:-1]
    for covered in coverage.indices:
        is_covered = np.isin(ids, np.array(covered.to_array(), np.int64))
        is_start[1:] |= is_covered[1:] != is_covered[:-1]
    candidates = np.flatnonzero(is_candidate)
    edges = [*np.flatnonzero(is_start[candidates]).tolist(), len(candidates)]
    candidate_ids = ids[candidates].tolist()
    live_rows = (physical - deleted)[candidates].tolist()
    for first, stop in pairwise(edges):
        if stop - first > 1 or is_alone[candidates[first]]:
            yield _Run(candidate_ids[first:stop], live_rows[first:stop])


def _rows(snapshot: Snapshot) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The ids of all fragments, ascending, their rows and their deleted rows."""
    counts = snapshot.manifest.fragments.counts
    order = np.argsort(counts.ids)
    ids = counts.ids[order].astype(np.int64)
    physical = counts.physical_rows[order].astype(np.int64)
    deleted = counts.deleted_rows[order].astype(np.int64)
    for position in np.flatnonzero(~counts.are_known[order]):  # tables of 0.8 and earlier
        fragment = snapshot.fragment(int(ids[position]))
        physical[position] = snapshot.physical_rows(fragment)
        deleted[position] = physical[position] - snapshot.live_rows(fragment)
    return ids, physical, deleted


def _split(bin_: _Run, target: int) -> Iterator[_Run]:
    """``bin_`` in tasks of at least ``target`` live rows; the last one may have fewer."""
    left = sum(bin_.live_rows)
    first, rows = 0, 0
    for position, live_rows in enumerate(bin_.live_rows):
        rows += live_rows
        left -= live_rows
        if rows >= target and left >= target:
            yield _Run(bin_.ids[first : position + 1], bin_.live_rows[first : position + 1])
            first, rows = position + 1, 0
    if first < len(bin_.ids):
        yield _Run(bin_.ids[first:], bin_.live_rows[first:])


def _within_budget(
    snapshot: Snapshot, settings: CompactionSettings, tasks: Iterable[_Run]
) -> Iterator[list[int]]:
    """The ids of the first ``tasks``, up to the one that would exceed a limit of ``settings``."""
    fragments, rows, size = 0, 0, 0
    for task in tasks:
        fragments += len(task.ids)
        if _exceeds(fragments, settings.max_source_fragments):
            return
        rows += sum(task.live_rows)
        if _exceeds(rows, settings.max_source_rows):
            return
        if settings.max_source_bytes is not None:
            members = snapshot.fragments(task.ids)
            size += sum(_stored_bytes(snapshot, fragment) for fragment in members)
            if size > settings.max_source_bytes:
                return
        yield task.ids


def _exceeds(used: int, limit: int | None) -> bool:
    return limit is not None and used > limit


def _stored_bytes(snapshot: Snapshot, fragment: Fragment) -> int:
    """The total size of the fragment's data files."""
    total = 0
    for file in fragment.files:
        size = file.trusted_size
        if size is None:
            base = snapshot.base(file.base_id)
            size = snapshot.store_of(base).head(file.store_path(base)).size
        total += size
    return total


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The fragments of each index, and those that cannot move because of an index."""

    indices: tuple[BitMap, ...]
    left_out: frozenset[int]

    @classmethod
    def of(cls, snapshot: Snapshot, settings: CompactionSettings) -> _Coverage:
        """The coverage in ``snapshot``.

        Rows that move get new addresses: an index must be able to follow them, or a fragment-reuse
        index translates its addresses. The fragments of other indices are left out, with a warning.
        An index that does not list its fragments may cover all of them.
        """
        reuse = fragment_reuse(snapshot)
        ids = fragment_bitmap(snapshot.manifest.fragments.ids)
        bitmaps, left_out, unknown = [], fragment_bitmap(()), list[IndexMetadata]()
        for index in indices_of(snapshot):
            known = reuse.fragments(index)
            covered = ids if known is None else known & ids
            bitmaps.append(covered)
            is_translated = settings.defer_index_remap and known is not None
            if covered and not is_translated and not is_remappable(snapshot, index):
                left_out |= covered
                unknown.append(index)
        if left_out:
            names = shortened(", ".join(index.name for index in unknown))
            warn_caller(
                f"{len(left_out)} fragments are not compacted, because this library cannot update "
                f"the indices that cover them: {names}{missing_plugins(unknown)}"
            )
        return cls(tuple(bitmaps), frozenset(left_out))
