"""The versions of a table: list them, find one by time, and read their transactions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.commits.base import ManifestLocation
from lance_core.commits.checked_handler import unchecked
from lance_core.commits.handlers.directory import finds_by_name
from lance_core.commits.history import check_number, read_transaction, transaction_of
from lance_core.concurrency.pools import IO, IO_THREADS, in_order
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.dataset.values.transaction import Transaction
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    ObjectNotFoundError,
)
from lance_core.table.manifest.version_summary import SummaryReader, VersionSummary, VersionTotals
from lance_core.table.paths import DETACHED, manifest_path
from lance_core.table.transactions.transaction import Transaction as StoredTransaction

if TYPE_CHECKING:
    from lance_core.dataset.values import listings

_EPOCH = datetime(1970, 1, 1)


def describe_all(root: TableRoot) -> list[listings.Version]:
    """Every attached version, oldest first; reads all manifests."""
    reader, described = SummaryReader(), []
    locations = root.handler.list_versions()

    def get(location: ManifestLocation) -> pa.Buffer | None:
        with contextlib.suppress(ObjectNotFoundError):
            return root.store.get(location.path)
        return None

    is_io_bound = root.store.read_ahead > 0
    manifests = IO.in_order(get, locations, IO_THREADS) if is_io_bound else map(get, locations)
    for location, data in zip(locations, manifests, strict=True):
        if data is not None:  # a cleanup may have removed the version
            summary = reader.read(data, location.path)
            check_number(summary.version, location)
            described.append(describe(summary))
    return described


def describe(summary: VersionSummary) -> listings.Version:
    """The version's number, local time (without a zone) and totals as text, like in pylance."""
    return {
        "version": summary.version,
        "timestamp": local_time(summary.timestamp),
        "metadata": dict(zip(VersionTotals._fields, map(str, summary.totals), strict=True)),
    }


def local_time(timestamp: datetime | None) -> datetime:
    """The time of a version's commit, as local time without a zone."""
    if timestamp is None:
        return _EPOCH
    try:
        return timestamp.astimezone().replace(tzinfo=None)
    except (OverflowError, ValueError):
        raise CorruptFileError(
            f"timestamp {timestamp} is outside of the dates of the local time zone",
            field="Manifest.timestamp",
        ) from None


def version_at(root: TableRoot, asof: datetime | str) -> int:
    """The number of the newest version not newer than ``asof`` (local time if it has no zone).

    Raises `DatasetNotFoundError` if all versions are newer, and `CorruptFileError` for a damaged
    version that may be the one.
    """
    moment, damage = _moment(asof), None
    for location in reversed(root.handler.list_versions()):
        try:
            manifest = open_table.load(root, location).manifest
        except DatasetNotFoundError:
            continue  # A cleanup has removed it.
        except CorruptFileError as error:
            damage = damage or error
            continue
        made = manifest.timestamp
        if made is not None and made > moment:
            damage = None  # A damaged version after this one is too new as well.
        elif damage is None:
            return manifest.version
        else:
            break
    if damage is not None:
        raise damage
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
        raise InvalidInputError(f"{asof} is outside of the supported range of dates") from None


def transaction(root: TableRoot, version: int) -> Transaction | None:
    """The transaction that committed a version, None if it was not recorded."""
    return _public(transaction_of(root.store, open_table.open_version(root, version).file))


def recent_transactions(snapshot: Snapshot, count: int) -> list[Transaction | None]:
    """The transactions of the last ``count`` versions up to ``snapshot``, newest first."""
    if count < 0:
        raise InvalidInputError(f"cannot give {count} transactions")
    if snapshot.version & DETACHED:  # a detached version is not part of the history
        return [_public(transaction_of(snapshot.root.store, snapshot.file))][:count]
    handler, naming = snapshot.root.handler, snapshot.location.naming
    if finds_by_name(unchecked(handler)):
        numbers = range(snapshot.version, max(0, snapshot.version - count), -1)
        locations = [
            ManifestLocation(number, manifest_path(number, naming), naming) for number in numbers
        ]
        # A cleanup may have removed some of them.
        with contextlib.suppress(DatasetNotFoundError):
            return _transactions(snapshot, locations)
    every = reversed(handler.list_versions())
    older = [location for location in every if location.version <= snapshot.version]
    return _transactions(snapshot, older[:count])


def _transactions(
    snapshot: Snapshot, locations: Sequence[ManifestLocation]
) -> list[Transaction | None]:
    store = snapshot.root.store
    read, is_io_bound = partial(read_transaction, store), store.read_ahead > 0
    return list(map(_public, in_order(read, locations, IO_THREADS, is_io_bound=is_io_bound)))


def _public(stored: StoredTransaction | None) -> Transaction | None:
    """A transaction in the form of the public interface."""
    return None if stored is None else Transaction.of(stored)
