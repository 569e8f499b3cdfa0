"""Upload objects: short ones with one request, others in parts, of which few are in memory.

All parts of an upload but the last have one length, because some services, such as Cloudflare R2,
refuse others. The length is chosen before the first part is sent, so that the parts of an object of
a known length, and of every object up to `RemoteSettings.part_size` times the maximum number of
parts, suffice. A longer object of unknown length is continued: its parts become an object, and a
second upload with longer parts begins with copies of that object.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.concurrency import ThreadPool
from lance_core.hookspecs.stores import ByteRange, ObjectWriter, StoreTotals, byte_view
from lance_core_remote.client import RemoteClient, RequestError, UploadedPart
from lance_core_remote.pieces import Pieces
from lance_core_remote.retries import Sender
from lance_core_remote.settings import RemoteSettings

PARTS_AT_ONCE = 3
"""Maximum parts of the initial length to send in parallel."""

GROWTH = 8
"""How many parts become one part when an upload is continued: 5 TiB take two continuations."""

COPIED_PART = 256 << 20
"""Minimum bytes of a part that the service copies, if the range is not shorter."""


class CopySource(NamedTuple):
    """An object to copy from: its path, its key, and its version tag if it has one."""

    path: str
    key: str
    etag: str | None


class Uploads:
    """The shared state of all uploads of one store."""

    def __init__(
        self,
        client: RemoteClient,
        sender: Sender,
        settings: RemoteSettings,
        threads: ThreadPool,
    ) -> None:
        self.client = client
        self.sender = sender
        self.threads = threads
        self.totals = StoreTotals()
        self._part_size = settings.part_size

    def part_size(self, length: int = 0) -> int:
        """Bytes of each part but the last of an object of ``length`` bytes; 0: not known yet."""
        client = self.client
        size = max(self._part_size, client.min_part_size)
        while size * client.max_parts < length:
            size *= 2
        return -(-size // client.part_multiple) * client.part_multiple

    def put(self, path: str, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        """Write an object with one request."""
        send = partial(self.client.put, key, body, if_absent=if_absent)
        self.sender.write("writing", path, send)
        self.totals.count_write(sum(view.nbytes for view in body))

    def put_in_parts(
        self, path: str, key: str, body: Sequence[memoryview], *, if_absent: bool
    ) -> None:
        """Write an object with several requests."""
        with RemoteWriter(self, path, key, if_absent=if_absent) as writer:
            writer.reserve(sum(view.nbytes for view in body))
            for view in body:
                writer.write(view)


class RemoteWriter(ObjectWriter):
    """Sends parts from other threads while the caller continues to write.

    At most `PARTS_AT_ONCE` parts are sent in parallel, and views of one more part are kept. With
    ``if_absent``, closing fails if an object exists at ``path``.

    Nothing is visible before `close` returns, with one exception: an object of unknown length that
    is continued (see the module) is visible with its first bytes until then. So it cannot replace
    an object; files of a table have new names, and nothing refers to them yet.
    """

    def __init__(self, uploads: Uploads, path: str, key: str, *, if_absent: bool = False) -> None:
        self._uploads = uploads
        self._path = path
        self._key = key
        self._if_absent = if_absent
        self._pieces = Pieces()
        self._position = 0
        self._part = uploads.part_size()
        self._upload: str | None = None
        self._sent = 0
        self._under_way: deque[Future[UploadedPart]] = deque()
        self._parts: list[UploadedPart] = []
        self._is_continued = False
        self._is_open = True
        self._is_closed = False
        self._process = os.getpid()

    def reserve(self, size: int) -> None:
        """Expect about ``size`` more bytes: lengthens the parts if none has been sent."""
        if self._upload is None:
            self._part = max(self._part, self._uploads.part_size(self._position + size))

    def write(self, data: object) -> None:
        self._check_open()
        view = byte_view(data)
        self._position += view.nbytes
        self._pieces.add(view)
        with self._dropped_if_it_fails():
            # Keep the last part: an object that fits into a single part is written with one
            # request.
            self._send_full_parts()

    def is_of(self, client: RemoteClient) -> bool:
        """True if ``client`` writes this object, so that the service can copy ranges into it."""
        return self._uploads.client is client

    def append_object(
        self, source: CopySource, extent: ByteRange, read: Callable[[ByteRange], pa.Buffer]
    ) -> None:
        """Append the range ``extent`` of ``source``, an object in the same container.

        The service copies it. What does not fill a part is read with ``read``.
        """
        self._check_open()
        start = extent.start
        while start < extent.stop:
            with self._dropped_if_it_fails():
                self._make_room()
                start = self._append_some(source, ByteRange(start, extent.stop), read)

    def _append_some(
        self, source: CopySource, extent: ByteRange, read: Callable[[ByteRange], pa.Buffer]
    ) -> int:
        """Append the begin of ``extent`` with at most one part; returns where it ends."""
        client, (start, stop), waiting = self._uploads.client, extent, self._pieces.size
        least = self._part if client.equal_parts else client.min_part_size
        missing = max(0, least - waiting) if waiting else 0
        if extent.length < missing + least:
            return self._read(start, stop, read)
        if waiting:  # it must become a part of its own before a copy can follow
            end = self._read(start, start + missing, read)
            self._send(self._pieces.size)
            return end
        end = start + self._part
        if not client.equal_parts:
            step = max(COPIED_PART, self._part)
            end = stop if extent.length < step + least else start + step
        self._copy(source, ByteRange(start, end))
        self._position += end - start
        return end

    def _read(self, start: int, stop: int, read: Callable[[ByteRange], pa.Buffer]) -> int:
        """Write the bytes from ``start`` to ``stop`` of a source; returns ``stop``."""
        step = self._uploads.part_size()
        for at in range(start, stop, step):
            self.write(read(ByteRange(at, min(at + step, stop))))
        return max(start, stop)

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._is_closed:
            return
        self._check_open()
        with self._dropped_if_it_fails():
            if self._upload is None:
                body = self._pieces.take(self._pieces.size)
                self._uploads.put(self._path, self._key, body, if_absent=self._if_absent)
            else:
                if self._pieces.size:
                    self._make_room()
                    self._send_full_parts()
                    self._send(self._pieces.size)
                self._finish(self._started())
                self._uploads.totals.count_write(self._position)
        self._is_open, self._is_closed = False, True

    def abort(self) -> None:
        if self._is_open and self._process == os.getpid():
            self._drop()

    def _send_full_parts(self) -> None:
        """Send parts as long as more bytes wait than one part has."""
        while self._pieces.size > self._part:
            self._make_room()
            if self._pieces.size > self._part:
                self._send(self._part)

    def _make_room(self) -> None:
        """Continue the upload if it cannot take another part; that changes the part length."""
        if self._sent == self._uploads.client.max_parts:
            self._continue()

    def _send(self, length: int) -> None:
        """Send the first ``length`` bytes as a part, when fewer than the maximum are being sent."""
        upload = self._next_part(PARTS_AT_ONCE * self._uploads.part_size() // self._part)
        client, body = self._uploads.client, self._pieces.take(length)
        send = partial(client.upload_part, self._key, upload, self._sent, body)
        self._submit(partial(self._uploads.sender.prepare, "uploading", self._path, send))

    def _copy(self, source: CopySource, extent: ByteRange) -> None:
        """Let the service copy a range as a part."""
        upload = self._next_part(PARTS_AT_ONCE)
        copy = partial(
            self._uploads.client.copy_part,
            *(self._key, upload, self._sent, source.key, extent, source.etag),
        )
        verb = f"copying {source.path!r} to"
        send = partial(self._uploads.sender.prepare, verb, self._path, copy, source.path)
        self._submit(send)

    def _next_part(self, at_once: int) -> str:
        """Begin a part when fewer than ``at_once`` are being sent; returns the upload."""
        upload = self._started()
        while len(self._under_way) >= min(self._uploads.client.max_parts_at_once, max(1, at_once)):
            self._parts.append(self._under_way.popleft().result())
        self._sent += 1
        return upload

    def _started(self) -> str:
        """The upload, which the first part starts."""
        if self._upload is None:
            uploads = self._uploads
            start = partial(uploads.client.start_upload, self._key, if_absent=self._if_absent)
            self._upload = uploads.sender.prepare("uploading", self._path, start)
        return self._upload

    def _submit(self, work: Callable[[], UploadedPart]) -> None:
        self._under_way.append(self._uploads.threads.submit(work))

    def _finish(self, upload: str) -> None:
        while self._under_way:
            self._parts.append(self._under_way.popleft().result())
        client = self._uploads.client
        finish = partial(
            client.finish_upload, self._key, upload, self._parts, if_absent=self._if_absent
        )
        self._uploads.sender.write("writing", self._path, finish)

    def _continue(self) -> None:
        """Make an object of the parts, and begin an upload of longer parts with copies of it."""
        uploads, client = self._uploads, self._uploads.client
        look = partial(uploads.sender.read, "looking at", self._path)
        if not self._is_continued:
            with contextlib.suppress(ObjectNotFoundError):
                look(partial(client.head, self._key))
                raise UnsupportedFeatureError(
                    f"{self._path!r} has more than {client.max_parts} parts of {self._part} bytes "
                    "and would replace an object: write it where nothing is"
                )
        assert self._upload is not None
        self._finish(self._upload)
        self._is_continued, self._upload = True, None
        self._parts, self._sent = [], 0
        start = look(partial(client.head, self._key))
        source = CopySource(self._path, self._key, start.etag)
        self._part *= GROWTH
        stop = start.size - start.size % self._part
        for at in range(0, stop, self._part):
            part = ByteRange(at, at + self._part)
            if client.copies_parts:
                self._copy(source, part)
            else:
                self._pieces.put_first(self._read_back(source, part))
                self._send(self._part)
        if stop < start.size:
            self._pieces.put_first(self._read_back(source, ByteRange(stop, start.size)))

    def _read_back(self, source: CopySource, extent: ByteRange) -> memoryview:
        """Bytes of ``source``, which this writer has made."""
        step, read = self._uploads.part_size(), self._uploads.client.get
        ranges = [
            ByteRange(at, min(at + step, extent.stop))
            for at in range(extent.start, extent.stop, step)
        ]
        parts = [
            self._uploads.sender.read(
                "reading", source.path, partial(read, source.key, range_, source.etag)
            ).data
            for range_ in ranges
        ]
        return memoryview(b"".join(map(memoryview, parts)))

    @contextlib.contextmanager
    def _dropped_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OutcomeUnknownError:
            self._is_open = False  # the upload may still take effect
            raise
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        self._is_open = False
        self._pieces.clear()
        for future in self._under_way:
            future.cancel()
        wait(self._under_way)
        self._under_way.clear()
        client, prepare = self._uploads.client, self._uploads.sender.prepare
        with contextlib.suppress(LanceError, RequestError):
            if self._upload is not None:
                prepare(
                    "dropping", self._path, partial(client.abort_upload, self._key, self._upload)
                )
        if self._is_continued:
            with contextlib.suppress(LanceError, RequestError):
                prepare("dropping", self._path, partial(client.delete, self._key))

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")
        if self._process != os.getpid():  # threads of the parent process send its parts
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")
