"""Defects of object stores with writes, names and forks: each a good store with one thing wrong."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from lance_core.errors import (
    InvalidPathError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
)
from lance_core.store.base import Buffers, ObjectMeta, ObjectWriter, PutMode
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from tests.conformance.planted.runner import Defect, defects_of


class ExistsIsUnknown(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        try:
            super().put(path, data, mode)
        except ObjectExistsError as error:
            raise OutcomeUnknownError(str(error)) from error


class ExistsIsUnknownInRenames(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        try:
            super().rename_if_absent(source, target)
        except ObjectExistsError as error:
            raise OutcomeUnknownError(str(error)) from error


class ExistsIsUnknownInCopies(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        try:
            super().copy(source, target, mode)
        except ObjectExistsError as error:
            raise OutcomeUnknownError(str(error)) from error


class MissingIsUnknownInRenames(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        try:
            super().rename_if_absent(source, target)
        except ObjectNotFoundError as error:
            raise OutcomeUnknownError(str(error)) from error


class MissingIsUnknownInCopies(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        try:
            super().copy(source, target, mode)
        except ObjectNotFoundError as error:
            raise OutcomeUnknownError(str(error)) from error


class PutReturnsTrue(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        return True  # type: ignore[return-value]


class CopyReturnsThePath(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        super().copy(source, target, mode)
        return target  # type: ignore[return-value]


class DeleteReturnsFalse(MemoryStore):
    def delete(self, path: str) -> None:
        super().delete(path)
        return False  # type: ignore[return-value]


class CloseReturnsTheSize(MemoryStore):
    def open_writer(self, path: str) -> ObjectWriter:
        writer = super().open_writer(path)
        close = writer.close

        def closing() -> Any:
            close()
            return writer.tell()

        writer.close = closing  # type: ignore[method-assign]
        return writer


class WritesBesideFirst(MemoryStore):
    """Has no room in long names for what it appends to them."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        beside = f"{path}.tmp"
        super().put(beside, data)
        super().put(path, data, mode)
        super().delete(beside)


class CountsCharacters(MemoryStore):
    """Has 200 characters for a name, whatever their bytes are."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if len(path.rpartition("/")[2]) > 200:
            raise InvalidPathError(path)
        super().put(path, data, mode)


class HashIsAGeneration(MemoryStore):
    def get(self, path: str) -> pa.Buffer:
        return super().get(path.rpartition("#")[0] or path)


class DecodesInCopies(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        super().copy(source, unquote(target), mode)


class DecodesInWriters(MemoryStore):
    def open_writer(self, path: str) -> ObjectWriter:
        return super().open_writer(unquote(path))


class ListsDecoded(MemoryStore):
    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        return (unquote(name) for name in super().list_names(folder, start_after))


class StartsAfterTheDecoded(MemoryStore):
    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        return super().list(prefix, None if start_after is None else unquote(start_after))


class _OnDisk(LocalStore):
    def __init__(self, root: str) -> None:
        super().__init__(root, Durability.fast)

    def __reduce__(self) -> Any:
        return type(self), (self.root,)


class LockStaysLocked(_OnDisk):
    """One thread after the other, by a lock that a forked child inherits as it is."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.lock = threading.Lock()

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        with self.lock:
            time.sleep(0.002)
            super().put(path, data, mode)


class PoolHasNoThreads(_OnDisk):
    """Its pool was started before the fork."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.pool = ThreadPoolExecutor(1)

    def get(self, path: str) -> pa.Buffer:
        return self.pool.submit(super().get, path).result()


class FailsInChildren(_OnDisk):
    """Refuses to work where it was not opened."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.pid = os.getpid()

    def get(self, path: str) -> pa.Buffer:
        if os.getpid() != self.pid:
            raise RuntimeError("the connection belongs to another process")
        return super().get(path)


_NAMES = "test_escapes_and_names_of_255_bytes_are_kept_by_every_method"

WRITING: Sequence[Defect] = [
    *defects_of("test_put_if_absent_never_replaces", ExistsIsUnknown),
    *defects_of("test_rename_if_absent_never_replaces", ExistsIsUnknownInRenames),
    *defects_of("test_copy_if_absent_never_replaces", ExistsIsUnknownInCopies),
    *defects_of("test_a_rename_moves", MissingIsUnknownInRenames),
    *defects_of("test_what_is_not_there_is_not_found", MissingIsUnknownInCopies),
    *defects_of("test_writes_return_nothing", PutReturnsTrue, CopyReturnsThePath),
    *defects_of("test_writes_return_nothing", DeleteReturnsFalse, CloseReturnsTheSize),
    *defects_of(_NAMES, WritesBesideFirst, CountsCharacters, HashIsAGeneration),
    *defects_of(_NAMES, DecodesInCopies, DecodesInWriters, ListsDecoded, StartsAfterTheDecoded),
]

FORKED: Sequence[Defect] = defects_of(
    "test_a_forked_child_can_use_the_store", LockStaysLocked, PoolHasNoThreads, FailsInChildren
)
