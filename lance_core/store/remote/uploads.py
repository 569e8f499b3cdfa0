"""Upload objects: short ones with one request, others in parts, of which few are in memory."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from lance_core.concurrency.pools import ThreadPool
from lance_core.errors import InvalidInputError, LanceError, OutcomeUnknownError
from lance_core.store.base import ByteRange, ObjectWriter
from lance_core.store.buffers import byte_view
from lance_core.store.remote.client import RemoteClient, RequestError, UploadedPart
from lance_core.store.remote.retries import Sender
from lance_core.store.remote.settings import RemoteSettings

PARTS_AT_ONCE = 3
"""Maximum parts of the initial length to send in parallel."""

STEPS = 10
"""Maximum number of times that the part length doubles to keep the number of parts in bounds."""

SMALL = 32 << 10
"""Pieces below this many bytes are copied together; a view would cost more than the copy."""


COPIED_PART = 256 << 20
"""Minimum bytes of a part that the service copies, if the range is not shorter."""


class CopySource(NamedTuple):
    """An object to copy from: its path, its key, and its version tag if it has one."""

    path: str
    key: str
    etag: str | None


class Pieces:
    """Bytes that wait to be sent: views of the caller's memory, and copies of small pieces."""

    __slots__ = ("_small", "_views", "size")

    def __init__(self) -> None:
        self.size = 0
        self._views: deque[memoryview] = deque()
        self._small = bytearray()

    def add(self, view: memoryview) -> None:
        """Append the bytes of ``view``."""
        self.size += view.nbytes
        if view.nbytes < SMALL:
            self._small += view
            return
        self._end_small()
        self._views.append(view)

    def take(self, length: int) -> list[memoryview]:
        """Remove and return the first ``length`` bytes."""
        self._end_small()
        taken, missing = [], length
        while missing:
            view = self._views.popleft()
            if view.nbytes > missing:
                self._views.appendleft(view[missing:])
                view = view[:missing]
            taken.append(view)
            missing -= view.nbytes
        self.size -= length
        return taken

    def clear(self) -> None:
        """Drop all bytes."""
        self.take(self.size)

    def _end_small(self) -> None:
        if self._small:
            self._views.append(memoryview(self._small))
            self._small = bytearray()


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
        self._part_size = settings.part_size

    def part_size(self, number: int) -> int:
        """Bytes of part ``number``, counted from 1, unless it is the last part."""
        client = self.client
        step = max(1, client.max_parts // STEPS)
        size = max(self._part_size, client.min_part_size) << min((number - 1) // step, STEPS)
        return -(-size // client.part_multiple) * client.part_multiple

    def put(self, path: str, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        """Write an object with one request."""
        send = partial(self.client.put, key, body, if_absent=if_absent)
        self.sender.write("writing", path, send)

    def put_in_parts(
        self, path: str, key: str, body: Sequence[memoryview], *, if_absent: bool
    ) -> None:
        """Write an object with several requests."""
        with RemoteWriter(self, path, key, if_absent=if_absent) as writer:
            for view in body:
                writer.write(view)


class RemoteWriter(ObjectWriter):
    """Sends parts from other threads while the caller continues to write.

    At most `PARTS_AT_ONCE` parts are sent in parallel, and views of one more part are kept. With
    ``if_absent``, closing fails if an object exists at ``path``.
    """

    def __init__(self, uploads: Uploads, path: str, key: str, *, if_absent: bool = False) -> None:
        self._uploads = uploads
        self._path = path
        self._key = key
        self._if_absent = if_absent
        self._pieces = Pieces()
        self._position = 0
        self._upload: str | None = None
        self._sent = 0
        self._under_way: deque[Future[UploadedPart]] = deque()
        self._parts: list[UploadedPart] = []
        self._is_open = True
        self._is_closed = False
        self._process = os.getpid()

    def write(self, data: object) -> None:
        self._check_open()
        view = byte_view(data)
        self._position += view.nbytes
        self._pieces.add(view)
        with self._dropped_if_it_fails():
            # Keep the last part: an object that fits into a single part is written with one
            # request.
            while self._pieces.size > (size := self._uploads.part_size(self._sent + 1)):
                self._send(size)

    def is_of(self, client: RemoteClient) -> bool:
        """True if ``client`` writes this object, so that the service can copy ranges into it."""
        return self._uploads.client is client

    def append_object(
        self, source: CopySource, wanted: ByteRange, read: Callable[[ByteRange], pa.Buffer]
    ) -> None:
        """Append the range ``wanted`` of ``source``, an object in the same container.

        The service copies it. Ranges that are too short for a part are read with ``read``.
        """
        self._check_open()
        least = self._uploads.client.min_part_size
        # The bytes that wait must become a part of their own first.
        missing = max(0, least - self._pieces.size) if self._pieces.size else 0
        start, stop = wanted.start, wanted.stop
        if wanted.length < missing + least:
            missing = wanted.length
        while missing:
            step = min(missing, self._uploads.part_size(1))
            self.write(read(ByteRange(start, start + step)))
            start, missing = start + step, missing - step
        with self._dropped_if_it_fails():
            if start < stop and self._pieces.size:
                self._send(self._pieces.size)
            while start < stop:
                step = max(COPIED_PART, self._uploads.part_size(self._sent + 1))
                end = stop if stop - start < step + least else start + step
                self._copy(source, ByteRange(start, end))
                start = end

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
                self._finish(self._upload)
        self._is_open, self._is_closed = False, True

    def abort(self) -> None:
        if self._is_open and self._process == os.getpid():
            self._drop()

    def _send(self, length: int) -> None:
        """Send the first ``length`` bytes as a part, when fewer than the maximum are being sent."""
        client, at_once = self._uploads.client, PARTS_AT_ONCE * self._uploads.part_size(1)
        upload = self._start(max(1, at_once // max(1, length)))
        body = self._pieces.take(length)
        send = partial(client.upload_part, self._key, upload, self._sent, body)
        self._submit(partial(self._uploads.sender.prepare, "uploading", self._path, send))

    def _copy(self, source: CopySource, wanted: ByteRange) -> None:
        """Let the service copy a range as a part."""
        upload = self._start(PARTS_AT_ONCE)
        copy = partial(
            self._uploads.client.copy_part,
            *(self._key, upload, self._sent, source.key, wanted, source.etag),
        )
        self._position += wanted.length
        verb = f"copying {source.path!r} to"
        send = partial(self._uploads.sender.prepare, verb, self._path, copy, source.path)
        self._submit(send)

    def _start(self, at_once: int) -> str:
        """Begin a part when fewer than ``at_once`` are being sent; returns the upload."""
        uploads = self._uploads
        client, sender = uploads.client, uploads.sender
        if self._upload is None:
            start = partial(client.start_upload, self._key, if_absent=self._if_absent)
            self._upload = sender.prepare("uploading", self._path, start)
        while len(self._under_way) >= min(client.max_parts_at_once, PARTS_AT_ONCE, at_once):
            self._parts.append(self._under_way.popleft().result())
        self._sent += 1
        return self._upload

    def _submit(self, work: Callable[[], UploadedPart]) -> None:
        self._under_way.append(self._uploads.threads.submit(work))

    def _finish(self, upload: str) -> None:
        if self._pieces.size:
            self._send(self._pieces.size)
        while self._under_way:
            self._parts.append(self._under_way.popleft().result())
        client = self._uploads.client
        finish = partial(
            client.finish_upload, self._key, upload, self._parts, if_absent=self._if_absent
        )
        self._uploads.sender.write("writing", self._path, finish)

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
        if self._upload is not None:
            abort = partial(self._uploads.client.abort_upload, self._key, self._upload)
            with contextlib.suppress(LanceError, RequestError):
                self._uploads.sender.prepare("dropping", self._path, abort)

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")
        if self._process != os.getpid():  # threads of the parent process send its parts
            raise InvalidInputError(f"the writer of {self._path!r} belongs to another process")
