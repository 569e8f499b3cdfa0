"""A folder of a store as a store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    CorruptFileError,
    ObjectExistsError,
    ObjectNotFoundError,
)
from lance_core.store.base import (
    COPY_BYTES,
    Buffers,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.durability import Durability
from lance_core.store.paths import check_folder, check_path


class PrefixStore(ObjectStore):
    """The objects of ``inner`` below the folder ``prefix``, with paths relative to it."""

    keeps_contract = True

    def __init__(self, inner: ObjectStore, prefix: str) -> None:
        self.inner = inner
        self._prefix = f"{check_path(prefix)}/"
        self.coalesce_gap = inner.coalesce_gap
        self.read_ahead = inner.read_ahead
        self.has_views = inner.has_views

    @property
    def prefix(self) -> str:
        """The folder in ``inner``, without a slash at the end."""
        return self._prefix[:-1]

    def __repr__(self) -> str:
        return f"PrefixStore({self.inner!r}, {self._prefix[:-1]!r})"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self.inner.capabilities

    @property
    def guarantor(self) -> str | None:
        return self.inner.guarantor

    def check_can_write(self) -> None:
        self.inner.check_can_write()

    @property
    def durability(self) -> Durability | None:
        return self.inner.durability

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        with self._own_paths():
            return self.inner.get_ranges(self._full(path), ranges)

    def get(self, path: str) -> pa.Buffer:
        with self._own_paths():
            return self.inner.get(self._full(path))

    def head(self, path: str) -> ObjectMeta:
        with self._own_paths():
            return replace(self.inner.head(self._full(path)), path=path)

    def existing(self, paths: Sequence[str]) -> list[str]:
        present = self.inner.existing([self._full(path) for path in paths])
        return [path[len(self._prefix) :] for path in present]

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        with self._own_paths():
            self.inner.put(self._full(path), data, mode)

    def open_writer(self, path: str) -> ObjectWriter:
        return self.inner.open_writer(self._full(path))

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        start = None if start_after is None else self._prefix + start_after
        for meta in self.inner.list(self._folder(prefix), start):
            yield replace(meta, path=meta.path[len(self._prefix) :])

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        start = None if start_after is None else self._prefix + start_after
        return self.inner.list_names(self._folder(folder), start)

    def delete(self, path: str) -> None:
        self.inner.delete(self._full(path))

    def within(self, seconds: float) -> ObjectStore:
        inner = self.inner.within(seconds)
        return self if inner is self.inner else PrefixStore(inner, self._prefix[:-1])

    def turn(self, folder: str, patience: float) -> AbstractContextManager[None]:
        return self.inner.turn(self._folder(folder), patience)

    def remove_empty_folders(self, folder: str = "") -> None:
        self.inner.remove_empty_folders(self._folder(folder))

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        with self._own_paths():
            self.inner.copy(self._full(source), self._full(target), mode)

    def rename_if_absent(self, source: str, target: str) -> None:
        with self._own_paths():
            self.inner.rename_if_absent(self._full(source), self._full(target))

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        with self._own_paths():
            self.inner.append_from(writer, self._full(source), ranges, batch_bytes)

    def _full(self, path: str) -> str:
        return self._prefix + check_path(path)

    def _folder(self, folder: str) -> str:
        return self._prefix + folder if check_folder(folder) else self._prefix[:-1]

    @contextlib.contextmanager
    def _own_paths(self) -> Iterator[None]:
        """Make errors name paths relative to this store."""
        try:
            yield
        except ObjectNotFoundError as error:
            raise ObjectNotFoundError(self._relative(error.path), error.where) from error
        except ObjectExistsError as error:
            raise ObjectExistsError(self._relative(error.path)) from error
        except CorruptFileError as error:
            path = self._relative(error.path)
            raise CorruptFileError(error.reason, path, error.offset, error.field) from error

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._prefix)
