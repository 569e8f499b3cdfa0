"""The interface between a remote store and a service: single requests, each sent once.

To support a storage service, implement a `RemoteClient`.
`lance_core_remote.store.RemoteStore` turns it into an `ObjectStore`: it adds paths below a
root, retries, parallel reads, uploads in parts, and the errors of the store contract. A client
sends each request once, with the retries of its SDK disabled, and reports the meaning of a failed
response as a `RequestError`.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core.hookspecs.stores import ByteRange, StoreCapabilities


class Failure(enum.Enum):
    """The meaning of a failed request. "Not applied": the request had no effect."""

    MISSING = "missing"
    """The object does not exist. A missing container is REFUSED instead."""
    EXISTS = "exists"
    """The condition of a conditional write failed: an object exists. Not applied."""
    CHANGED = "changed"
    """The object does not have the requested ``etag``."""
    RANGE = "range"
    """The range begins at or after the end of the object."""
    BUSY = "busy"
    """The service rejected the request temporarily: too many requests, or a conflict with a
    concurrent request. Not applied."""
    UNSENT = "unsent"
    """The request did not reach the service: there was no connection. Not applied."""
    EXPIRED = "expired"
    """The credentials have expired. Not applied."""
    REFUSED = "refused"
    """A retry cannot help: credentials, permissions, a name or an option are wrong. Not
    applied."""
    UNSUPPORTED = "unsupported"
    """The service does not support this, for example a conditional write. Not applied."""
    UNKNOWN = "unknown"
    """There is no response, or the response does not tell if the request was applied."""


class RequestError(Exception):
    """A failed request.

    ``text``: the reason in a form that users may see: status, code and message of the service, but
    never a URL with a query, a header or signed data. ``retry_after``: the seconds that the service
    requests as a pause, or None. ``contact_timeout``: for an error without a response, the maximum
    seconds of retries as long as the service has never responded (0: none, for all settings); None
    for a response.
    """

    def __init__(
        self,
        failure: Failure,
        text: str,
        retry_after: float | None = None,
        *,
        contact_timeout: float | None = None,
    ) -> None:
        super().__init__(text)
        self.failure = failure
        self.text = text
        self.retry_after = retry_after
        self.contact_timeout = contact_timeout


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """An object as the service lists it: full key, bytes, time with zone, version tag."""

    key: str
    size: int
    last_modified: datetime
    etag: str | None = None


class Content(NamedTuple):
    """Bytes of an object, the ``size`` of the whole object in bytes, and its version tag."""

    data: pa.Buffer
    size: int
    etag: str | None


class ListingPage(NamedTuple):
    """A page of a listing, ascending by key. ``next_token``: for the next page; None at the end."""

    objects: Sequence[RemoteObject]
    next_token: str | None


class UploadedPart(NamedTuple):
    """An uploaded part: its number from 1, and its identifier at the service."""

    number: int
    tag: str


class RemoteClient(ABC):
    """Requests to one container (a bucket); a ``key`` is the full name of an object in it.

    Thread-safe. Every method sends one request once and raises `RequestError`. Bodies are views of
    memory that does not change until the call returns. They are sent in order, without a joined
    copy if the SDK allows it.
    """

    max_put_size: int = 5 << 30
    """Maximum bytes of one `put`; longer objects are uploaded in parts."""
    max_copy_size: int = 5 << 30
    """Maximum bytes of one `copy`; longer objects are copied through this process."""
    min_part_size: int = 5 << 20
    """Minimum bytes of each part except the last."""
    part_multiple: int = 1
    """The length of each part except the last must be a multiple of this many bytes."""
    max_parts: int = 10_000
    max_parts_at_once: int = 3
    """Maximum parts of one upload to send in parallel; 1 if the service requires an order."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the container in errors, such as ``s3://bucket``; without credentials."""

    @property
    @abstractmethod
    def capabilities(self) -> StoreCapabilities:
        """The guarantees of the service. Remote stores never offer ``rename_if_absent``."""

    @property
    def guarantor(self) -> str | None:
        """See `ObjectStore.guarantor`."""
        return None

    @property
    def copies_parts(self) -> bool:
        """True if the service copies ranges of objects as parts (`copy_part`)."""
        return False

    @property
    def equal_parts(self) -> bool:
        """False if the service is known to take parts of different lengths.

        Then long ranges of objects are copied with few requests, as parts of their own lengths.
        """
        return True

    @abstractmethod
    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        """The bytes ``wanted``: a non-empty range or None for all; of version ``etag`` if given.

        Returns fewer bytes if the object ends within the range. Fails with RANGE if the object ends
        before the range.
        """

    @abstractmethod
    def head(self, key: str) -> RemoteObject:
        """The metadata of an object."""

    @abstractmethod
    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        """Write a whole object; with ``if_absent``, atomically and only if no object exists."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object. Neither success nor MISSING proves that the object existed."""

    @abstractmethod
    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Copy an object inside the service; REFUSED if it exceeds `max_copy_size` bytes."""

    @abstractmethod
    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        """A page of the objects whose keys begin with ``prefix``, in ascending byte order of keys.

        Only keys after ``start_after``. A service that can only start *at* a key, or not at all,
        may list more keys; the caller drops them. With ``deep`` false, only keys without a ``/``
        after the prefix, if the service can filter them. ``token``: from the page before, None for
        the first page. A service with real folders returns an empty page for a missing folder;
        MISSING means that the container, or the service itself, is not there.
        """

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        """Start an upload in parts and return its identifier.

        ``if_absent``: the value that `finish_upload` will receive. A service that checks the
        condition at the start may raise EXISTS here.
        """
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        """Send part ``number``, from 1. A second upload of the same part replaces the first."""
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def copy_part(
        self, key: str, upload: str, number: int, source: str, wanted: ByteRange, etag: str | None
    ) -> UploadedPart:
        """Like `upload_part`, with a range of the object ``source``, of version ``etag`` if given.

        Only called if `copies_parts`. Fails with CHANGED for another version.
        """
        raise UnsupportedFeatureError(f"{self.name} does not copy parts of objects")

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        """Create the object from its parts, in order; ``if_absent`` as in `put`."""
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def abort_upload(self, key: str, upload: str) -> None:
        """Discard an upload and its parts. A missing upload is no error."""
        return

    def renew_credentials(self) -> bool:
        """Get new credentials after the service has reported that the current ones are expired.

        Returns True if the credentials may have changed. Called by one thread at a time.
        """
        return False

    def close(self) -> None:
        """Release connections."""
        return
