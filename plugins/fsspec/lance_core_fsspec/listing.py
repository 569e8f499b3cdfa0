"""What a file system tells of its objects, as the store contract words it.

Folders are walked by ``ls``, one after the other: fsspec's ``find`` takes a folder that cannot be
read for an empty one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lance_core.errors import StoreError
from lance_core.store.base import ObjectMeta
from lance_core.store.paths import is_path
from lance_core_fsspec.errors import is_missing
from lance_core_fsspec.mount import Mount

_DATES = (
    *("LastModified", "last_modified", "mtime", "modified", "updated", "modificationTime"),
    *("modify", "last_commit", "created"),
)
"""Where file systems put the date of a file, the best first."""

_TAGS = ("ETag", "etag", "e_tag", "md5Hash", "sha")


def children(mount: Mount, folder: str) -> dict[str, Mapping[str, Any]]:
    """What is directly in ``folder``, by path; a folder that does not exist is empty.

    Raises what the file system raises.
    """
    filesystem = mount.filesystem
    filesystem.invalidate_cache()
    try:
        entries = filesystem.ls(mount.key(folder), detail=True)
    except Exception as error:
        if is_missing(error):
            return {}
        raise
    found = {}
    start = len(folder) + 1 if folder else 0
    for entry in entries:
        path = mount.path(entry["name"])
        if path is not None and (not folder or path.startswith(f"{folder}/")):
            name = path[start:]
            # What no path can be, such as "..", is none of this store; and no folder is in itself.
            if name and "/" not in name and is_path(path):
                found[path] = entry
    if folder and list(found) == [f"{folder}/{folder.rpartition('/')[2]}"]:
        # Some, FTP for one, take a file for a folder with itself inside.
        return found if filesystem.isdir(mount.key(folder)) else {}
    return found


def is_folder(entry: Mapping[str, Any]) -> bool:
    """True if an entry of a listing is a folder and no object.

    A server of HTTP shows it by sending on to an address with a slash at its end.
    """
    return entry.get("type") == "directory" or str(entry.get("url", "")).endswith("/")


def walk(mount: Mount, folder: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object below ``folder``, at any depth, with its path."""
    pending = [folder]
    while pending:
        with mount.lock:
            found = children(mount, pending.pop())
        for path, entry in found.items():
            if is_folder(entry):
                pending.append(path)
            else:
                yield path, entry


def meta_of(mount: Mount, path: str, entry: Mapping[str, Any]) -> ObjectMeta:
    """An entry of a listing; what it lacks is asked for.

    Where a file system knows no date an object is as new as it can be, so that nothing takes it
    for abandoned.
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
    stamp = entry.get("date_time")  # of an archive's member: year to second, of no time zone
    if isinstance(stamp, tuple) and len(stamp) == 6:
        with contextlib.suppress(ValueError, TypeError):
            year, month, day, hour, minute, second = stamp
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return datetime.now(UTC)


def _date(value: object) -> datetime | None:
    """A date with its time zone, UTC where none is given; None if ``value`` is not one."""
    try:
        if isinstance(value, int | float):  # some count in milliseconds
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        date = datetime.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError, OSError):
        return None
    if not isinstance(date, datetime):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
