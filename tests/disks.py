"""Disks for the local store: one that notes every call, and file systems that lack something."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from lance_core.store.local import Disk


class RecordingDisk(Disk):
    """The real file system; ``calls`` notes what was done, with the last two segments of paths."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, ...]] = []
        self._names: dict[int, str] = {}

    def _note(self, name: str, *paths: str) -> None:
        self.calls.append((name, *("/".join(Path(path).parts[-2:]) for path in paths)))

    @property
    def names(self) -> list[str]:
        """The names of the calls."""
        return [call[0] for call in self.calls]

    def create(self, path: str) -> int:
        descriptor = super().create(path)
        self._names[descriptor] = path
        self._note("create", path)
        return descriptor

    def write(self, descriptor: int, views: Sequence[memoryview], place: int) -> None:
        self._note("write", self._names[descriptor])
        super().write(descriptor, views, place)

    def copy_bytes(self, source: int, target: int, start: int, length: int, place: int) -> None:
        self._note("copy_bytes", self._names[target])
        super().copy_bytes(source, target, start, length, place)

    def sync_file(self, descriptor: int) -> None:
        self._note("sync_file", self._names[descriptor])
        super().sync_file(descriptor)

    def sync_folder(self, path: str) -> None:
        self._note("sync_folder", path)
        super().sync_folder(path)

    def make_folder(self, path: str) -> None:
        self._note("make_folder", path)
        super().make_folder(path)

    def link(self, source: str, target: str) -> None:
        self._note("link", source, target)
        super().link(source, target)

    def rename(self, source: str, target: str) -> None:
        self._note("rename", source, target)
        super().rename(source, target)

    def rename_exclusive(self, source: str, target: str) -> None:
        self._note("rename_exclusive", source, target)
        super().rename_exclusive(source, target)

    def remove(self, path: str) -> None:
        self._note("remove", path)
        super().remove(path)


def cannot(code: int, path: str) -> OSError:
    """The error of a system call that failed with ``code``."""
    return OSError(code, os.strerror(code), path)


class NoLinks(RecordingDisk):
    """Like FUSE or exFAT."""

    def link(self, source: str, target: str) -> None:
        raise cannot(errno.EPERM, target)


class OnlyLinks(RecordingDisk):
    """Like NFS."""

    def rename_exclusive(self, source: str, target: str) -> None:
        raise cannot(errno.EINVAL, target)


class OnlyPlainRenames(NoLinks):
    """Like FUSE without ``RENAME_NOREPLACE``."""

    def rename_exclusive(self, source: str, target: str) -> None:
        raise cannot(errno.ENOSYS, target)


class LinksThatReplace(RecordingDisk):
    """A server that does not care whether the name is taken."""

    def link(self, source: str, target: str) -> None:
        Path(target).unlink(missing_ok=True)
        super().link(source, target)
