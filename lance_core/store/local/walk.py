"""List local folders in the order of object stores: by the bytes of the whole path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from lance_core.store.base import ObjectMeta
from lance_core.store.local.root import Root
from lance_core.store.paths import MAX_PATH_BYTES, is_path

_USUAL = bytes(code for code in range(ord(" "), ord("~") + 1) if chr(code) not in "\\:")
"""The characters of names that need no closer look."""


def meta_of(path: str, status: os.stat_result) -> ObjectMeta:
    """Metadata of the file at ``path``."""
    try:
        modified = datetime.fromtimestamp(status.st_mtime_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):  # a file may have a date beyond year 9999
        modified = datetime.max.replace(tzinfo=UTC)
    etag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    return ObjectMeta(path, status.st_size, modified, etag)


def walk(root: Root, folder: str, start_after: str | None) -> Iterator[ObjectMeta]:
    """All objects below ``folder`` after ``start_after``, sorted by path.

    Does not follow links to folders. Files whose names are not valid path segments are not objects.
    Files that are removed during the walk are skipped. Raises `OSError` for folders that cannot be
    read.
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
    """Names of the objects directly in ``folder``, unordered; otherwise like `walk`."""
    files, _ = _entries(root, folder)
    if start_after is None:
        return files
    prefix = f"{folder}/" if folder else ""
    return [name for name in files if prefix + name > start_after]


def _sorted_entries(root: Root, folder: str, start_after: str | None) -> list[tuple[str, bool]]:
    """Entries that may contain paths after ``start_after``: the path, and True for a folder.

    A folder sorts like its contents, as its name followed by a slash. Comparing text gives the
    order of its UTF-8 bytes.
    """
    prefix = f"{folder}/" if folder else ""
    files, folders = _entries(root, folder)
    names = [prefix + name for name in files]
    names += [f"{prefix}{name}/" for name in folders]
    if start_after is not None:
        names = [
            key
            for key in names
            if key > start_after or (key.endswith("/") and start_after.startswith(key))
        ]
    names.sort()
    return [(key.removesuffix("/"), key.endswith("/")) for key in names]


def _entries(root: Root, folder: str) -> tuple[list[str], list[str]]:
    """Names of all files and of all folders directly in ``folder``."""
    try:
        with os.scandir(root.folder(folder)) as entries:
            listed = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    files = [entry.name for entry in listed if entry.is_file(follow_symlinks=False)]
    folders = []
    if len(files) < len(listed):
        folders = [entry.name for entry in listed if entry.is_dir(follow_symlinks=False)]
        files += [entry.name for entry in listed if _is_link_to_file(root, entry)]
    return _objects(folder, files), _objects(folder, folders) if folders else []


def _is_link_to_file(root: Root, entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return False
    target = root.target_inside(entry.path)
    return target is not None and os.path.isfile(target)


def _objects(folder: str, names: list[str]) -> list[str]:
    """The members of ``names`` that are valid paths."""
    prefix = f"{folder}/" if folder else ""
    together = "".join(names)
    # One check of all names together: folders can hold thousands of files.
    is_short = len(prefix) < MAX_PATH_BYTES // 2
    if is_short and together.isascii() and not together.encode().translate(None, _USUAL):
        return names
    return [name for name in names if is_path(prefix + name)]


def _status(root: Root, path: str) -> os.stat_result | None:
    """The status of a file, or None if it was removed or is no regular file any more."""
    try:
        status = os.stat(root.file(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None
