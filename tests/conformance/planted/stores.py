"""Defects of object stores: each a good store with one thing wrong."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StoreError,
)
from lance_core.store.base import (
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import joined
from lance_core.store.functions import exists, list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from tests.conformance.planted.reading_stores import READING
from tests.conformance.planted.runner import Defect, defects_of
from tests.conformance.planted.writing_stores import FORKED, WRITING

MIB = 1 << 20
SECRET = "canary-4c1d"


class Wrapped(StoreWrapper):
    """A good store; subclasses break one method."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    def around(self, call: StoreCall, run: Callable[[], Any]) -> Any:
        return run()


class ChecksThenWrites(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and exists(self, path):
            raise ObjectExistsError(path)
        time.sleep(0.002)
        super().put(path, data)


class ChecksThenRenames(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        if exists(self, target):
            raise ObjectExistsError(target)
        time.sleep(0.002)
        self.copy(source, target)
        self.delete(source)


class ChecksThenCopies(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and exists(self, target):
            raise ObjectExistsError(target)
        time.sleep(0.002)
        super().copy(source, target)


class Overwrites(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)


class RenamesOver(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.delete(source)


class CopiesOver(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        super().copy(source, target)


class RenameKeepsSource(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        super().copy(source, target, PutMode.create)


class RefusedRenameLosesSource(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        try:
            super().rename_if_absent(source, target)
        except ObjectExistsError:
            self.delete(source)
            raise


class NamesTheSource(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        try:
            super().rename_if_absent(source, target)
        except ObjectExistsError:
            raise ObjectExistsError(source) from None


class ClaimsNothingDoesIt(Overwrites):
    @property
    def capabilities(self) -> StoreCapabilities:
        return StoreCapabilities(put_if_absent=Guarantee.NO)


class RemembersDeleted(MemoryStore):
    """Nothing can be created where something was."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and path in self.seen:
            raise ObjectExistsError(path)
        self.seen.add(path)
        super().put(path, data, mode)


class DecodesPaths(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path.replace("%", "~"), data, mode)


class ChangesPaths(Wrapped):
    """Maps every path before it is used."""

    changed: Callable[[str], str]

    def get(self, path: str) -> pa.Buffer:
        return self.inner.get(type(self).changed(path))

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        self.inner.put(type(self).changed(path), data, mode)


class IgnoresCase(ChangesPaths):
    changed = str.casefold


class ListsWithoutCase(MemoryStore):
    """Like a database whose collation ignores case."""

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        listing = super().list(prefix, start_after)
        return iter(sorted(listing, key=lambda meta: meta.path.casefold()))


class StripsPaths(ChangesPaths):
    changed = str.strip


class AcceptsAnyPath(MemoryStore):
    def head(self, path: str) -> ObjectMeta:
        return ObjectMeta(path, 0, super().head("object").last_modified)


class DeletesAnyPath(MemoryStore):
    def delete(self, path: str) -> None:
        super().delete(os.path.normpath(path) if path else path)


class RenamesFromAnyPath(MemoryStore):
    def rename_if_absent(self, source: str, target: str) -> None:
        super().rename_if_absent(source.strip("./") or "object", target)


class ShowsUnfinished(MemoryStore):
    def open_writer(self, path: str) -> ObjectWriter:
        self.put(path, b"")
        return super().open_writer(path)


class Writer(ObjectWriter):
    """A good writer of a good store; subclasses break one method."""

    def __init__(self, store: ObjectStore, path: str) -> None:
        self.store, self.path = store, path
        self.inner = MemoryStore.open_writer(store, path)  # type: ignore[arg-type]
        self.content = b""

    def write(self, data: Any) -> None:
        self.inner.write(data)
        self.content += bytes(joined(data))

    def tell(self) -> int:
        return self.inner.tell()

    def close(self) -> None:
        self.inner.close()

    def abort(self) -> None:
        self.inner.abort()


class PublishesHalf(Writer):
    def close(self) -> None:
        self.store.put(self.path, self.content[: len(self.content) // 2])
        time.sleep(0.002)
        super().close()


class PublishesOnAbort(Writer):
    def abort(self) -> None:
        self.inner.close()


class ClosesTwice(Writer):
    def close(self) -> None:
        self.store.put(self.path, self.content)


class WritesAfterClose(Writer):
    def close(self) -> None:
        super().close()
        self.write = lambda data: None  # type: ignore[method-assign]


class ClosesAfterAbort(Writer):
    def abort(self) -> None:
        super().abort()
        self.close = lambda: None  # type: ignore[method-assign]


class CountsWrites(Writer):
    def write(self, data: Any) -> None:
        super().write(data)
        self.count = getattr(self, "count", 0) + 1

    def tell(self) -> int:
        return getattr(self, "count", 0)


class DropsTheLastPiece(Writer):
    def close(self) -> None:
        self.inner.abort()
        whole = len(self.content) // (5 * MIB) * 5 * MIB
        self.store.put(self.path, self.content[: whole or None])


class KeepsTheBuffer(Writer):
    """Looks at the buffers that it was given when it is asked for what it wrote."""

    def write(self, data: Any) -> None:
        super().write(data)
        self.store.kept[self.path] = data  # type: ignore[attr-defined]


class RaisesOnSecondAbort(Writer):
    def abort(self) -> None:
        super().abort()
        self.abort = self._refuse  # type: ignore[method-assign]

    def _refuse(self) -> None:
        raise StoreError("aborted already")


def writes_by(writer: type[Writer]) -> Callable[[], ObjectStore]:
    """A store whose writers are of this class."""

    class Store(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[str, Any] = {}

        def open_writer(self, path: str) -> ObjectWriter:
            return writer(self, path)

        def get(self, path: str) -> pa.Buffer:
            return pa.py_buffer(self.kept[path]) if path in self.kept else super().get(path)

    return Store


class KeepsBuffers(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Buffers] = {}

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        self.kept[path] = data

    def get(self, path: str) -> pa.Buffer:
        return pa.py_buffer(self.kept.get(path, b""))


class DeletesFirst(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.overwrite:
            self.delete(path)
            time.sleep(0.002)
        super().put(path, data, mode)


class DeletesBeforeItLooks(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.overwrite:
            self.delete(path)
        super().put(path, data, mode)


class CopyDeletesFirst(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.overwrite and source != target:
            self.delete(target)
            time.sleep(0.002)
        super().copy(source, target, mode)


class WritesInPlace(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        content = joined(data)
        if mode is PutMode.overwrite and content.size > 1000:
            super().put(path, content.slice(0, 1000), mode)
            time.sleep(0.002)
        super().put(path, content, mode)


class AcceptsText(MemoryStore):
    def put(self, path: str, data: Any, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data.encode() if isinstance(data, str) else data, mode)


class WritesTheFirstBuffer(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data[0] if isinstance(data, list) and data else data, mode)


class DeletesBelow(MemoryStore):
    def delete(self, path: str) -> None:
        super().delete(path)
        for found in list_paths(self, path):
            super().delete(found)


class DeletesByPrefix(MemoryStore):
    def delete(self, path: str) -> None:
        for found in list_paths(self):
            if found.startswith(path):
                super().delete(found)


class DeletesOnlyWhatIsThere(MemoryStore):
    def delete(self, path: str) -> None:
        self.head(path)
        super().delete(path)


class CopiesByReference(MemoryStore):
    """A copy shows what its source holds now."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, str] = {}

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        super().copy(source, target, mode)
        self.links[target] = source

    def get(self, path: str) -> pa.Buffer:
        return super().get(self.links.get(path, path))


class CopyOntoItselfEmpties(MemoryStore):
    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        if source == target:
            self.put(target, b"")
        super().copy(source, target, mode)


class LeaksDescriptors(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.held: list[int] = []

    def get(self, path: str) -> pa.Buffer:
        self.held.append(os.open(os.devnull, os.O_RDONLY))
        return super().get(path)

    def __del__(self) -> None:
        for descriptor in self.held:
            os.close(descriptor)


class LeaksThreads(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.done = threading.Event()

    def open_writer(self, path: str) -> ObjectWriter:
        threading.Thread(target=self.done.wait, daemon=True).start()
        return super().open_writer(path)

    def __del__(self) -> None:
        self.done.set()


class ShowsSecrets(MemoryStore):
    def __repr__(self) -> str:
        return f"ShowsSecrets({SECRET!r})"


class PicklesSecrets(MemoryStore):
    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (SECRET,)


class GapIsNegative(MemoryStore):
    coalesce_gap = -1


class IsNotThreadSafe(MemoryStore):
    """Keeps the path of a call where all threads see it."""

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        self.path = path
        time.sleep(0.0005)
        return super().get_ranges(self.path, ranges)


class OnDisk(LocalStore):
    """Files; instances and processes see the same."""

    def __init__(self, root: str) -> None:
        super().__init__(root, Durability.fast)

    def __reduce__(self) -> Any:
        return type(self), (self.root,)


_LOCK = threading.Lock()


class AtomicBetweenThreads(OnDisk):
    """Looks, then writes, under a lock that other processes do not see."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        with _LOCK:
            if mode is PutMode.create and exists(self, path):
                raise ObjectExistsError(path)
            super().put(path, data)


_OBJECTS: dict[str, MemoryStore] = {}


def in_one_process(root: str) -> ObjectStore:
    """All instances of this process, and of no other, see the same objects."""
    return _OBJECTS.setdefault(root, MemoryStore())


class CachesContents(OnDisk):
    """Never asks again for what it has read."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.cache: dict[str, pa.Buffer] = {}

    def get(self, path: str) -> pa.Buffer:
        if path not in self.cache:
            self.cache[path] = super().get(path)
        return self.cache[path]

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, mode)
        self.cache.pop(path, None)

    def delete(self, path: str) -> None:
        super().delete(path)
        self.cache.pop(path, None)


class CachesSizes(OnDisk):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.sizes: dict[str, ObjectMeta] = {}

    def head(self, path: str) -> ObjectMeta:
        if path not in self.sizes:
            self.sizes[path] = super().head(path)
        return self.sizes[path]


class CachesWhatIsMissing(OnDisk):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.missing: set[str] = set()

    def head(self, path: str) -> ObjectMeta:
        if path in self.missing:
            raise ObjectNotFoundError(path)
        try:
            return super().head(path)
        except ObjectNotFoundError:
            self.missing.add(path)
            raise


class CachesListings(OnDisk):
    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.listed: dict[str, list[ObjectMeta]] = {}

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        if prefix not in self.listed:
            self.listed[prefix] = list(super().list(prefix))
        return iter(self.listed[prefix])


def fixtures(make: Callable[[], ObjectStore]) -> Mapping[str, object]:
    """The fixtures of `ObjectStoreTests` for a store in memory."""
    store = make()
    return {"store": store, "reopened": store, "secrets": (SECRET,)}


def fixtures_on_disk(make: Callable[[str], ObjectStore], folder: Path) -> Mapping[str, object]:
    """The same for one that instances and processes share; ``make`` is given a folder."""
    import functools

    opener = functools.partial(make, str(folder / uuid.uuid4().hex))
    return {"store": opener(), "reopened": opener(), "shared": opener, "secrets": ()}


def _by_writers(tests: str, *writers: type[Writer]) -> list[Defect]:
    return [Defect(one.__name__, writes_by(one), tests.split()) for one in writers]


IN_MEMORY: Sequence[Defect] = [
    *READING,
    *WRITING,
    *defects_of("test_unusual_names_are_kept_as_they_are", DecodesPaths),
    *defects_of("test_of_racing_puts_exactly_one_wins", ChecksThenWrites),
    *defects_of("test_of_racing_renames_exactly_one_wins", ChecksThenRenames),
    *defects_of("test_of_racing_copies_exactly_one_wins", ChecksThenCopies),
    *defects_of(
        "test_put_if_absent_never_replaces", Overwrites, ClaimsNothingDoesIt, RemembersDeleted
    ),
    *defects_of("test_rename_if_absent_never_replaces", RenamesOver, RefusedRenameLosesSource),
    *defects_of("test_rename_if_absent_never_replaces", NamesTheSource),
    *defects_of("test_copy_if_absent_never_replaces", CopiesOver),
    *defects_of("test_a_rename_moves", RenameKeepsSource),
    *defects_of("test_paths_that_look_alike_are_told_apart", IgnoresCase, StripsPaths),
    *defects_of("test_an_ordered_store_lists_by_the_bytes_of_paths", ListsWithoutCase),
    *defects_of("test_hostile_paths_are_refused", AcceptsAnyPath, DeletesAnyPath),
    *defects_of("test_renames_refuse_hostile_paths", RenamesFromAnyPath),
    *defects_of("test_nothing_is_visible_before_a_writer_is_closed", ShowsUnfinished),
    *_by_writers("test_readers_see_the_old_or_the_new_object", PublishesHalf),
    *_by_writers("test_an_aborted_writer_leaves_nothing", PublishesOnAbort, RaisesOnSecondAbort),
    *_by_writers("test_a_second_close_writes_nothing", ClosesTwice),
    *_by_writers("test_a_writer_ends_once", WritesAfterClose, ClosesAfterAbort),
    *_by_writers("test_a_writer_appends", CountsWrites),
    *_by_writers("test_a_writer_takes_large_buffers", DropsTheLastPiece),
    *_by_writers("test_buffers_may_change_once_a_write_returned", KeepsTheBuffer),
    *defects_of("test_buffers_may_change_once_a_write_returned", KeepsBuffers),
    *defects_of("test_readers_see_the_old_or_the_new_object", DeletesFirst, CopyDeletesFirst),
    *defects_of("test_readers_see_the_old_or_the_new_object", WritesInPlace),
    *defects_of("test_a_refused_write_keeps_what_was_there", DeletesBeforeItLooks),
    *defects_of("test_what_has_no_bytes_is_refused", AcceptsText),
    *defects_of("test_all_kinds_of_bytes_are_written", WritesTheFirstBuffer),
    *defects_of("test_deleting_a_folder_removes_nothing", DeletesBelow),
    *defects_of("test_deleting_removes_one_object", DeletesByPrefix),
    *defects_of("test_deleting_what_is_not_there_is_no_error", DeletesOnlyWhatIsThere),
    *defects_of("test_a_copy_is_an_object_of_its_own", CopiesByReference),
    *defects_of("test_a_copy_onto_itself_changes_nothing", CopyOntoItselfEmpties),
    *defects_of("test_calls_give_back_descriptors_and_threads", LeaksDescriptors, LeaksThreads),
    *defects_of("test_no_secret_is_shown_or_pickled", ShowsSecrets, PicklesSecrets),
    *defects_of("test_the_coalescing_gap_is_a_number_of_bytes", GapIsNegative),
    *defects_of("test_threads_read_at_the_same_time", IsNotThreadSafe),
]

ON_DISK: Sequence[Defect] = [
    *FORKED,
    *defects_of("test_of_racing_processes_exactly_one_creates_an_object", AtomicBetweenThreads),
    *defects_of("test_another_process_sees_the_same_objects", in_one_process),
    *defects_of("test_no_instance_keeps_what_another_has_changed", CachesContents, CachesSizes),
    *defects_of(
        "test_no_instance_keeps_what_another_has_changed", CachesWhatIsMissing, CachesListings
    ),
]
