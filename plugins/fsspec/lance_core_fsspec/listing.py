"""Convert listings of file systems to those of the store contract.

Folders are listed one by one with ``ls``, because fsspec's ``find`` treats an unreadable folder as
empty.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lance_core.errors import StoreError
from lance_core.hookspecs.stores import ObjectMeta, is_path
from lance_core_fsspec.errors import is_missing
from lance_core_fsspec.mount import Mount

_DATES = (
    *("LastModified", "last_modified", "mtime", "modified", "updated", "modificationTime"),
    *("modify", "last_commit", "created"),
)
"""Keys under which file systems report the date of a file, the best first."""

_TAGS = ("ETag", "etag", "e_tag", "md5Hash", "sha")


def children(mount: Mount, folder: str) -> dict[str, Mapping[str, Any]]:
    """The entries directly in ``folder``, by path; a missing folder is empty.

    Raises the exceptions of the file system, and `StoreError` if its bucket or server is missing.
    """
    filesystem = mount.filesystem
    filesystem.invalidate_cache()
    try:
        entries = filesystem.ls(mount.key(folder), detail=True)
    except Exception as error:
        if is_missing(error):
            _check_container(mount)
            return {}
        raise
    mount.is_reached = True
    by_path = {}
    start = len(folder) + 1 if folder else 0
    for entry in entries:
        path = mount.path(entry["name"])
        if path is not None and (not folder or path.startswith(f"{folder}/")):
            name = path[start:]
            # Ignore names that are not valid paths, such as "..", and the folder itself.
            if name and "/" not in name and is_path(path):
                by_path[path] = entry
    if folder and list(by_path) == [f"{folder}/{folder.rpartition('/')[2]}"]:
        # Some file systems, such as FTP, list a file as a folder that contains itself.
        return by_path if filesystem.isdir(mount.key(folder)) else {}
    return by_path


def _check_container(mount: Mount) -> None:
    """Raise `StoreError` if the bucket or the server of ``mount`` has nothing to list either.

    Then the address is wrong, and no folder is known to be empty. Requested once for a mount.
    """
    container = None if mount.is_reached else mount.container
    if container is None:
        return
    try:
        mount.filesystem.ls(container, detail=True)
    except Exception as error:
        if is_missing(error):
            raise StoreError(
                f"{mount.traits.protocol} finds nothing at {container!r} (404, not found): check "
                "bucket and address"
            ) from None
        return  # there may be no permission to list all of it
    mount.is_reached = True


def is_folder(entry: Mapping[str, Any]) -> bool:
    """True if an entry of a listing is a folder.

    An HTTP server shows this by a redirect to an address with a trailing slash.
    """
    return entry.get("type") == "directory" or str(entry.get("url", "")).endswith("/")


def walk(mount: Mount, folder: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All objects below ``folder``, at any depth, with their paths."""
    pending = [folder]
    while pending:
        with mount.lock:
            entries = children(mount, pending.pop())
        for path, entry in entries.items():
            if is_folder(entry):
                pending.append(path)
            else:
                yield path, entry


def meta_of(mount: Mount, path: str, entry: Mapping[str, Any]) -> ObjectMeta:
    """The metadata of a listing's entry; requests the missing parts.

    If the file system has no dates, the object gets the latest possible date, so that no cleanup
    treats it as old.
    """
    if entry.get("size") is None:
        with mount.lock:
            entry = mount.filesystem.info(mount.key(path))
    size = entry.get("size")
    if size is None:
        raise StoreError(f"the file system does not tell the size of {path!r}")
    tag = next((entry[name] for name in _TAGS if isinstance(entry.get(name), str)), None)
    return ObjectMeta(path, int(size), _date_of(entry), tag)


def _date_of(entry: Mapping[str, Any]) -> datetime:
    for name in _DATES:
        date = _date(entry.get(name))
        if date is not None:
            return date
    stamp = entry.get("date_time")  # of an archive's member: year to second, without a time zone
    if isinstance(stamp, tuple) and len(stamp) == 6:
        with contextlib.suppress(ValueError, TypeError):
            year, month, day, hour, minute, second = stamp
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return datetime.now(UTC)


def _date(value: object) -> datetime | None:
    """A date with a time zone, UTC by default; None if ``value`` is not a date."""
    try:
        if isinstance(value, int | float):  # some use milliseconds
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        date = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(date, datetime):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
