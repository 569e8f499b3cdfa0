"""The contract of external manifest stores: rows that say which manifest is a version.

A key-value store decides what an object store cannot: who makes a version. It holds one row for
each version of a table, adds a row only if there is none, and is asked for the newest. What is done
with the rows is `lance_core.commits.handlers.external_manifest`.

How a call ends is how every conditional call of a store ends. Returning means *applied*.
`ObjectExistsError`, `ObjectNotFoundError` and any `StoreError` other than `OutcomeUnknownError`
mean *not applied*. Everything else means *unknown*, and so a back-end that cannot tell ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from lance_core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A row: where the manifest of a version is.

    ``path`` is counted from the same place as the ``base_uri`` of the table, which it begins with.
    ``size`` in bytes and ``etag`` are what is known of the manifest, None if nothing is.
    """

    version: int
    path: str
    size: int | None = None
    etag: str | None = None


class ExternalManifestStore(ABC):
    """The least that an implementer writes. All methods are thread-safe and blocking.

    ``base_uri`` names a table: its path in the object store, without scheme, bucket and slashes at
    its ends; of a local file system, the absolute path without the leading slash.

    A read that starts after a write returned sees that write: reads go to whatever decides about
    the writes, never to a copy that lags behind. A read that fails raises `StoreError`.
    """

    @abstractmethod
    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        """The row of a version, None if there is none."""

    @abstractmethod
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        """The row of the highest version below 2^63, None if the table has no row.

        Higher numbers are those of detached versions, which are never the latest.
        """

    @abstractmethod
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        """Add the row of a version, atomically: of any number of writers exactly one succeeds.

        `ObjectExistsError` if there is one already, whoever added it and whatever it says.
        """

    @abstractmethod
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        """Replace the row of a version, atomically; `ObjectNotFoundError` if there is none."""

    @abstractmethod
    def delete(self, base_uri: str) -> None:
        """Remove all rows of a table, however many; no error if there is none.

        What is added meanwhile may stay.
        """
