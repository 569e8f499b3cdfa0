"""Read versions and the transactions that produced them."""

from __future__ import annotations

from lance_core.checksums.seal import unsealed
from lance_core.commits.base import CommitHandler, ManifestLocation
from lance_core.commits.checked_handler import unchecked
from lance_core.commits.handlers.directory import finds_by_name
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    StoreError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.manifest.file import ManifestFile, parse_manifest_file
from lance_core.table.paths import NamingScheme, manifest_path, transaction_path
from lance_core.table.transactions.transaction import Transaction

LOOKS = 5
"""Attempts to read the newest version if it is removed between lookup and read."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version of a table that was read or just committed, and its location."""

    file: ManifestFile
    location: ManifestLocation


def read_version(store: ObjectStore, location: ManifestLocation) -> Version:
    """Read a manifest; `DatasetNotFoundError` if it does not exist."""
    try:
        data = store.get(location.path)
    except ObjectNotFoundError as error:
        raise DatasetNotFoundError(f"version {location.version} does not exist any more") from error
    return Version(parse_manifest_file(data, location.path), location)


def check_number(number: int, location: ManifestLocation) -> None:
    """Raise `CorruptFileError` if the ``number`` in a manifest differs from the one in its name."""
    name = location.version
    if number != name:
        raise CorruptFileError(
            f"the manifest says that it is version {number}, its name says {name}",
            location.path,
        )


def find_version(
    handler: CommitHandler, store: ObjectStore, number: int, naming: NamingScheme | None = None
) -> Version | None:
    """A version, or None if it does not exist or cannot be read.

    ``naming``: the scheme of the table's manifests, which saves a request where they are found by
    their names.
    """
    try:
        if naming is not None and finds_by_name(unchecked(handler)):
            location = ManifestLocation(number, manifest_path(number, naming), naming)
        else:
            location = handler.locate(number)
        return read_version(store, location)
    except (DatasetNotFoundError, CorruptFileError):
        return None


def read_latest(handler: CommitHandler, store: ObjectStore) -> Version | None:
    """The newest version, or None if there is no table.

    If a cleanup removes this version before it is read, a newer one exists, and the search starts
    again.
    """
    for _ in range(LOOKS):
        newest = handler.latest()
        if newest is None:
            return None
        try:
            return read_version(store, newest)
        except DatasetNotFoundError:
            continue
    raise StoreError("manifests vanish faster than they are read")


def transaction_of(store: ObjectStore, file: ManifestFile) -> Transaction | None:
    """The transaction of a version, or None if it was not recorded or does not exist any more.

    Reads the section in the manifest, or the transaction file if there is no such section. Raises
    `CorruptFileError` if the content is not a transaction.
    """
    if file.transaction is not None:
        return Transaction.from_bytes(file.transaction)
    name = file.manifest.transaction_file
    if not name:
        return None
    path = transaction_path(name)
    try:
        data = store.get(path)
    except ObjectNotFoundError:
        return None
    try:
        return Transaction.from_bytes(bytes(unsealed(data)), path)
    except CorruptFileError as error:
        raise error.at(path) from None


def find_transaction(store: ObjectStore, version: Version) -> Transaction | None:
    """The transaction of a version, or None if it cannot be read; see `transaction_of`."""
    try:
        return transaction_of(store, version.file)
    except CorruptFileError:
        return None


def read_transaction(store: ObjectStore, location: ManifestLocation) -> Transaction | None:
    """The transaction of the version at ``location``; see `read_version` and `transaction_of`."""
    return transaction_of(store, read_version(store, location).file)
