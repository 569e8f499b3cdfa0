"""Validate a version against the files that it references, without decoding pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lance_core.dataset.read.columns.projection import CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION
from lance_core.dataset.read.fragments.fragment_reader import check_count
from lance_core.dataset.read.fragments.meta_columns import row_ids, row_versions
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import CorruptFileError
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_id_index import RowIdIndex


def check_table(snapshot: Snapshot) -> None:
    """Check every fragment of ``snapshot`` (see `check_fragment`), and the stable row ids.

    Raises `CorruptFileError` if two rows have the same id, or a row has an id that was not assigned
    yet.
    """
    fragments = snapshot.manifest.fragments
    for fragment in fragments:
        check_fragment(snapshot, fragment)
    if not snapshot.manifest.uses_stable_row_ids:
        return
    deleted = {at: snapshot.deleted_offsets(fragment) for at, fragment in enumerate(fragments)}
    index = RowIdIndex.of(
        {at: row_ids(snapshot, fragment) for at, fragment in enumerate(fragments)},
        {at: rows.astype(np.int64) for at, rows in deleted.items() if rows is not None},
    )
    used, assigned = max(index.stops.tolist(), default=0), snapshot.manifest.next_row_id
    if used > assigned:
        raise CorruptFileError(
            f"a row has the id {used - 1}, but ids from {assigned} on are not assigned",
            field="Manifest.next_row_id",
        )


def check_fragment(snapshot: Snapshot, fragment: Fragment) -> None:
    """Open the fragment's files and compare row counts and deleted offsets with the manifest.

    Also compares the number of stable row ids and of row versions with the rows.

    Raises `CorruptFileError` for a difference, `ObjectNotFoundError` for a missing file.
    """
    rows = snapshot.physical_rows(fragment)
    for file in fragment.files:
        check_count(snapshot, fragment, file, rows)
    deleted = snapshot.deleted_offsets(fragment)
    if deleted is not None and len(deleted) and int(deleted[-1]) >= rows:
        raise CorruptFileError(
            f"row {int(deleted[-1])} of fragment {fragment.id} is deleted, but the fragment has "
            f"{rows} rows",
            field="DataFragment.deletion_file",
        )
    if snapshot.manifest.uses_stable_row_ids:
        row_ids(snapshot, fragment)
        for name in (CREATED_AT_VERSION, LAST_UPDATED_AT_VERSION):
            row_versions(snapshot, fragment, name)


def check_pages(
    snapshot: Snapshot, fragment: Fragment, columns: Sequence[str] | None = None
) -> int:
    """Check the pages of the fragment's files, or of ``columns``, against their checksums.

    Returns the bytes that have checksums. Raises `CorruptFileError`.
    """
    chosen = snapshot.schema if columns is None else snapshot.schema.project(columns)
    ids = {field.id for field in chosen.walk()}
    total = 0
    for file in fragment.files:
        numbers = [number for id_, number in file.columns().items() if id_ in ids]
        total += snapshot.reader(file).check_pages(None if columns is None else numbers)
    return total
