"""How a file comes to be at a path: written under another name, then moved, as a whole."""

from __future__ import annotations

import contextlib
import os

from lance_core.errors import ObjectExistsError, ObjectNotFoundError, OutcomeUnknownError
from lance_core.store.base import PutMode
from lance_core.store.local.disk import Disk, Durability
from lance_core.store.local.exclusive import Traces, move, traces
from lance_core.store.local.failures import preparing, publishing, settling
from lance_core.store.local.root import Root
from lance_core.store.local.temporary import temporary_path


class Publisher:
    """Makes and moves files below a root, and syncs them if they are to be durable."""

    __slots__ = ("disk", "durability", "root")

    def __init__(self, root: Root, durability: Durability, disk: Disk) -> None:
        self.root = root
        self.durability = durability
        self.disk = disk

    def create_temporary(self, path: str) -> tuple[str, int]:
        """The full path and a descriptor of a new file in the folder of ``path``."""
        folder = os.path.dirname(self.root.file(path))
        with preparing(path, self.root.path):
            name = temporary_path(folder)
            try:
                return name, self.disk.create(name)
            except FileNotFoundError:
                self._make_folders(folder)
                self.root.file(path)  # what was made may be below a link
                return name, self.disk.create(name)

    def finish(self, path: str, descriptor: int) -> None:
        """Sync, if asked for, and close a file that was written for ``path``."""
        with preparing(path, self.root.path):
            try:
                if self.durability is Durability.durable:
                    self.disk.sync_file(descriptor)
            finally:
                os.close(descriptor)

    def publish(self, temporary: str, path: str, mode: PutMode) -> None:
        """Move a finished file of `create_temporary` to ``path``."""
        full_path = self.root.file(path)
        with publishing(path, self.root.path):
            if mode is PutMode.create:
                self._move_if_absent(temporary, full_path, path)
            else:
                self.disk.rename(temporary, full_path)
        self._sync_folders(path, os.path.dirname(full_path))

    def move_if_absent(self, source: str, target: str) -> None:
        """Move an object to ``target``, where nothing is."""
        source_path, target_path = self.root.file(source), self.root.file(target)
        folders = os.path.dirname(source_path), os.path.dirname(target_path)
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
        """Remove an object, if it is there."""
        full_path = self.root.file(path)
        with publishing(path, self.root.path):
            try:
                self.disk.remove(full_path)
            except (FileNotFoundError, NotADirectoryError):
                return
        self._sync_folders(path, os.path.dirname(full_path))

    def discard(self, temporary: str) -> None:
        """Remove a temporary file, if it is there and as far as possible."""
        with contextlib.suppress(OSError):
            self.disk.remove(temporary)

    def _move_if_absent(self, temporary: str, full_path: str, path: str) -> None:
        try:
            move(self.disk, temporary, full_path)
        except OSError as error:
            left = traces(temporary, full_path)
            if left is Traces.moved:
                self.discard(temporary)
            elif left is Traces.gone:
                raise OutcomeUnknownError(
                    f"creating {path!r} in {self.root.path}: {error}, and {left.value}"
                ) from error
            elif isinstance(error, FileExistsError):
                raise ObjectExistsError(path) from error
            else:
                raise

    def _make_folders(self, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for made in reversed(missing):
            with contextlib.suppress(FileExistsError):
                self.disk.make_folder(made)
            if self.durability is Durability.durable:
                self.disk.sync_folder(os.path.dirname(made))

    def _sync_folders(self, path: str, *folders: str) -> None:
        if self.durability is Durability.durable:
            with settling(path, self.root.path):
                for folder in folders:
                    self.disk.sync_folder(folder)
