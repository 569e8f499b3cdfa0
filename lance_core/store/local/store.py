"""The store of local files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

import pyarrow as pa

from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError, InvalidPathError, LanceError
from lance_core.store.base import (
    COPY_BYTES,
    Buffers,
    Guarantee,
    ObjectMeta,
    ObjectStore,
    ObjectWriter,
    PutMode,
    StoreCapabilities,
)
from lance_core.store.buffers import byte_views
from lance_core.store.durability import Durability
from lance_core.store.local.disk import REAL_DISK, Disk, chosen_durability
from lance_core.store.local.failures import read_error, reading
from lance_core.store.local.open_files import (
    OpenFiles,
    check_regular,
    open_for_reading,
    regular_file_size,
)
from lance_core.store.local.opened_file import FileRange, OpenedFile
from lance_core.store.local.publish import Publisher, UnpublishedFile
from lance_core.store.local.root import Root
from lance_core.store.local.turns import turn
from lance_core.store.local.walk import meta_of, names, walk
from lance_core.store.local.writer import LocalWriter
from lance_core.store.process_reads import StoreTotals, count_reads
from lance_core.store.ranges import check_ranges, view_ranges
from lance_core.store.secret import Secret
from lance_core.store.uri import StoreUrl

MAX_VIEW_BYTES = 512 << 10
"""Ranges below this are written from mapped memory, which copies them once. Larger ones may share
blocks with their file, and threads copy them."""

CAPABILITIES = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    rename_if_absent=Guarantee.YES,
    copy_if_absent=Guarantee.YES,
    # Listings are sorted, but only after the whole folder is read. NO makes callers compare names
    # to find the newest of many versions, which is faster.
    ordered_list=Guarantee.NO,
    strong_reads=Guarantee.YES,
)
"""Guarantees of every local store; a file system that cannot provide one raises an error."""


class LocalStore(ObjectStore):
    """Regular files below a folder, which need not exist yet, as objects.

    Reads of files from 64 KiB return views of mapped memory. Writes use a temporary file in the
    same folder first. ``durability`` is a `Durability`; if it is None, the environment variable
    ``LANCE_CORE_DURABILITY`` applies, by default ``durable``.
    """

    keeps_contract = True

    coalesce_gap = 1 << 40
    has_views = True

    def __init__(
        self,
        root: str | os.PathLike[str],
        durability: Durability | str | None = None,
        disk: Disk | None = None,
    ) -> None:
        if not isinstance(durability, Durability):
            durability = chosen_durability({} if durability is None else {"durability": durability})
        self._root = Root(os.fspath(root))
        self._files = OpenFiles(self._root)
        self._publisher = Publisher(self._root, durability, REAL_DISK if disk is None else disk)
        self.totals = StoreTotals()

    def __repr__(self) -> str:
        return f"LocalStore({self._root.path!r}, {self.durability.value!r})"

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str, Durability]]:
        return (LocalStore, (self._root.path, self.durability))

    @property
    def root(self) -> str:
        """The root folder, absolute and with links resolved."""
        return self._root.path

    @property
    def durability(self) -> Durability:
        """The durability of completed writes."""
        return self._publisher.durability

    @property
    def capabilities(self) -> StoreCapabilities:
        return CAPABILITIES

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        whole = self._buffer(path)
        if whole is not None:
            buffers: Sequence[pa.Buffer] = view_ranges(whole, ranges, path)
        else:
            with reading(path, self._root.path):
                buffers = self._files.read(path, ranges)
        count_reads(buffers, self.totals)
        return buffers

    def get(self, path: str) -> pa.Buffer:
        whole = self._buffer(path)
        if whole is None:
            with reading(path, self._root.path):
                (whole,) = self._files.read(path, None)
        count_reads([whole], self.totals)
        return whole

    def head(self, path: str) -> ObjectMeta:
        try:
            full_path = self._root.file(path)
            status = os.lstat(full_path)
            if stat.S_ISLNK(status.st_mode):
                target = self._root.target_inside(full_path)
                if target is None:
                    raise InvalidPathError(f"{path!r} is a link that leads out of its root")
                status = os.stat(target)
            return meta_of(path, check_regular(status, full_path))
        except LanceError:
            raise
        except OSError as error:
            raise read_error(error, path, self._root.path) from error

    def existing(self, paths: Sequence[str]) -> list[str]:
        present = []
        for path in paths:
            full_path = self._root.file(path)
            # One call of the system for a name without a file, and no exception.
            if os.access(full_path, os.F_OK) and self._is_object(path, full_path):
                present.append(path)
        return present

    def _is_object(self, path: str, full_path: str) -> bool:
        try:
            is_file = stat.S_ISREG(os.lstat(full_path).st_mode)
        except OSError:
            is_file = False
        return is_file or bool(super().existing([path]))

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        views = byte_views(data)
        self._write_whole(path, mode, partial(self._publisher.write, views=views, position=0))
        self.totals.count_write(sum(view.nbytes for view in views))

    def open_writer(self, path: str) -> ObjectWriter:
        self._files.forget(path)
        return LocalWriter(self._publisher, path, self.totals)

    def append_from(
        self,
        writer: ObjectWriter,
        source: str,
        ranges: Sequence[ByteRange],
        batch_bytes: int = COPY_BYTES,
    ) -> None:
        if not isinstance(writer, LocalWriter):
            super().append_from(writer, source, ranges, batch_bytes)
            return
        are_small = all(requested.length < MAX_VIEW_BYTES for requested in ranges)
        whole = self._buffer(source) if are_small and writer.is_on_disk else None
        if whole is None:
            opened, size = self._opened(source)
            check_ranges(ranges, size, source)
            writer.append_ranges(opened, ranges)
            return
        for view in view_ranges(whole, ranges, source):
            writer.write(view)

    def list(self, prefix: str, start_after: str | None = None) -> Iterator[ObjectMeta]:
        with reading(prefix, self._root.path):
            yield from walk(self._root, prefix, start_after)

    def list_names(self, folder: str, start_after: str | None = None) -> Iterator[str]:
        try:
            return iter(names(self._root, folder, start_after))
        except LanceError:
            raise
        except OSError as error:
            raise read_error(error, folder, self._root.path) from error

    def delete(self, path: str) -> None:
        self._publisher.remove(path)
        self._files.forget(path)

    def turn(self, folder: str, patience: float) -> AbstractContextManager[None]:
        return turn(self._root.folder(folder), patience)

    def remove_empty_folders(self, folder: str = "") -> None:
        self._publisher.remove_empty_folders(folder)

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        opened, size = self._opened(source)
        try:
            whole = [FileRange(opened, 0, size, 0)]
            self._write_whole(target, mode, lambda draft: self._publisher.copying(draft)(whole))
            self.totals.count_write(size)
        finally:
            opened.close()

    def rename_if_absent(self, source: str, target: str) -> None:
        self._publisher.move_if_absent(source, target)
        self._files.forget(source)

    def _opened(self, path: str) -> tuple[OpenedFile, int]:
        """The file of an object, and its size in bytes."""
        with reading(path, self._root.path):
            full_path = self._root.file(path)
            opened = OpenedFile(open_for_reading(self._root, full_path))
            return opened, regular_file_size(opened.fileno(), full_path)

    def _buffer(self, path: str) -> pa.Buffer | None:
        try:
            return self._files.buffer(path)
        except LanceError:
            raise
        except OSError as error:
            self._files.forget(path)
            raise read_error(error, path, self._root.path) from error

    def _write_whole(
        self, path: str, mode: PutMode, fill: Callable[[UnpublishedFile], None]
    ) -> None:
        if not isinstance(mode, PutMode):
            raise InvalidInputError(f"mode must be a PutMode, got {mode!r}")
        draft = self._publisher.start(path)
        try:
            fill(draft)
            self._publisher.finish(draft)
            self._publisher.publish(draft, mode)
        except BaseException:
            self._publisher.discard(draft)
            raise
        self._files.forget(path)


def open_local(url: StoreUrl, options: Mapping[str, str | Secret]) -> LocalStore:
    """A store rooted at a ``file`` URL. Its only option is ``durability``; others are ignored."""
    if url.scheme != "file":
        raise InvalidInputError(f"{url} is not a local path")
    return LocalStore(url.path, chosen_durability(options))
