"""Listing local folders in the order of object stores: by the bytes of the whole path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from lance_core.store.base import ObjectMeta
from lance_core.store.local.root import Root
from lance_core.store.paths import MAX_PATH_BYTES, is_path


def meta_of(path: str, status: os.stat_result) -> ObjectMeta:
    """What is known of the file at ``path``."""
    modified = datetime.fromtimestamp(status.st_mtime_ns / 1e9, UTC)
    etag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    return ObjectMeta(path, status.st_size, modified, etag)


def walk(root: Root, folder: str, start_after: str | None) -> Iterator[ObjectMeta]:
    """Every object below ``folder`` that sorts after ``start_after``, sorted by path.

    Links to folders are not followed. Files whose names no path can have are not objects. What
    vanishes meanwhile is left out. Raises `OSError` for folders that cannot be read.
    """
    pending = [iter(_sorted_entries(root, folder, start_after))]
    while pending:
        for path, is_folder in pending[-1]:
            if is_folder:
                pending.append(iter(_sorted_entries(root, path, start_after)))
                break
            if (status := _status(root, path)) is not None:
                yield meta_of(path, status)
        else:
            pending.pop()


def names(root: Root, folder: str, start_after: str | None) -> list[str]:
    """Names of the objects directly in ``folder``, sorted; otherwise as `walk`."""
    prefix = f"{folder}/" if folder else ""
    found = [name for name, is_folder in _entries(root, folder) if not is_folder]
    if start_after is not None:
        found = [name for name in found if prefix + name > start_after]
    found.sort()
    return found


def _sorted_entries(root: Root, folder: str, start_after: str | None) -> list[tuple[str, bool]]:
    """Path and whether it is a folder, of what may lie after ``start_after``.

    A folder sorts as its contents do, with a slash behind its name. Comparing text gives the order
    of its UTF-8 bytes.
    """
    prefix = f"{folder}/" if folder else ""
    found = []
    for name, is_folder in _entries(root, folder):
        key = f"{prefix}{name}/" if is_folder else f"{prefix}{name}"
        if start_after is None or key > start_after or (is_folder and start_after.startswith(key)):
            found.append(key)
    found.sort()
    return [(key.removesuffix("/"), key.endswith("/")) for key in found]


def _entries(root: Root, folder: str) -> list[tuple[str, bool]]:
    """Name and whether it is a folder, of all files and folders directly in ``folder``."""
    full_folder = root.folder(folder)
    prefix = f"{folder}/" if folder else ""
    is_short = len(prefix) < MAX_PATH_BYTES // 8
    found = []
    try:
        with os.scandir(full_folder) as entries:
            for entry in entries:
                name = entry.name
                is_usual = is_short and name.isascii() and name.isprintable()
                if not (is_usual and "\\" not in name and ":" not in name) and not is_path(
                    prefix + name
                ):
                    continue
                if entry.is_file(follow_symlinks=False):
                    found.append((name, False))
                elif entry.is_dir(follow_symlinks=False):
                    found.append((name, True))
                elif entry.is_file() and root.holds_target(entry.path):
                    found.append((name, False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return found


def _status(root: Root, path: str) -> os.stat_result | None:
    """The state of a file, or None if it vanished or is something else by now."""
    try:
        status = os.stat(root.file(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None
