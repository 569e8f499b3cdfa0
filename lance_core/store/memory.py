"""A store of objects in the memory of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import uuid4
from weakref import WeakValueDictionary

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidInputError, ObjectExistsError, ObjectNotFoundError
from lance_core.store.base import (
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import byte_view, joined
from lance_core.store.paths import check_folder, check_path, is_below
from lance_core.store.process_reads import StoreTotals, count_reads
from lance_core.store.ranges import view_ranges
from lance_core.store.secret import Secret
from lance_core.store.uri import StoreUrl
from lance_core.store.wrappers.prefix import PrefixStore

CAPABILITIES = StoreCapabilities(**{f.name: Guarantee.YES for f in fields(StoreCapabilities)})
"""Guarantees of every memory store: all capabilities."""


_Object: TypeAlias = tuple[pa.Buffer, datetime, int]
"""Content, date, and the sequence number of the write, which is the etag."""


class Objects:
    """Objects by path, shared by several stores. Every method is atomic."""

    def __init__(self) -> None:
        self._objects: dict[str, _Object] = {}
        self._writes = 0
        self._lock = ForkSafeLock()

    def get(self, path: str) -> _Object:
        """The object at ``path``; raises `ObjectNotFoundError`."""
        try:
            return self._objects[path]
        except KeyError:
            raise ObjectNotFoundError(path, "memory") from None

    def put(self, path: str, content: pa.Buffer, mode: PutMode) -> None:
        """Set the object at ``path``."""
        if not isinstance(mode, PutMode):
            raise InvalidInputError(f"mode must be a PutMode, got {mode!r}")
        with self._lock:
            if mode is PutMode.create and path in self._objects:
                raise ObjectExistsError(path)
            self._writes += 1
            self._objects[path] = (content, datetime.now(UTC), self._writes)

    def move_if_absent(self, source: str, target: str) -> None:
        """Move an object to ``target``, which must not exist."""
        with self._lock:
            if source not in self._objects:
                raise ObjectNotFoundError(source, "memory")
            if target in self._objects:
                raise ObjectExistsError(target)
            self._objects[target] = self._objects.pop(source)

    def delete(self, path: str) -> None:
        """Remove the object at ``path`` if it exists."""
        with self._lock:
            self._objects.pop(path, None)

    def sorted_items(self) -> list[tuple[str, _Object]]:
        """A snapshot of all objects, sorted by path. Comparing text compares its UTF-8 bytes."""
        return sorted(self._objects.copy().items(), key=lambda item: item[0])


class MemoryStore(ObjectStore):
    """A store of ``objects``, by default of a new empty set.

    Reads return views; writes copy the data. Objects exist until they are deleted.
    """

    keeps_contract = True

    coalesce_gap = 1 << 40
    has_views = True

    def __init__(self, objects: Objects | None = None) -> None:
        self._objects = Objects() if objects is None else objects
        self.totals = StoreTotals()

    def __repr__(self) -> str:
        return "MemoryStore()"

    @property
    def capabilities(self) -> StoreCapabilities:
        return CAPABILITIES

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        buffers = view_ranges(self._whole(path), ranges, path)
        count_reads(buffers, self.totals)
        return buffers

    def get(self, path: str) -> pa.Buffer:
        whole = self._whole(path)
        count_reads([whole], self.totals)
        return whole

    def _whole(self, path: str) -> pa.Buffer:
        return self._objects.get(check_path(path))[0]

    def head(self, path: str) -> ObjectMeta:
        return _meta(path, self._objects.get(check_path(path)))

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        content = joined(data)
        self._objects.put(check_path(path), content, mode)
        self.totals.count_write(content.size)

    def open_writer(self, path: str) -> ObjectWriter:
        return _MemoryWriter(self._objects, check_path(path), self.totals)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        folder = check_folder(prefix)
        for path, meta in self._objects.sorted_items():
            if is_below(path, folder) and (start_after is None or path > start_after):
                yield _meta(path, meta)

    def delete(self, path: str) -> None:
        self._objects.delete(check_path(path))

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        content = self._objects.get(check_path(source))[0]
        self._objects.put(check_path(target), content, mode)

    def rename_if_absent(self, source: str, target: str) -> None:
        self._objects.move_if_absent(check_path(source), check_path(target))


class _MemoryWriter(ObjectWriter):
    """Collects the written bytes until it is closed."""

    def __init__(self, objects: Objects, path: str, totals: StoreTotals) -> None:
        self._objects = objects
        self._totals = totals
        self._path = path
        self._views: list[memoryview] = []
        self._position = 0
        self._is_open = True
        self._is_aborted = False

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        self._check_open()
        view = byte_view(data)
        self._views.append(view)
        self._position += view.nbytes

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._is_open or self._is_aborted:
            self._check_open()
            content = pa.py_buffer(b"".join(self._views))
            self._finish()
            self._objects.put(self._path, content, PutMode.overwrite)
            self._totals.count_write(content.size)

    def abort(self) -> None:
        if self._is_open:
            self._is_aborted = True
            self._finish()

    def _finish(self) -> None:
        self._is_open = False
        self._views.clear()

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidInputError(f"the writer of {self._path!r} is closed")


def _meta(path: str, stored: _Object) -> ObjectMeta:
    content, modified, number = stored
    return ObjectMeta(path, content.size, modified, str(number))


_shared: dict[str, Objects] = {}
_unnamed: WeakValueDictionary[str, Objects] = WeakValueDictionary()
"""Objects that exist as long as a store refers to them."""

_UNNAMED = "unnamed-"


def with_own_name(uri: str) -> str:
    """``uri``; for ``memory://`` without a name, the URI of a new place in memory."""
    return f"memory://{_UNNAMED}{uuid4().hex}" if uri.rstrip("/") == "memory:" else uri


def open_memory(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """A store rooted at a ``memory`` URL; options are ignored.

    ``memory://name/path`` refers to the same objects everywhere in this process; those of a name
    that `with_own_name` has given are freed with the last store that has them.
    """
    if url.scheme != "memory":
        raise InvalidInputError(f"{url} is not the URL of a memory store")
    folders = _unnamed if url.netloc.startswith(_UNNAMED) else _shared
    store = MemoryStore(folders.setdefault(url.netloc, Objects()))
    return PrefixStore(store, url.path) if url.path else store
