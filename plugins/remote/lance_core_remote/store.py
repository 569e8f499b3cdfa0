"""An object store on top of the requests of a remote client."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NoReturn

import pyarrow as pa

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.stores import (
    COPY_BYTES,
    Buffers,
    ByteRange,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
    byte_views,
    check_folder,
    check_path,
    check_ranges,
    count_reads,
)
from lance_core_remote.client import Failure, RemoteClient, RequestError
from lance_core_remote.listing import Lister
from lance_core_remote.reads import Reader
from lance_core_remote.retries import REAL, Sender, Waiting
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.uploads import CopySource, RemoteWriter, Uploads

DEFAULT = RemoteSettings()


class RemoteStore(ObjectStore):
    """The objects of ``client`` whose keys begin with ``root`` and a slash ("": all objects).

    Rejected requests are retried (`lance_core_remote.retries`). A call ends within
    ``settings.retry_timeout`` plus the time of one request. ``waiting`` is for tests. To use the
    store in another process, send its `StoreConfig`; the store itself cannot be pickled.
    """

    keeps_contract = True

    def __init__(
        self,
        client: RemoteClient,
        root: str = "",
        settings: RemoteSettings = DEFAULT,
        waiting: Waiting = REAL,
    ) -> None:
        self.client = client
        self.settings = settings
        self.coalesce_gap = settings.coalesce_gap
        self.read_ahead = settings.read_size
        self._root = f"{check_path(root)}/" if root else ""
        self._sender = Sender(client, settings, waiting)
        self._reader = Reader(client, self._sender, settings)
        self._lister = Lister(client, self._sender, self._root)
        self._uploads = Uploads(client, self._sender, settings, self._reader.threads)
        self.totals = self._uploads.totals

    def __repr__(self) -> str:
        return f"RemoteStore({'/'.join(filter(None, (self.client.name, self._root[:-1])))!r})"

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError(f"{self!r} holds connections and cannot be sent to a process")

    @property
    def capabilities(self) -> StoreCapabilities:
        return self.client.capabilities

    @property
    def guarantor(self) -> str | None:
        return self.client.guarantor

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        buffers = self._reader.ranges(path, self._key(path), ranges)
        count_reads(buffers, self.totals)
        return buffers

    def get(self, path: str) -> pa.Buffer:
        whole = self._reader.whole(path, self._key(path))
        count_reads([whole], self.totals)
        return whole

    def head(self, path: str) -> ObjectMeta:
        ask = partial(self.client.head, self._key(path))
        meta = self._sender.read("looking at", path, ask)
        return ObjectMeta(path, meta.size, meta.last_modified, meta.etag)

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        key, body, uploads = self._key(path), byte_views(data), self._uploads
        if_absent = self._is_create(mode, "put_if_absent")
        size = sum(view.nbytes for view in body)
        if size <= min(self.settings.max_single_put, self.client.max_put_size):
            uploads.put(path, key, body, if_absent=if_absent)
        elif not if_absent or self.capabilities.multipart_if_absent is Guarantee.YES:
            uploads.put_in_parts(path, key, body, if_absent=if_absent)
        elif size <= self.client.max_put_size:
            uploads.put(path, key, body, if_absent=True)
        else:
            raise UnsupportedFeatureError(
                f"{self.client.name} cannot create {path!r} where nothing is: of {size} bytes it "
                f"takes {self.client.max_put_size} at once"
            )

    def open_writer(self, path: str) -> ObjectWriter:
        return RemoteWriter(self._uploads, path, self._key(path))

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return self._lister.objects(check_folder(prefix), start_after, deep=True)

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        start = len(check_folder(folder)) + 1 if folder else 0
        for meta in self._lister.objects(folder, start_after, deep=False):
            yield meta.path[start:]

    def delete(self, path: str) -> None:
        key = self._key(path)

        def request() -> None:
            try:
                self.client.delete(key)
            except RequestError as error:
                if error.failure is not Failure.MISSING:
                    raise

        self._sender.write("deleting", path, request)

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        source_key, target_key = self._key(source), self._key(target)
        if_absent = self._is_create(mode, "copy_if_absent")
        ends: list[Failure] = []

        def request() -> None:
            try:
                self.client.copy(source_key, target_key, if_absent=if_absent)
            except RequestError as error:
                ends.append(error.failure)
                raise

        try:
            self._sender.write(f"copying {source!r} to", target, request, source)
            return
        except OutcomeUnknownError:
            raise
        except StoreError as error:
            failed = error
        # Few objects exceed the limit of one request, so the size is requested only after a
        # failure.
        size = 0
        if ends[-1:] == [Failure.REFUSED]:
            with contextlib.suppress(LanceError):
                size = self.head(source).size
        if size <= self.client.max_copy_size:
            raise failed
        self._copy_through(source, target, size, if_absent)

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        least = 2 * self.client.min_part_size
        is_own = isinstance(writer, RemoteWriter) and writer.is_of(self.client)
        is_long = [range_.length >= least for range_ in ranges]
        if not is_own or not self.client.copies_parts or not any(is_long):
            super().append_from(writer, source, ranges, batch_bytes)
            return
        assert isinstance(writer, RemoteWriter)
        stored = self.head(source)
        check_ranges(ranges, stored.size, source)
        origin = CopySource(source, self._key(source), stored.etag)
        for copies, group in itertools.groupby(zip(is_long, ranges, strict=True), itemgetter(0)):
            together = [range_ for _, range_ in group]
            if not copies:
                super().append_from(writer, source, together, batch_bytes)
                continue
            for range_ in together:
                writer.append_object(origin, range_, lambda r: self.get_ranges(source, [r])[0])

    def within(self, seconds: float) -> ObjectStore:
        settings = self.settings
        last = max(0.0, seconds - settings.timeout - settings.connect_timeout)
        if settings.retry_timeout <= last:
            return self
        hurried = replace(settings, retry_timeout=last)
        return RemoteStore(self.client, self._root[:-1], hurried, self._sender.waiting)

    def close(self) -> None:
        """Release connections."""
        self.client.close()

    def _copy_through(self, source: str, target: str, size: int, if_absent: bool) -> None:
        writer = RemoteWriter(self._uploads, target, self._key(target), if_absent=if_absent)
        step = self.settings.read_size
        with writer:
            for start in range(0, size, step):
                (piece,) = self.get_ranges(source, [ByteRange(start, min(start + step, size))])
                writer.write(piece)

    def _key(self, path: str) -> str:
        return self._root + check_path(path)

    def _is_create(self, mode: PutMode, capability: str) -> bool:
        """True if ``mode`` requires a conditional write, which the service must guarantee."""
        if not isinstance(mode, PutMode):
            raise InvalidInputError(f"mode must be a PutMode, got {mode!r}")
        if mode is PutMode.overwrite:
            return False
        if getattr(self.capabilities, capability) is Guarantee.NO:
            raise UnsupportedFeatureError(
                f"{self.client.name} does not guarantee {capability.replace('_', '-')}"
            )
        return True
