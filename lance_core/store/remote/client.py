"""What a remote store asks a service for: single requests, each sent once.

Whoever writes a store for a service with an API over the network writes a `RemoteClient`;
`lance_core.store.remote.store.RemoteStore` makes an `ObjectStore` of it: paths below a root,
retries, parallel reads, uploads in parts, and outcomes as the store contract names them. A client
knows the service and nothing of these: it sends a request once, with the resending of its SDK
switched off, and says by a `RequestError` what an answer means.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from lance_core.errors import UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ByteRange, StoreCapabilities


class Failure(enum.Enum):
    """What is known of a request that did not succeed."""

    MISSING = "missing"
    """There is no such object. The container not being there is REFUSED."""
    EXISTS = "exists"
    """The condition of a conditional write does not hold: an object is there. Not applied."""
    CHANGED = "changed"
    """The object is not the one that was asked for by its ``etag``."""
    RANGE = "range"
    """The range begins at or behind the end of the object."""
    BUSY = "busy"
    """The service turned the request away, for now: too many, or a conflict with another that is
    under way. Not applied."""
    UNSENT = "unsent"
    """The request did not reach the service: no connection. Not applied."""
    EXPIRED = "expired"
    """The credentials are not valid any more. Not applied."""
    REFUSED = "refused"
    """Sending it again cannot help: credentials, rights, a name or an option are wrong. Not
    applied."""
    UNSUPPORTED = "unsupported"
    """The service does not do this, such as a conditional write. Not applied."""
    UNKNOWN = "unknown"
    """No answer, or one that leaves it open whether the request was applied."""


class RequestError(Exception):
    """A request that did not succeed.

    ``text`` says why, in words that can be shown: status, code and message of the service, never a
    URL with a query, a header or what was signed. ``retry_after``: seconds that the service asks to
    wait, or None.
    """

    def __init__(self, failure: Failure, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.failure = failure
        self.text = text
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """An object as the service lists it: whole key, bytes, time with a zone, version tag."""

    key: str
    size: int
    last_modified: datetime
    etag: str | None = None


class Content(NamedTuple):
    """Bytes of an object. ``size`` of the whole object in bytes, ``etag`` as of `RemoteObject`."""

    data: pa.Buffer
    size: int
    etag: str | None


class ListingPage(NamedTuple):
    """Part of a listing, ascending by key. ``next_token`` asks for what follows, None: nothing."""

    objects: Sequence[RemoteObject]
    next_token: str | None


class UploadedPart(NamedTuple):
    """A part that was uploaded: its number from 1, and what the service calls it."""

    number: int
    tag: str


class RemoteClient(ABC):
    """Requests to one container (a bucket); a ``key`` is the whole name of an object in it.

    Thread-safe. Every method sends one request, once, and raises `RequestError`. Bodies are given
    as views of memory that stay unchanged until the call returns; they are sent one after the
    other, without being joined if the SDK can do so.
    """

    max_put_size: int = 5 << 30
    """Bytes that one `put` can take; more is uploaded in parts."""
    max_copy_size: int = 5 << 30
    """Bytes that one `copy` can take; more goes through this process."""
    min_part_size: int = 5 << 20
    """Bytes that each part but the last must have."""
    part_multiple: int = 1
    """What the length of each part but the last must be a multiple of, in bytes."""
    max_parts: int = 10_000
    max_parts_at_once: int = 3
    """How many parts of one upload may be under way together; 1 for those that take turns."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What errors call the container, such as ``s3://bucket``; no credentials in it."""

    @property
    @abstractmethod
    def capabilities(self) -> StoreCapabilities:
        """What the service guarantees; ``rename_if_absent`` is not offered to remote stores."""

    @abstractmethod
    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        """The bytes ``wanted`` (never an empty range), None: all; of this ``etag`` if one is given.

        Fewer bytes come if the object ends before; RANGE if it ends before the first of them.
        """

    @abstractmethod
    def head(self, key: str) -> RemoteObject:
        """What is known of an object without its bytes."""

    @abstractmethod
    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        """Write a whole object; with ``if_absent``, atomically and only where none is."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object; neither MISSING nor success tells whether there was one."""

    @abstractmethod
    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Copy an object inside the service; REFUSED if it has more than `max_copy_size` bytes."""

    @abstractmethod
    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        """Objects whose keys begin with ``prefix``, in ascending byte order of keys.

        Only keys behind ``start_after``. A service that can only start *at* a key, or not at all,
        may list more: the caller drops what it did not ask for. With ``deep`` false, only keys
        without a ``/`` behind the prefix, if the service can tell them apart. ``token``: of the
        page before, None for the first.
        """

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        """Begin to upload an object in parts; what the upload is called.

        ``if_absent``: what `finish_upload` will be told. A service that takes the condition here
        may raise EXISTS already.
        """
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        """Send part ``number``, from 1; sending it again replaces it."""
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        """Make the object of its parts, in order; ``if_absent`` as of `put`."""
        raise UnsupportedFeatureError(f"{self.name} takes no uploads in parts")

    def abort_upload(self, key: str, upload: str) -> None:
        """Drop an upload and its parts; none being there is no error."""
        return

    def renew_credentials(self) -> bool:
        """Get new credentials because the service calls the ones in use expired.

        Whether there may be others now. Called by one thread at a time.
        """
        return False

    def close(self) -> None:
        """Give back connections."""
        return
