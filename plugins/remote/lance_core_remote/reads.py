"""Read objects with few requests, in parallel, and consistently from one version of the object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.concurrency import ThreadPool
from lance_core.hookspecs.stores import ByteRange, ReadPlan, check_ranges, joined, plan_reads
from lance_core_remote.client import Content, Failure, RemoteClient, RequestError
from lance_core_remote.retries import Sender
from lance_core_remote.settings import RemoteSettings

_EMPTY = pa.py_buffer(b"")
_REPLACED = "the object was replaced while it was read"

WHOLE_READS = 5
"""Maximum repetitions of a read whose object was replaced between two of its requests."""

MUCH = 1 << 30
"""Before reading more bytes, check that the object has them: a damaged file may name any range."""

MAX_OBJECT_BYTES = 1 << 38
"""Maximum bytes of an object that is read whole; a service that states more must be wrong."""


class Reader:
    """Reads objects with requests of ``client``; errors show ``path`` instead of ``key``."""

    def __init__(self, client: RemoteClient, sender: Sender, settings: RemoteSettings) -> None:
        self._client = client
        self._sender = sender
        self._gap = settings.coalesce_gap
        self._size = settings.read_size
        self.threads = ThreadPool("requests", settings.parallel)

    def ranges(self, path: str, key: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """See `ObjectStore.get_ranges`. Empty ranges send no request."""
        plan = plan_reads(ranges, self._gap, self._size)
        if not plan.extents:
            return [_EMPTY] * len(ranges)
        if sum(extent.stop - extent.start for extent in plan.extents) > MUCH:
            check_ranges(ranges, self._size_of(path, key), path)
        pieces = [piece for extent in plan.extents for piece in extent.pieces(self._size)]
        contents = self.threads.run(
            [partial(self._fetch, path, key, piece, None) for piece in pieces]
        )
        size = self._common_size(path, key, contents)
        if plan.extents[-1].stop > size:
            check_ranges(ranges, size, path)
        if None in contents:
            raise CorruptFileError(_REPLACED, path)
        return plan.cut(_joined(plan, pieces, contents))

    def whole(self, path: str, key: str) -> pa.Buffer:
        """See `ObjectStore.get`. Long objects are read with several requests."""
        for _ in range(WHOLE_READS):
            first = self._fetch(path, key, ByteRange(0, self._size), None)
            if first is None:
                return _EMPTY
            if first.size <= first.data.size:
                return first.data
            if first.size > MAX_OBJECT_BYTES:
                raise CorruptFileError(f"{first.size} bytes are too many to read as a whole", path)
            whole = self._rest(path, key, first)
            if whole is not None:
                return whole
        raise CorruptFileError("the object is replaced faster than it can be read", path)

    def _rest(self, path: str, key: str, first: Content) -> pa.Buffer | None:
        """The whole object that starts with ``first``; None if it has been removed or replaced."""
        begin = first.data.size
        rest = plan_reads([ByteRange(begin, first.size)], 0, self._size)
        pieces = rest.extents[0].pieces(self._size)
        works = [partial(self._fetch, path, key, piece, first.etag, True) for piece in pieces]
        contents = self.threads.run(works)
        parts = [first, *contents]
        if any(part is None or part[1:] != first[1:] for part in parts):
            return None
        return joined([part.data for part in parts if part])

    def _fetch(
        self,
        path: str,
        key: str,
        requested: ByteRange,
        etag: str | None,
        may_change: bool = False,
    ) -> Content | None:
        """The bytes ``requested``, fewer if the object ends within; None if it ends before them.

        With ``may_change``, also None if the object no longer has ``etag``.
        """

        def request() -> Content | None:
            try:
                content = self._client.get(key, requested, etag)
            except RequestError as error:
                if error.failure is Failure.RANGE:
                    return None
                if error.failure is Failure.CHANGED and may_change:
                    return None
                raise
            length = min(requested.stop, content.size) - requested.start
            if content.data.size != length:
                # Fewer bytes: the response broke off. More bytes: the server ignored the range.
                failure = Failure.UNKNOWN if content.data.size < length else Failure.REFUSED
                raise RequestError(
                    failure, f"received {content.data.size} instead of {length} bytes"
                )
            return content

        return self._sender.read("reading", path, request)

    def _common_size(self, path: str, key: str, contents: Sequence[Content | None]) -> int:
        """The size of the object, which all of ``contents`` must agree on."""
        known = {content[1:] for content in contents if content is not None}
        if len(known) > 1:
            raise CorruptFileError(_REPLACED, path)
        if known:
            return known.pop()[0]
        return self._size_of(path, key)

    def _size_of(self, path: str, key: str) -> int:
        return self._sender.read("reading", path, partial(self._client.head, key)).size


def _joined(
    plan: ReadPlan, requested: Sequence[ByteRange], contents: Sequence[Content | None]
) -> list[pa.Buffer]:
    """The bytes of each extent of ``plan``, from the ``contents`` of the ranges ``requested``."""
    data = [content.data for content in contents if content is not None]
    if len(plan.extents) == len(requested):
        return data
    buffers, position = [], 0
    for extent in plan.extents:
        end = position
        while end < len(requested) and requested[end].start < extent.stop:
            end += 1
        pieces = data[position:end]
        buffers.append(pieces[0] if len(pieces) == 1 else joined(pieces))
        position = end
    return buffers
