"""Mark rows as deleted: find them, and write the deletion files that list them.

A row is identified by its physical offset in its fragment. Memory: 4 bytes for each deleted row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.concurrency.pools import in_order
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import matching
from lance_core.dataset.read.scan_options import HasFragmentId, ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import discard_deletion_files
from lance_core.encodings.arrow.zero_column_tables import zero_column_table
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.deletion import RowOffsets, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    import pyarrow.compute as pc

WRITERS = 8
"""Maximum deletion files that are written or queued at the same time."""

_LOW_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Deletions:
    """The result of a deletion: fragments with new deletion files, ids of fragments to remove."""

    updated: tuple[Fragment, ...]
    removed: tuple[int, ...]


def plan_of(
    snapshot: Snapshot,
    predicate: str | pc.Expression,
    fragments: Sequence[HasFragmentId] | None = None,
) -> ScanPlan:
    """The plan of the scan for rows that satisfy ``predicate``; ``fragments`` None means all.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for an invalid predicate.
    """
    if predicate is None:
        raise InvalidInputError("a condition is needed; 'true' deletes all rows")
    return plan_scan(snapshot, ScanOptions(columns=[], filter=predicate, fragments=fragments))


def constant(search: ScanPlan) -> bool | None:
    """The result of a plan's filter if it is the same for all rows, else None."""
    if search.filter is None:
        return True
    return None if search.filter.columns else bool(search.filter.mask(zero_column_table(1)).all())


def find(snapshot: Snapshot, search: ScanPlan) -> dict[int, RowOffsets]:
    """The offsets of the live rows that satisfy the plan's filter, by fragment id.

    Fragments without such rows are left out.
    """
    parts: dict[int, list[RowOffsets]] = {}
    for fragment, offsets in matching(snapshot, search):
        if len(offsets):
            parts.setdefault(fragment.id, []).append(offsets)
    return {
        fragment_id: parts_of_fragment[0]
        if len(parts_of_fragment) == 1
        else np.concatenate(parts_of_fragment)
        for fragment_id, parts_of_fragment in parts.items()
    }


def as_offsets(offsets: Iterable[int], physical_rows: int) -> RowOffsets:
    """The user's offsets, sorted and distinct; raises `InvalidInputError` for an invalid one."""
    try:
        rows = np.asarray(
            offsets if isinstance(offsets, np.ndarray) else [int(row) for row in offsets]
        )
        rows = rows.astype(np.int64, casting="safe") if len(rows) else np.empty(0, np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"row offsets must be whole numbers: {error}") from None
    wrong = rows[(rows < 0) | (rows >= physical_rows)]
    if len(wrong):
        raise InvalidInputError(f"row {wrong[0]} is not among the {physical_rows} of the fragment")
    return np.unique(rows).astype(np.uint32)


def write_deletions(
    snapshot: Snapshot,
    rows: Mapping[int, RowOffsets],
    environment: Environment = SYSTEM,
    *,
    keeps_fragments: bool = False,
) -> Deletions:
    """Write deletion files that add ``rows`` (offsets of live rows, by fragment id).

    The new files are in the table's root, even if the old ones are in a base path. No version
    references them yet. If a write fails, the files written so far are removed.
    ``keeps_fragments``: a fragment without a remaining row gets a deletion file, too, instead of
    being removed.
    """
    writer = _Writer(snapshot, environment, keeps_fragments)
    outcomes = list(in_order(writer.write, rows.items(), WRITERS, is_io_bound=snapshot.is_io_bound))
    updated = tuple(fragment for fragment in outcomes if fragment is not None)
    if writer.error is not None:
        discard_deletion_files(snapshot.root, updated)
        raise writer.error
    written = {fragment.id for fragment in updated}
    return Deletions(
        updated, tuple(fragment_id for fragment_id in rows if fragment_id not in written)
    )


def write_deletion_file(
    snapshot: Snapshot,
    fragment_id: int,
    offsets: RowOffsets,
    environment: Environment = SYSTEM,
    *,
    grown: bool = False,
) -> DeletionFile:
    """Write a deletion file with the sorted ``offsets``, for a version after ``snapshot``.

    ``grown``: the fragment has a smaller one already. Raises the errors of the store.
    """
    file_type, data = encode_deletions(offsets, grown=grown)
    number = environment.new_uuid().int & _LOW_64_BITS
    file = DeletionFile(file_type, snapshot.version, number, len(offsets))
    snapshot.root.store.put(file.store_path(fragment_id), data)
    return file


class _Writer:
    """Writes the deletion files of several fragments; shared by threads."""

    def __init__(self, snapshot: Snapshot, environment: Environment, keeps_fragments: bool) -> None:
        self._snapshot = snapshot
        self._environment = environment
        self._keeps_fragments = keeps_fragments
        self.error: Exception | None = None
        """A failure; no further file is written after it."""

    def write(self, item: tuple[int, RowOffsets]) -> Fragment | None:
        """The fragment with its new deletion file; None if no row is left, or after a failure."""
        if self.error is not None:
            return None
        try:
            return self._written(*item)
        except Exception as error:  # raised again after all threads have finished
            self.error = error
            return None

    def _written(self, fragment_id: int, offsets: RowOffsets) -> Fragment | None:
        snapshot = self._snapshot
        fragment = snapshot.fragment(fragment_id)
        physical_rows = snapshot.physical_rows(fragment)
        existing = snapshot.deleted_offsets(fragment)
        everything = offsets if existing is None else np.union1d(existing, offsets)
        if len(everything) == physical_rows and not self._keeps_fragments:
            return None
        file = write_deletion_file(
            snapshot, fragment_id, everything, self._environment, grown=existing is not None
        )
        return replace(fragment, deletion_file=file, physical_rows=physical_rows)
