"""The folder that a local store never leaves."""

from __future__ import annotations

import os

from lance_core.errors import InvalidPathError
from lance_core.store.paths import check_folder, check_path

_MAX_KNOWN = 4096


def folder_of(full_path: str) -> str:
    """The folder that a full path is in."""
    return full_path[: full_path.rindex("/")] or "/"


class Root:
    """A folder, and the full paths below it.

    The folder itself may be a symbolic link that the user chose; below it, links that lead
    outside are refused. Folders that were found to be inside are not looked at again.
    """

    __slots__ = ("_inside", "_prefix", "path")

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._prefix = self.path.rstrip("/") + "/"
        self._inside: set[str] = set()

    def file(self, path: str) -> str:
        """The full path of an object; `InvalidPathError` if its folder is outside."""
        check_path(path)
        folder = path.rpartition("/")[0]
        if folder and folder not in self._inside:
            self._check(folder)
        return self._prefix + path

    def folder(self, folder: str) -> str:
        """The full path of a folder; `InvalidPathError` if it is outside."""
        if not check_folder(folder):
            return self.path
        if folder not in self._inside:
            self._check(folder)
        return self._prefix + folder

    def target_inside(self, full_path: str) -> str | None:
        """What a full path is with all links resolved, None if that is outside."""
        target = os.path.realpath(full_path)
        return target if target.startswith(self._prefix) else None

    def _check(self, folder: str) -> None:
        full_path = self._prefix + folder
        if self.target_inside(full_path) is None:
            raise InvalidPathError(f"path {folder!r} is a link that leads out of its root")
        # One that does not exist may still become a link to somewhere else.
        if os.path.isdir(full_path):
            if len(self._inside) >= _MAX_KNOWN:
                self._inside.clear()
            self._inside.add(folder)
