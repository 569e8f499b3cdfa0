"""A client of a service in memory, for tests of stores that use a `RemoteClient`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime

import pyarrow as pa

from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.stores import ByteRange, Guarantee, StoreCapabilities
from lance_core_remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)

CAPABILITIES = replace(
    StoreCapabilities(**{f.name: Guarantee.YES for f in fields(StoreCapabilities)}),
    rename_if_absent=Guarantee.NO,
    link_if_absent=Guarantee.NO,
)
"""All guarantees that such a service can give."""


class MemoryClient(RemoteClient):
    """Requests to objects in the memory of this process.

    ``requests`` lists the method and key of each request, in order. ``page_size``: maximum number
    of objects in one page of a listing.
    """

    def __init__(
        self, capabilities: StoreCapabilities = CAPABILITIES, page_size: int = 1000
    ) -> None:
        self._capabilities = capabilities
        self._page_size = page_size
        self._objects: dict[str, tuple[pa.Buffer, RemoteObject]] = {}
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = itertools.count(1)
        self._lock = ForkSafeLock()
        self.requests: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        return "memory://service"

    @property
    def copies_parts(self) -> bool:
        return True

    @property
    def equal_parts(self) -> bool:
        return False

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get(self, key: str, byte_range: ByteRange | None, etag: str | None = None) -> Content:
        self.requests.append(("get", key))
        data, stored = self._object(key)
        if etag is not None and etag != stored.etag:
            raise RequestError(Failure.CHANGED, "412 PreconditionFailed")
        if byte_range is None:
            return Content(data, stored.size, stored.etag)
        if byte_range.start >= stored.size:
            raise RequestError(Failure.RANGE, "416 InvalidRange")
        stop = min(byte_range.stop, stored.size)
        return Content(
            data.slice(byte_range.start, stop - byte_range.start), stored.size, stored.etag
        )

    def head(self, key: str) -> RemoteObject:
        self.requests.append(("head", key))
        return self._object(key)[1]

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        self.requests.append(("put", key))
        self._put(key, pa.py_buffer(b"".join(body)), if_absent)

    def delete(self, key: str) -> None:
        self.requests.append(("delete", key))
        with self._lock:
            self._objects.pop(key, None)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        self.requests.append(("copy", source))
        data = self._object(source)[0]
        if data.size > self.max_copy_size:
            raise RequestError(Failure.REFUSED, "400 InvalidRequest: the source is too large")
        self._put(target, data, if_absent)

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        self.requests.append(("list_page", prefix))
        after = max(token or "", start_after or "")
        keys = sorted(
            key
            for key in self._objects.copy()
            if key.startswith(prefix) and key > after and (deep or "/" not in key[len(prefix) :])
        )
        page = keys[: self._page_size]
        objects = [self._objects[key][1] for key in page if key in self._objects]
        return ListingPage(objects, page[-1] if len(keys) > len(page) else None)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        self.requests.append(("start_upload", key))
        upload = f"upload-{next(self._numbers)}"
        self._uploads[upload] = {}
        return upload

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        self.requests.append(("upload_part", key))
        self._parts(upload)[number] = b"".join(body)
        return UploadedPart(number, f"part-{number}")

    def copy_part(
        self,
        key: str,
        upload: str,
        number: int,
        source: str,
        byte_range: ByteRange,
        etag: str | None,
    ) -> UploadedPart:
        self.requests.append(("copy_part", source))
        data, stored = self._object(source)
        if etag not in (None, stored.etag):
            raise RequestError(Failure.CHANGED, "412 PreconditionFailed")
        if byte_range.stop > data.size:
            raise RequestError(Failure.REFUSED, "416 InvalidRange")
        self._parts(upload)[number] = data[byte_range.start : byte_range.stop].to_pybytes()
        return UploadedPart(number, f"part-{number}")

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        self.requests.append(("finish_upload", key))
        sent = self._parts(upload)
        if [part.number for part in parts] != sorted(sent):
            raise RequestError(Failure.REFUSED, "400 InvalidPart")
        if any(len(sent[part.number]) < self.min_part_size for part in parts[:-1]):
            raise RequestError(Failure.REFUSED, "400 EntityTooSmall")
        self._put(key, pa.py_buffer(b"".join(sent[part.number] for part in parts)), if_absent)
        del self._uploads[upload]

    def abort_upload(self, key: str, upload: str) -> None:
        self.requests.append(("abort_upload", key))
        self._uploads.pop(upload, None)

    @property
    def unfinished_uploads(self) -> int:
        """Uploads that were neither finished nor aborted."""
        return len(self._uploads)

    def _object(self, key: str) -> tuple[pa.Buffer, RemoteObject]:
        try:
            return self._objects[key]
        except KeyError:
            raise RequestError(Failure.MISSING, "404 NoSuchKey") from None

    def _put(self, key: str, data: pa.Buffer, if_absent: bool) -> None:
        with self._lock:
            if if_absent and key in self._objects:
                raise RequestError(Failure.EXISTS, "412 PreconditionFailed")
            etag = f"etag-{next(self._numbers)}"
            stored = RemoteObject(key, data.size, datetime.now(UTC), etag)
            self._objects[key] = (data, stored)

    def _parts(self, upload: str) -> dict[int, bytes]:
        try:
            return self._uploads[upload]
        except KeyError:
            raise RequestError(Failure.MISSING, "404 NoSuchUpload") from None
