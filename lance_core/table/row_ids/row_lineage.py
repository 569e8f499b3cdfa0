"""Row lineage: the ids and versions of rows that were moved or changed.

For tables with stable row ids. A row that an update moves keeps its id and its creation version;
its last-updated version becomes the version of the update.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lance_core.errors import CorruptFileError, InvalidInputError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.table.fragments.fragment import Fragment, Sequence
from lance_core.table.row_ids.row_id_index import RowIdIndex
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import FIRST_VERSION, RowVersions
from lance_core.table.row_ids.u64_segment import Offsets, Ranges, Uint64s

_ROW_LIMIT = 1 << 26
"""Maximum number of rows in a fragment whose ids and versions are expanded in memory.

A sequence of a few bytes can describe more rows than fit into memory. 2**26 ids take 512 MiB.
"""


def with_row_ids(
    fragment: Fragment, next_row_id: int, version: int, fill: bool
) -> tuple[Fragment, int]:
    """Assign row ids from ``next_row_id`` on; returns the fragment and the number of new ids.

    Existing ids are kept. If ``fill``, the fragment may have ids for its first rows only, and the
    other rows get new ids. A fragment without ids gets new ids for all rows and ``version`` as
    creation and last-updated version. Raises `InvalidInputError` if the ids do not fit the rows.
    """
    rows = fragment.physical_rows
    if rows is None:
        raise InvalidInputError(f"fragment {fragment.id} has no row count")
    if next_row_id + rows >= 1 << 64:
        raise InvalidInputError("no row ids are left: all 64-bit numbers are used")
    if fragment.row_ids is None:
        versions = RowVersions.uniform(rows, version).to_bytes()
        with_ids = replace(
            fragment,
            row_ids=RowIdSequence.from_range(next_row_id, rows).to_bytes(),
            last_updated_at_versions=versions,
            created_at_versions=versions,
        )
        return with_ids, rows
    ids = _row_ids(fragment)
    missing = rows - ids.count
    if missing < 0 or (missing and not fill):
        raise InvalidInputError(f"fragment {fragment.id} has {ids.count} row ids, {rows} rows")
    if missing == 0:
        return fragment, 0
    new = Ranges.of([(next_row_id, next_row_id + missing)])
    filled = RowIdSequence.of([*ids.segments, new])
    return replace(fragment, row_ids=filled.to_bytes()), missing


def with_moved_versions(
    fragment: Fragment, sources: Iterable[Fragment], next_row_id: int, version: int
) -> Fragment:
    """``fragment`` with row versions: all rows are last updated in ``version``.

    A row whose id is in one of ``sources`` keeps its creation version; other rows are created in
    ``version``. Ids from ``next_row_id`` on are new. ``sources`` are read until all ids are found.
    """
    rows = _bounded(fragment)
    ids = _row_ids(fragment).slice(0, rows)
    created = np.full(rows, version, dtype=np.uint64)
    missing = np.flatnonzero(ids < next_row_id)
    for source in sources:
        if not len(missing):
            break
        offsets = RowIdIndex.of({0: _source_ids(source)}).find(ids[missing])
        is_known = offsets >= 0
        created[missing[is_known]] = _versions(source, source.created_at_versions).take(
            offsets[is_known]
        )
        missing = missing[~is_known]
    return replace(
        fragment,
        last_updated_at_versions=RowVersions.uniform(rows, version).to_bytes(),
        created_at_versions=RowVersions.of_rows(created).to_bytes(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class RowLineage:
    """The row ids and row versions of some rows, in order."""

    row_ids: Uint64s
    last_updated_at: Uint64s
    created_at: Uint64s

    @classmethod
    def of_rows(cls, parts: Iterable[tuple[Fragment, Offsets]]) -> RowLineage:
        """The lineage of the rows at physical offsets of fragments, one part after another.

        A compaction passes the rows that are not deleted. Raises `CorruptFileError` if a fragment
        does not have a value for each row.
        """
        columns = [
            (
                _source_ids(fragment).take(offsets),
                _versions(fragment, fragment.last_updated_at_versions).take(offsets),
                _versions(fragment, fragment.created_at_versions).take(offsets),
            )
            for fragment, offsets in parts
        ]
        empty = [np.empty(0, np.uint64)] * 3
        return cls(*(np.concatenate(column) for column in zip(empty, *columns, strict=True)))

    def given_to(self, fragment: Fragment, start: int) -> Fragment:
        """``fragment`` with this lineage; its first row is number ``start`` of the lineage."""
        rows = slice(start, start + (fragment.physical_rows or 0))
        return replace(
            fragment,
            row_ids=RowIdSequence.from_ids(self.row_ids[rows]).to_bytes(),
            last_updated_at_versions=RowVersions.of_rows(self.last_updated_at[rows]).to_bytes(),
            created_at_versions=RowVersions.of_rows(self.created_at[rows]).to_bytes(),
        )


def updated_everywhere(fragment: Fragment, version: int) -> Fragment:
    """``fragment`` with ``version`` as last-updated version of all rows."""
    versions = RowVersions.uniform(fragment.physical_rows or 0, version)
    return replace(fragment, last_updated_at_versions=versions.to_bytes())


def updated_at(fragment: Fragment, offsets: Offsets, version: int) -> Fragment:
    """``fragment`` with ``version`` as last-updated version of the rows at physical ``offsets``.

    A fragment without inline last-updated versions is returned unchanged. Raises
    `InvalidInputError` for an offset outside of the fragment.
    """
    rows = _bounded(fragment)
    sequence = fragment.last_updated_at_versions
    if not isinstance(sequence, bytes):
        return fragment
    versions = RowVersions.from_bytes(sequence, rows).take(np.arange(rows, dtype=np.int64))
    if len(offsets) and int(offsets.max()) >= rows:
        raise InvalidInputError(f"row {int(offsets.max())} of {rows} rows is updated")
    versions[offsets] = version
    return replace(fragment, last_updated_at_versions=RowVersions.of_rows(versions).to_bytes())


def _row_ids(fragment: Fragment) -> RowIdSequence:
    if not isinstance(fragment.row_ids, bytes):
        raise InvalidInputError(f"fragment {fragment.id} stores its row ids in an external file")
    try:
        return RowIdSequence.from_bytes(fragment.row_ids)
    except CorruptFileError as error:
        raise InvalidInputError(
            f"the row ids of fragment {fragment.id} are invalid: {error}"
        ) from None


def _source_ids(fragment: Fragment) -> RowIdSequence:
    ids = _row_ids(fragment)
    if ids.count != (fragment.physical_rows or 0):
        raise CorruptFileError(f"fragment {fragment.id} does not have an id for each row")
    return ids


def _versions(fragment: Fragment, sequence: Sequence) -> RowVersions:
    rows = fragment.physical_rows or 0
    if not isinstance(sequence, bytes):
        return RowVersions.uniform(rows, FIRST_VERSION)
    return RowVersions.from_bytes(sequence, rows)


def _bounded(fragment: Fragment) -> int:
    """Number of physical rows of the fragment.

    Raises `UnsupportedFeatureError` above `_ROW_LIMIT`.
    """
    rows = fragment.physical_rows or 0
    if rows > _ROW_LIMIT:
        raise UnsupportedFeatureError(f"fragment {fragment.id} has more than {_ROW_LIMIT} rows")
    return rows
