"""Publish files atomically: write under a temporary name, then move into place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence

from lance_core.byte_ranges import CopyRanges
from lance_core.errors import (
    InvalidInputError,
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
)
from lance_core.store.base import PutMode
from lance_core.store.durability import Durability
from lance_core.store.local.disk import Disk
from lance_core.store.local.exclusive import Traces, move, traces
from lance_core.store.local.failures import (
    preparing,
    publishing,
    refused,
    refused_or_unknown,
    settling,
)
from lance_core.store.local.opened_file import FileRange, OpenedFile
from lance_core.store.local.root import Root, folder_of
from lance_core.store.local.temporary import temporary_path


class UnpublishedFile:
    """A temporary file that is to become the object at ``path``.

    ``opened``: None after `Publisher.finish` and `Publisher.discard`.
    """

    __slots__ = ("folder", "full_path", "opened", "path", "temporary")

    def __init__(self, path: str, full_path: str) -> None:
        self.path = path
        self.full_path = full_path
        self.folder = folder_of(full_path)
        self.temporary = temporary_path(self.folder)
        self.opened: OpenedFile | None = None


class Publisher:
    """Creates and moves files below a root, and syncs them if they must be durable."""

    __slots__ = ("disk", "durability", "root")

    def __init__(self, root: Root, durability: Durability, disk: Disk) -> None:
        self.root = root
        self.durability = durability
        self.disk = disk

    def start(self, path: str) -> UnpublishedFile:
        """Create an empty temporary file in the folder of ``path``, and the folder if needed."""
        draft = UnpublishedFile(path, self.root.file(path))
        try:
            try:
                descriptor = self.disk.create(draft.temporary)
            except FileNotFoundError:
                self._make_folders(draft.folder)
                self.root.file(path)  # the new folder may be below a link
                descriptor = self.disk.create(draft.temporary)
        except OSError as error:
            raise refused(error, path, self.root.path) from error
        draft.opened = OpenedFile(descriptor)
        return draft

    def write(self, draft: UnpublishedFile, views: Sequence[memoryview], position: int) -> None:
        """Write all bytes of ``views`` from position ``position`` on."""
        descriptor = _open(draft).fileno()
        try:
            self.disk.write(descriptor, views, position)
        except OSError as error:
            raise refused(error, draft.path, self.root.path) from error

    def reserve(self, draft: UnpublishedFile, start: int, size: int) -> None:
        """Expect ``size`` more bytes, from ``start`` on."""
        self.disk.reserve(_open(draft).fileno(), start, size)

    def is_on_disk(self, draft: UnpublishedFile) -> bool:
        """See `Disk.is_on_disk`."""
        with preparing(draft.path, self.root.path):
            return self.disk.is_on_disk(_open(draft).fileno())

    def copying(
        self, draft: UnpublishedFile, copy_ranges: CopyRanges | None = None
    ) -> Callable[[Sequence[FileRange]], None]:
        """A function that writes parts of open files to the draft.

        Several threads may call it, also after the draft is discarded. ``copy_ranges``: see
        `Disk.copy_ranges`.
        """
        target, path = _open(draft), draft.path

        def copy(parts: Sequence[FileRange]) -> None:
            with preparing(path, self.root.path):
                ranges = [(part.source.fileno(), *part[1:]) for part in parts]
                self.disk.copy_ranges(ranges, target.fileno(), copy_ranges)

        return copy

    def finish(self, draft: UnpublishedFile) -> None:
        """Sync the file if it must be durable, and close it."""
        opened = _open(draft)
        try:
            if self.durability is Durability.durable:
                self.disk.sync_file(opened.fileno())
            draft.opened = None
            opened.close()
        except OSError as error:
            raise refused(error, draft.path, self.root.path) from error

    def publish(self, draft: UnpublishedFile, mode: PutMode) -> None:
        """Move a finished file to its path."""
        try:
            if mode is PutMode.create:
                self._move_if_absent(draft)
            else:
                self.disk.rename(draft.temporary, draft.full_path)
        except LanceError:
            raise
        except OSError as error:
            raise refused_or_unknown(error, draft.path, self.root.path) from error
        self._sync_folders(draft.path, draft.folder)

    def discard(self, draft: UnpublishedFile) -> None:
        """Remove a temporary file, as far as possible; it is closed after its last use."""
        draft.opened = None
        with contextlib.suppress(OSError):
            self.disk.remove(draft.temporary)

    def move_if_absent(self, source: str, target: str) -> None:
        """Move an object to ``target``; raises `ObjectExistsError` if ``target`` exists.

        Raises `ObjectNotFoundError` if ``source`` does not exist.
        """
        source_path, target_path = self.root.file(source), self.root.file(target)
        folders = folder_of(source_path), folder_of(target_path)
        if not os.path.isfile(source_path):
            raise ObjectNotFoundError(source, self.root.path)
        with preparing(target, self.root.path):
            self._make_folders(folders[1])
            self.root.file(target)
        with publishing(target, self.root.path):
            try:
                move(self.disk, source_path, target_path)
            except FileExistsError as error:
                raise ObjectExistsError(target) from error
        self._sync_folders(target, *dict.fromkeys(reversed(folders)))

    def remove(self, path: str) -> None:
        """Remove an object if it exists."""
        full_path = self.root.file(path)
        with publishing(path, self.root.path):
            try:
                self.disk.remove(full_path)
            except (FileNotFoundError, NotADirectoryError):
                return
        self._sync_folders(path, folder_of(full_path))

    def remove_empty_folders(self, folder: str) -> None:
        """Remove a folder and its empty subfolders; does not follow links to folders."""
        for path, _, _ in os.walk(self.root.folder(folder), topdown=False):
            with contextlib.suppress(OSError):
                self.disk.remove_folder(path)

    def _move_if_absent(self, draft: UnpublishedFile) -> None:
        try:
            move(self.disk, draft.temporary, draft.full_path)
        except OSError as error:
            left = traces(draft.temporary, draft.full_path)
            if left is Traces.moved:
                self.discard(draft)
            elif left is Traces.gone:
                raise OutcomeUnknownError(
                    f"creating {draft.path!r} in {self.root.path} failed: {error}; it is unknown "
                    "whether the file was created"
                ) from error
            elif isinstance(error, FileExistsError):
                raise ObjectExistsError(draft.path) from error
            else:
                raise

    def _make_folders(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = folder_of(folder)
        for made in reversed(missing):
            with contextlib.suppress(FileExistsError):
                self.disk.make_folder(made)
            if self.durability is Durability.durable:
                self.disk.sync_folder(folder_of(made))

    def _sync_folders(self, path: str, *folders: str) -> None:
        if self.durability is Durability.durable:
            with settling(path, self.root.path):
                for folder in folders:
                    self.disk.sync_folder(folder)


def _open(draft: UnpublishedFile) -> OpenedFile:
    if draft.opened is None:
        raise InvalidInputError(f"the writer of {draft.path!r} is closed")
    return draft.opened
