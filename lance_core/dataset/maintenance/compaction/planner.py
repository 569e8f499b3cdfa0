"""Choose the fragments that a compaction rewrites, and which of them it merges.

A bin is a run of fragments, in the order of their ids, that are worth rewriting and that the same
indices cover. A bin with many rows is split into tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lance_core.dataset.maintenance.compaction.options import CompactionSettings
from lance_core.dataset.maintenance.compaction.remap import is_remappable
from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of, missing_plugins
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.error_texts.suggestions import shortened
from lance_core.errors import warn_caller
from lance_core.lazy_dataclass import dataclass
from lance_core.table.indices.index_metadata import IndexMetadata, fragment_bitmap

if TYPE_CHECKING:
    from pyroaring import BitMap

    from lance_core.table.fragments.fragment import Fragment


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A fragment that is worth rewriting; ``alone``: also without neighbours."""

    id: int
    live_rows: int
    alone: bool


def plan_tasks(snapshot: Snapshot, settings: CompactionSettings) -> list[list[Fragment]]:
    """The fragments of each task, in the order of their ids."""
    tasks = (
        snapshot.fragments([member.id for member in task])
        for bin_ in _bins(snapshot, settings)
        for task in _split(bin_, settings.target_rows_per_fragment)
    )
    return list(_within_budget(snapshot, settings, tasks))


def _bins(snapshot: Snapshot, settings: CompactionSettings) -> Iterator[Sequence[_Candidate]]:
    """Runs of candidates that can be merged."""
    coverage = _Coverage.of(snapshot, settings)
    excluded = frozenset(settings.excluded_fragment_ids) | coverage.left_out
    run: list[_Candidate] = []
    indices: frozenset[int] = frozenset()
    for id_, fragment in _candidates(snapshot, settings):
        candidate = None if id_ in excluded else fragment
        covering = coverage.indices_of(id_)
        if run and (candidate is None or covering != indices):
            yield from _worthwhile(run)
            run = []
        if candidate is not None:
            run.append(candidate)
            indices = covering
    yield from _worthwhile(run)


def _worthwhile(run: list[_Candidate]) -> Iterator[Sequence[_Candidate]]:
    if len(run) > 1 or (run and run[0].alone):
        yield run


def _candidates(
    snapshot: Snapshot, settings: CompactionSettings
) -> Iterator[tuple[int, _Candidate | None]]:
    """The id of each fragment, ascending, with None if it is not worth rewriting."""
    counts = snapshot.manifest.fragments.counts
    columns = counts.ids, counts.are_known, counts.physical_rows, counts.deleted_rows
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for id_, is_known, *known in sorted(rows):
        physical, deleted = known
        if not is_known:  # tables of 0.8 and earlier
            fragment = snapshot.fragment(id_)
            physical = snapshot.physical_rows(fragment)
            deleted = physical - snapshot.live_rows(fragment)
        share = deleted / physical if physical else 0.0
        threshold = settings.materialize_deletions_threshold
        alone = settings.materialize_deletions and deleted > 0 and share > threshold
        if alone or physical < settings.target_rows_per_fragment:
            yield id_, _Candidate(id_, physical - deleted, alone)
        else:
            yield id_, None


def _split(bin_: Sequence[_Candidate], target: int) -> Iterator[Sequence[_Candidate]]:
    """``bin_`` in tasks of at least ``target`` live rows; the last one may have fewer."""
    left = sum(fragment.live_rows for fragment in bin_)
    task: list[_Candidate] = []
    rows = 0
    for fragment in bin_:
        task.append(fragment)
        rows += fragment.live_rows
        left -= fragment.live_rows
        if rows >= target and left >= target:
            yield task
            task, rows = [], 0
    if task:
        yield task


def _within_budget(
    snapshot: Snapshot, settings: CompactionSettings, tasks: Iterable[list[Fragment]]
) -> Iterator[list[Fragment]]:
    """The first ``tasks``, up to the one that would exceed a limit of ``settings``."""
    fragments, rows, size = 0, 0, 0
    for task in tasks:
        fragments += len(task)
        if _exceeds(fragments, settings.max_source_fragments):
            return
        if settings.max_source_rows is not None:
            rows += sum(map(snapshot.live_rows, task))
        if settings.max_source_bytes is not None:
            size += sum(_stored_bytes(snapshot, fragment) for fragment in task)
        if _exceeds(rows, settings.max_source_rows) or _exceeds(size, settings.max_source_bytes):
            return
        yield task


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

    def indices_of(self, fragment_id: int) -> frozenset[int]:
        """The numbers of the indices that cover a fragment."""
        return frozenset(n for n, ids in enumerate(self.indices) if fragment_id in ids)
