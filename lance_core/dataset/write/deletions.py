"""Marking rows of fragments as deleted: finding them, and writing the files that list them.

A row is named by its physical offset in its fragment. Memory is bounded by the rows found: 4 bytes
for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.concurrency.pools import in_order
from lance_core.dataset.expressions.zero_column_tables import zero_column_table
from lance_core.dataset.read.plan import ScanPlan
from lance_core.dataset.read.scan import matching
from lance_core.dataset.read.scan_options import HasFragmentId, ScanOptions, plan_scan
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.dataset.write.discard_on_failure import discard_deletion_files
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.fragments.deletion import RowOffsets, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment

if TYPE_CHECKING:
    import pyarrow.compute as pc

WRITERS = 8
"""Deletion files that are being written or wait to be, at a time."""

_LOW_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Deletions:
    """Fragments with the deletion files that were written, and fragments without any row left."""

    updated: tuple[Fragment, ...]
    removed: tuple[int, ...]


def plan_of(
    snapshot: Snapshot,
    predicate: str | pc.Expression,
    fragments: Sequence[HasFragmentId] | None = None,
) -> ScanPlan:
    """How the rows that fulfil ``predicate`` are found, in these or all fragments.

    Raises `InvalidInputError` and `UnsupportedFeatureError` for what is not a condition.
    """
    if predicate is None:
        raise InvalidInputError("a condition is needed; 'true' deletes all rows")
    return plan_scan(snapshot, ScanOptions(columns=[], filter=predicate, fragments=fragments))


def constant(search: ScanPlan) -> bool | None:
    """What a plan's filter says of every row, None if that depends on the row."""
    if search.filter is None:
        return True
    return None if search.filter.columns else bool(search.filter.mask(zero_column_table(1)).all())


def find(snapshot: Snapshot, search: ScanPlan) -> dict[int, RowOffsets]:
    """The live rows that pass the plan's filter: offsets by fragment, in the plan's order.

    Fragments without any are left out.
    """
    parts: dict[int, list[RowOffsets]] = {}
    for fragment, offsets in matching(snapshot, search):
        if len(offsets):
            parts.setdefault(fragment.id, []).append(offsets)
    return {
        fragment_id: found[0] if len(found) == 1 else np.concatenate(found)
        for fragment_id, found in parts.items()
    }


def as_offsets(given: Iterable[int], physical_rows: int) -> RowOffsets:
    """Offsets that a user gave, sorted and distinct; `InvalidInputError` if they are no rows."""
    try:
        rows = np.asarray(given if isinstance(given, np.ndarray) else [int(row) for row in given])
        rows = rows.astype(np.int64, casting="safe") if len(rows) else np.empty(0, np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"row offsets must be whole numbers: {error}") from None
    wrong = rows[(rows < 0) | (rows >= physical_rows)]
    if len(wrong):
        raise InvalidInputError(f"row {wrong[0]} is not among the {physical_rows} of the fragment")
    return np.unique(rows).astype(np.uint32)


def write_deletions(
    snapshot: Snapshot, rows: Mapping[int, RowOffsets], environment: Environment = SYSTEM
) -> Deletions:
    """Write the deletion files that say that these live rows are deleted as well.

    They are in the table's own folder, whatever base the old ones are in, and no version names
    them. If writing fails, what was written is removed again.
    """
    writer = _Writer(snapshot, environment)
    outcomes = list(in_order(writer.write, rows.items(), WRITERS, is_io_bound=snapshot.is_io_bound))
    updated = tuple(fragment for fragment in outcomes if fragment is not None)
    if writer.error is not None:
        discard_deletion_files(snapshot.root, updated)
        raise writer.error
    written = {fragment.id for fragment in updated}
    return Deletions(
        updated, tuple(fragment_id for fragment_id in rows if fragment_id not in written)
    )


class _Writer:
    """Writes the deletion files of several fragments; shared by threads."""

    def __init__(self, snapshot: Snapshot, environment: Environment) -> None:
        self._snapshot = snapshot
        self._environment = environment
        self.error: Exception | None = None
        """The first failure; nothing is begun after it."""

    def write(self, item: tuple[int, RowOffsets]) -> Fragment | None:
        """The fragment with its new deletion file; None if no row is left, or after a failure."""
        if self.error is not None:
            return None
        try:
            return self._written(*item)
        except Exception as error:  # raised again when all threads are done
            self.error = self.error or error
            return None

    def _written(self, fragment_id: int, offsets: RowOffsets) -> Fragment | None:
        snapshot = self._snapshot
        fragment = snapshot.fragment(fragment_id)
        physical_rows = snapshot.physical_rows(fragment)
        existing = snapshot.deleted_offsets(fragment)
        everything = offsets if existing is None else np.union1d(existing, offsets)
        if len(everything) == physical_rows:
            return None
        file_type, data = encode_deletions(everything, grown=existing is not None)
        number = self._environment.new_uuid().int & _LOW_64_BITS
        file = DeletionFile(file_type, snapshot.version, number, len(everything))
        snapshot.root.store.put(file.store_path(fragment_id), data)
        return replace(fragment, deletion_file=file, physical_rows=physical_rows)
