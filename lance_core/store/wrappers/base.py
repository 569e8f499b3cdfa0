"""Base classes of stores that forward calls to another store and act around each call."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

import pyarrow as pa

from lance_core.byte_ranges import ByteRange, CopyRanges
from lance_core.errors import OutcomeUnknownError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import (
    COPY_BYTES,
    Buffers,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import byte_view, byte_views
from lance_core.store.durability import Durability

T = TypeVar("T")

REQUESTS = frozenset(
    {
        "append_from",
        "close",
        "copy",
        "delete",
        "get",
        "get_ranges",
        "head",
        "list",
        "list_names",
        "put",
        "rename_if_absent",
    }
)
"""Calls that need a round trip to a remote store; opening, filling and aborting a writer may
not."""


@dataclass(frozen=True, slots=True)
class StoreCall:
    """A call of a store or writer, by the name of its method.

    ``target``: second path of ``copy`` and ``rename_if_absent``. ``ranges``: number of requested
    ranges. ``sent``: number of bytes in a ``put`` or ``write``.
    """

    method: str
    path: str
    target: str | None = None
    mode: PutMode | None = None
    ranges: int = 0
    sent: int = 0


class StoreWrapper(ObjectStore):
    """Forwards every call to ``inner`` through `around`."""

    def __init__(self, inner: ObjectStore) -> None:
        self.inner = inner
        self.coalesce_gap = inner.coalesce_gap
        self.read_ahead = inner.read_ahead

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    @abstractmethod
    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        """Run ``call`` by calling ``run``, or skip it; return its result or raise its error."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return self.inner.capabilities

    def turn(self, folder: str, patience: float) -> AbstractContextManager[None]:
        return self.inner.turn(folder, patience)

    @property
    def durability(self) -> Durability | None:
        return self.inner.durability

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        call = StoreCall("get_ranges", path, ranges=len(ranges))
        return self.around(call, lambda: self.inner.get_ranges(path, ranges))

    def get(self, path: str) -> pa.Buffer:
        return self.around(StoreCall("get", path), lambda: self.inner.get(path))

    def head(self, path: str) -> ObjectMeta:
        return self.around(StoreCall("head", path), lambda: self.inner.head(path))

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        sent = sum(view.nbytes for view in byte_views(data))
        call = StoreCall("put", path, mode=mode, sent=sent)
        self.around(call, lambda: self.inner.put(path, data, mode))

    def open_writer(self, path: str) -> ObjectWriter:
        call = StoreCall("open_writer", path)
        return WrappedWriter(self, path, self.around(call, lambda: self.inner.open_writer(path)))

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        call = StoreCall("list", prefix)
        return self.around(call, lambda: self.inner.list(prefix, start_after))

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        call = StoreCall("list_names", folder)
        return self.around(call, lambda: self.inner.list_names(folder, start_after))

    def delete(self, path: str) -> None:
        self.around(StoreCall("delete", path), lambda: self.inner.delete(path))

    def within(self, seconds: float) -> ObjectStore:
        inner = self.inner.within(seconds)
        if inner is self.inner:
            return self
        hurried = copy.copy(self)
        hurried.inner = inner
        return hurried

    def remove_empty_folders(self, folder: str = "") -> None:
        call = StoreCall("remove_empty_folders", folder)
        self.around(call, lambda: self.inner.remove_empty_folders(folder))

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        call = StoreCall("copy", source, target, mode)
        self.around(call, lambda: self.inner.copy(source, target, mode))

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        sent = sum(requested.length for requested in ranges)
        call = StoreCall("append_from", source, ranges=len(ranges), sent=sent)
        target = writer.unwrapped(self) if isinstance(writer, WrappedWriter) else writer
        self.around(call, lambda: self.inner.append_from(target, source, ranges, batch_bytes))

    def rename_if_absent(self, source: str, target: str) -> None:
        call = StoreCall("rename_if_absent", source, target)
        self.around(call, lambda: self.inner.rename_if_absent(source, target))


class WrappedWriter(ObjectWriter):
    """A writer whose calls go through `StoreWrapper.around` of its store."""

    def __init__(self, store: StoreWrapper, path: str, inner: ObjectWriter) -> None:
        self._store = store
        self._path = path
        self._inner = inner
        self._is_done = False

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        call = StoreCall("write", self._path, sent=byte_view(data).nbytes)
        self._store.around(call, lambda: self._inner.write(data))

    def reserve(self, size: int) -> None:
        self._inner.reserve(size)

    def copy_with(self, copy_ranges: CopyRanges | None) -> None:
        self._inner.copy_with(copy_ranges)

    def unwrapped(self, store: StoreWrapper) -> ObjectWriter:
        """The writer of the wrapped store if ``store`` is the wrapper, otherwise this one."""
        return self._inner if self._store is store else self

    def tell(self) -> int:
        return self._inner.tell()

    def close(self) -> None:
        if self._is_done:
            self._inner.close()
            return
        self._is_done = True
        try:
            self._store.around(StoreCall("close", self._path), self._inner.close)
        except OutcomeUnknownError:
            raise  # the object may have been published, or may be later
        except BaseException:
            self._inner.abort()
            raise

    def abort(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._store.around(StoreCall("abort", self._path), self._inner.abort)
