"""The simulated store: an `ObjectStore` whose calls go through a port."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import pyarrow as pa

from lance_core.hookspecs.stores import (
    Buffers,
    ByteRange,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
    byte_view,
    check_folder,
    check_path,
    joined,
    slice_ranges,
)
from lance_core_explorer.port import EPOCH_NS, Port
from lance_core_explorer.spaces import Listed, Stored

EVERYTHING = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    multipart_if_absent=Guarantee.NO,
    rename_if_absent=Guarantee.YES,
    link_if_absent=Guarantee.NO,
    copy_if_absent=Guarantee.YES,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)
"""Capabilities of the simulated store; a configuration may declare less."""

_checked = lru_cache(maxsize=1 << 16)(check_path)
_EPOCH = datetime.fromtimestamp(EPOCH_NS // 10**9, UTC)


class SimulatedStore(ObjectStore):
    """The objects of the space ``store``. Listings are requested page by page."""

    def __init__(self, port: Port, capabilities: StoreCapabilities, page: int | None) -> None:
        self._port = port
        self._capabilities = capabilities
        self._page = page

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return slice_ranges(self.get(path), ranges, path)

    def get(self, path: str) -> pa.Buffer:
        return pa.py_buffer(self._port.ask("store", "get", _checked(path)))

    def head(self, path: str) -> ObjectMeta:
        return _meta(path, self._port.ask("store", "head", _checked(path)))

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        content = self._port.worlds.content(joined(data).to_pybytes())
        method = "create" if mode is PutMode.create else "put"
        self._port.ask("store", method, _checked(path), content)

    def open_writer(self, path: str) -> ObjectWriter:
        return _Writer(self, _checked(path))

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        folder = check_folder(prefix)
        while True:
            page: tuple[Listed, ...] = self._port.ask("store", "list", folder, start_after)
            ordered = self._capabilities.ordered_list is Guarantee.YES
            for path, stored in page if ordered else reversed(page):
                yield _meta(path, stored)
            if self._page is None or len(page) < self._page:
                return
            start_after = page[-1].path

    def delete(self, path: str) -> None:
        self._port.ask("store", "delete", _checked(path))

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        method = "copy_create" if mode is PutMode.create else "copy"
        self._port.ask("store", method, _checked(source), _checked(target))

    def rename_if_absent(self, source: str, target: str) -> None:
        self._port.ask("store", "rename", _checked(source), _checked(target))


class _Writer(ObjectWriter):
    """A multipart upload: one put when it is closed, and no call before."""

    def __init__(self, store: SimulatedStore, path: str) -> None:
        self._store = store
        self._path = path
        self._parts: list[bytes] = []
        self._is_open = True

    def write(self, data: pa.Buffer | bytes | bytearray | memoryview) -> None:
        self._parts.append(bytes(byte_view(data)))

    def tell(self) -> int:
        return sum(map(len, self._parts))

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._store.put(self._path, b"".join(self._parts))

    def abort(self) -> None:
        self._is_open = False


@lru_cache(maxsize=1 << 16)
def _meta(path: str, stored: Stored) -> ObjectMeta:
    modified = _EPOCH + timedelta(seconds=stored.written)
    return ObjectMeta(path, len(stored.content), modified, etag(stored.content))


@lru_cache(maxsize=1 << 16)
def etag(content: bytes) -> str:
    """The ETag of an object, a function of its bytes as on most stores."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()
