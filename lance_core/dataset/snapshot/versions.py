"""The versions of a table: list them, find one by time, and read their transactions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import numpy as np

from lance_core.commits.base import ManifestLocation
from lance_core.commits.history import read_transaction, transaction_of
from lance_core.concurrency.pools import IO, IO_THREADS
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.values.transaction import Transaction
from lance_core.errors import CorruptFileError, DatasetNotFoundError, InvalidInputError
from lance_core.table.fragments.fragment_counts import Count
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.paths import DETACHED

_EPOCH = datetime(1970, 1, 1)


def describe_all(root: TableRoot) -> list[dict[str, Any]]:
    """Every attached version, oldest first; reads all manifests."""
    described = []
    before = FragmentList()
    ahead = IO_THREADS if root.store.read_ahead else 1
    for manifest in _manifests(root.handler.list_versions(), root, ahead):
        manifest.recorded_fragments.share_counts(before)
        before = manifest.recorded_fragments
        described.append(describe(manifest))
    return described


def _manifests(
    locations: Iterable[ManifestLocation], root: TableRoot, ahead: int = 1
) -> Iterator[Manifest]:
    """The manifests at ``locations``; manifests that a cleanup has removed are left out.

    ``ahead``: the number of manifests to read concurrently.
    """

    def load(location: ManifestLocation) -> Manifest | None:
        with contextlib.suppress(DatasetNotFoundError):
            return open_table.load(root, location).manifest
        return None

    loaded = map(load, locations) if ahead == 1 else IO.in_order(load, locations, ahead)
    return (manifest for manifest in loaded if manifest is not None)


def describe(manifest: Manifest) -> dict[str, Any]:
    """The version's number, local time (without a zone) and totals as text, like in pylance."""
    return {
        "version": manifest.version,
        "timestamp": local_time(manifest),
        "metadata": {name: str(total) for name, total in _totals(manifest).items()},
    }


def local_time(manifest: Manifest) -> datetime:
    """The time of the version's commit, as local time without a zone."""
    timestamp = manifest.timestamp
    if timestamp is None:
        return _EPOCH
    try:
        return timestamp.astimezone().replace(tzinfo=None)
    except (OverflowError, ValueError):
        raise CorruptFileError(
            f"{timestamp} is no date in the local time zone", field="Manifest.timestamp"
        ) from None


def _totals(manifest: Manifest) -> dict[str, int]:
    """The totals of the counts that the manifest records, which may be wrong in old tables."""
    fragments = manifest.recorded_fragments
    counts = fragments.counts if manifest.uncorrected is None else fragments.recorded_counts
    totals = counts.totals()
    live_rows = totals[Count.PHYSICAL_ROWS] - totals[Count.DELETED_ROWS]
    are_known = counts.are_known
    if manifest.uncorrected is not None or not are_known.all():
        rows = (counts.physical_rows - counts.deleted_rows)[are_known]
        live_rows = sum(np.maximum(rows, 0).tolist())
    return {
        "total_data_file_rows": totals[Count.PHYSICAL_ROWS],
        "total_data_files": totals[Count.DATA_FILES],
        "total_deletion_file_rows": totals[Count.DELETED_ROWS],
        "total_deletion_files": totals[Count.DELETION_FILES],
        "total_files_size": totals[Count.DATA_BYTES],
        "total_fragments": len(fragments),
        "total_rows": live_rows,
    }


def version_at(root: TableRoot, asof: datetime | str) -> int:
    """The number of the newest version not newer than ``asof`` (local time if it has no zone).

    Raises `DatasetNotFoundError` if all versions are newer.
    """
    moment = _moment(asof)
    for manifest in _manifests(reversed(root.handler.list_versions()), root):
        made = manifest.timestamp
        if made is None or made <= moment:
            return manifest.version
    raise DatasetNotFoundError(f"{asof} is earlier than the first version of this dataset")


def _moment(asof: datetime | str) -> datetime:
    if isinstance(asof, str):
        try:
            asof = datetime.fromisoformat(asof)
        except ValueError as error:
            raise InvalidInputError(f"{asof!r} is not a date and time: {error}") from error
    if not isinstance(asof, datetime):
        raise InvalidInputError(f"asof must be a datetime or text, got {type(asof).__name__}")
    try:
        return asof.astimezone()
    except (OverflowError, ValueError):
        raise InvalidInputError(f"{asof} is no date in UTC as well") from None


def transaction(root: TableRoot, version: int) -> Transaction | None:
    """The transaction that committed a version, None if it was not recorded."""
    made_by = transaction_of(root.store, open_table.open_version(root, version).file)
    return None if made_by is None else Transaction.of(made_by)


def recent_transactions(snapshot: Snapshot, count: int) -> list[Transaction | None]:
    """The transactions of the last ``count`` versions up to ``snapshot``, newest first."""
    if count < 0:
        raise InvalidInputError(f"cannot give {count} transactions")
    if snapshot.version & DETACHED:  # a detached version is not part of the history
        made_by = [transaction_of(snapshot.root.store, snapshot.file)][:count]
        return [None if found is None else Transaction.of(found) for found in made_by]
    locations = [
        location
        for location in reversed(snapshot.root.handler.list_versions())
        if location.version <= snapshot.version
    ]
    made_by = [read_transaction(snapshot.root.store, where) for where in locations[:count]]
    return [None if found is None else Transaction.of(found) for found in made_by]
