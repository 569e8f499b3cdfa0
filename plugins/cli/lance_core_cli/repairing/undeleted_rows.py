"""Rows of fragments whose deletion file is lost."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core import LanceDataset, LanceOperation
from lance_core.errors import CorruptFileError, NotFoundError
from lance_core.fragment import LanceFragment
from lance_core.hookspecs.arrays import to_numpy
from lance_core_cli.repairing.versions import version_numbers

ROW_ID, ROW_ADDRESS = "_rowid", "_rowaddr"
OFFSET = 0xFFFFFFFF
"""The bits of an address that are the physical row in its fragment."""


@dataclass(frozen=True)
class KnownDeletions:
    """The rows of a fragment that an older version has deleted.

    ``version``: the newest one that has the same data files and can be read, None without one.
    ``offsets``: the physical rows that are deleted there.
    """

    version: int | None
    offsets: npt.NDArray[np.int64]


def known_deletions(table: LanceDataset, fragment: LanceFragment) -> KnownDeletions:
    """What older versions know of the deleted rows of a fragment of ``table``."""
    for number in version_numbers(table):
        if number >= table.version:
            continue
        try:
            older = table.checkout_version(number).get_fragment(fragment.fragment_id)
            if older is None or older.metadata.files != fragment.metadata.files:
                break  # the fragment is newer
            return KnownDeletions(number, _deleted(older))
        except (CorruptFileError, NotFoundError):
            continue
    return KnownDeletions(None, np.zeros(0, np.int64))


def _deleted(fragment: LanceFragment) -> npt.NDArray[np.int64]:
    addresses = fragment.to_table(columns=[], with_row_address=True).column(ROW_ADDRESS)
    every = np.arange(fragment.physical_rows)
    return np.setdiff1d(every, _offsets(addresses), assume_unique=True)


def with_deleted_rows(table: LanceDataset, fragments: Set[int]) -> LanceDataset:
    """Bring back the deleted rows of fragments, but for those that are known to be deleted.

    Known are the rows that an older version has deleted, and in tables with stable row ids those
    that live in other fragments, since they were updated. A fragment is added again, with the same
    data files, under a new id: a deletion file can only be replaced by one with more rows. Indices
    do not cover it. Raises the errors of commits.
    """
    damaged = [fragment for fragment in table.get_fragments() if fragment.fragment_id in fragments]
    known = [known_deletions(table, fragment).offsets for fragment in damaged]
    first = max(fragment.fragment_id for fragment in table.get_fragments())
    operation = LanceOperation.Update(
        removed_fragment_ids=[fragment.fragment_id for fragment in damaged],
        new_fragments=[
            replace(fragment.metadata, id=0, deletion_file=None) for fragment in damaged
        ],
    )
    table = LanceDataset.commit(table, operation, table.version)
    added = [each for each in table.get_fragments() if each.fragment_id > first]
    moved = _ids_in_other_fragments(table, added) if table.has_stable_row_ids else None
    shrunk, gone = [], []
    for fragment, deleted in zip(added, known, strict=True):
        offsets = deleted if moved is None else np.union1d(deleted, _offsets_of(fragment, moved))
        if len(offsets):
            metadata = fragment.delete_rows(offsets.tolist())
            if metadata is None:
                gone.append(fragment.fragment_id)
            else:
                shrunk.append(metadata)
    if not shrunk and not gone:
        return table
    deletion = LanceOperation.Delete(shrunk, gone, "rows known to be deleted")
    return LanceDataset.commit(table, deletion, table.version)


def _ids_in_other_fragments(table: LanceDataset, added: list[LanceFragment]) -> pa.Array:
    """The row ids of all fragments but those that were ``added``."""
    names = {fragment.fragment_id for fragment in added}
    others = [each for each in table.get_fragments() if each.fragment_id not in names]
    if not others:
        return pa.array([], pa.uint64())
    scan = table.scanner(columns=[], with_row_id=True, fragments=others)
    return scan.to_table().column(ROW_ID).combine_chunks()


def _offsets_of(fragment: LanceFragment, ids: pa.Array) -> npt.NDArray[np.int64]:
    """The physical rows of a fragment that have one of the ``ids``."""
    rows = fragment.to_table(columns=[], with_row_id=True, with_row_address=True)
    addresses = rows.filter(pc.is_in(rows.column(ROW_ID), ids)).column(ROW_ADDRESS)
    return _offsets(addresses)


def _offsets(addresses: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The physical rows of addresses in one fragment."""
    return to_numpy(addresses).astype(np.int64) & OFFSET
