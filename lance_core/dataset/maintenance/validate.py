"""Validate a version against the files that it references, without decoding pages."""

from __future__ import annotations

from lance_core.dataset.read.fragment_reader import check_count
from lance_core.dataset.snapshot.snapshot import Snapshot
from lance_core.errors import CorruptFileError
from lance_core.table.fragments.fragment import Fragment


def check_table(snapshot: Snapshot) -> None:
    """Check every fragment of ``snapshot``: see `check_fragment`."""
    for fragment in snapshot.manifest.fragments:
        check_fragment(snapshot, fragment)


def check_fragment(snapshot: Snapshot, fragment: Fragment) -> None:
    """Open the fragment's files and compare row counts and deleted offsets with the manifest.

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
