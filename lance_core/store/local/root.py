"""The root folder of a local store, which no path leaves."""

from __future__ import annotations

import os
import stat

from lance_core.errors import InvalidPathError
from lance_core.store.paths import check_folder, check_path

_MAX_KNOWN = 4096


def folder_of(full_path: str) -> str:
    """The parent folder of a full path."""
    return full_path[: full_path.rindex("/")] or "/"


def _resolved(path: str) -> str:
    """`os.path.realpath`; a path without links, as most are, in half of the time."""
    if not path.startswith("/") or "//" in path or "/." in path or path.endswith("/"):
        return os.path.realpath(path)
    stop = 0
    while stop >= 0:
        stop = path.find("/", stop + 1)
        try:
            mode = os.lstat(path[:stop] if stop > 0 else path).st_mode
        except OSError:
            return path  # nothing below it can be looked up
        if stat.S_ISLNK(mode):
            return os.path.realpath(path)
    return path


class Root:
    """A root folder, and full paths below it.

    The root itself may be a symbolic link chosen by the user; links below it that lead outside are
    refused. Folders that were found to be inside are cached.
    """

    __slots__ = ("_inside", "_prefix", "path")

    def __init__(self, path: str) -> None:
        self.path = _resolved(path)
        self._prefix = self.path.rstrip("/") + "/"
        self._inside: set[str] = set()

    def file(self, path: str) -> str:
        """The full path of an object; `InvalidPathError` if its folder is outside the root."""
        check_path(path)
        folder = path.rpartition("/")[0]
        if folder and folder not in self._inside:
            self._check(folder)
        return self._prefix + path

    def folder(self, folder: str) -> str:
        """The full path of a folder; `InvalidPathError` if it is outside the root."""
        if not check_folder(folder):
            return self.path
        if folder not in self._inside:
            self._check(folder)
        return self._prefix + folder

    def target_inside(self, full_path: str) -> str | None:
        """A full path with all links resolved, or None if that is outside the root."""
        target = os.path.realpath(full_path)
        return target if target.startswith(self._prefix) else None

    def _check(self, folder: str) -> None:
        mode, full_path = 0, self._prefix[:-1]
        for name in folder.split("/"):
            full_path = f"{full_path}/{name}"
            try:
                mode = os.lstat(full_path).st_mode
            except OSError:
                return  # a missing folder is not cached: it may become a link that leads outside
            if stat.S_ISLNK(mode) and self.target_inside(self._prefix + folder) is None:
                raise InvalidPathError(f"path {folder!r} is a link that leads out of its root")
        if stat.S_ISDIR(mode) or os.path.isdir(full_path):
            if len(self._inside) >= _MAX_KNOWN:
                self._inside.clear()
            self._inside.add(folder)
