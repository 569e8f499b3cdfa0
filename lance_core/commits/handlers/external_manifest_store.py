"""The contract of external manifest stores: rows that name the manifest of each version.

A key-value store decides which writer publishes a version if the object store cannot. It holds one
row for each version of a table, adds a row only if there is none, and returns the newest row.
`lance_core.commits.handlers.external_manifest` defines how rows are used.

Calls end like every conditional call of a store. Returning means *applied*. `ObjectExistsError`,
`ObjectNotFoundError` and any `StoreError` other than `OutcomeUnknownError` mean *not applied*.
Every other exception means *unknown*; a back-end that cannot tell the outcome raises such an
exception.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A row: the location of a version's manifest.

    ``path`` begins with the table's ``base_uri`` and has the same origin. ``size`` in bytes and
    ``etag`` describe the manifest; each is None if it is unknown.
    """

    version: int
    path: str
    size: int | None = None
    etag: str | None = None


class ExternalManifestStore(ABC):
    """The methods that a back-end implements. All are thread-safe and blocking.

    ``base_uri`` identifies a table: its path in the object store, without scheme, bucket and
    leading or trailing slashes; for a local file system, the absolute path without the leading
    slash.

    A read that starts after a write returned sees that write: read from the node that decides about
    writes, never from a lagging replica. A failed read raises `StoreError`.
    """

    @abstractmethod
    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        """The row of a version, or None if there is none."""

    @abstractmethod
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        """The row of the highest version below 2^63, or None if the table has no such row.

        Numbers from 2^63 are detached versions, which are never the latest.
        """

    @abstractmethod
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        """Add the row of a version atomically: exactly one of several concurrent writers succeeds.

        Raises `ObjectExistsError` if the version has a row already, regardless of its content.
        """

    @abstractmethod
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        """Replace the row of a version atomically; `ObjectNotFoundError` if there is none."""

    @abstractmethod
    def delete(self, base_uri: str) -> None:
        """Remove all rows of a table; not an error if there are none.

        Rows that are added at the same time may remain.
        """
