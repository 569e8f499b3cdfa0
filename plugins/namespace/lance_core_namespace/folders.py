"""Tables that are folders of a store: what is one, and the names of all in the root."""

from __future__ import annotations

from collections.abc import Iterator

from lance_core.hookspecs.stores import Guarantee, ObjectStore, exists

SUFFIX = ".lance"
"""The end of the name of a folder that is a table of the root namespace."""

RESERVED = ".lance-reserved"
"""The name of an empty file in the folder of a table that is declared."""

DEREGISTERED = ".lance-deregistered"
"""The name of an empty file in the folder of a table that is no longer in the namespace."""

_JUMP = 1000
"""Files of a folder after which a listing goes on behind the folder: those of a request of S3."""


def is_table(store: ObjectStore, folder: str) -> bool:
    """True if a folder below the root of ``store`` has files, and is not deregistered."""
    has_files = next(iter(store.list(folder)), None) is not None
    return has_files and not exists(store, f"{folder}/{DEREGISTERED}")


def has_versions(store: ObjectStore, folder: str) -> bool:
    """True if the table in a folder was written, False if it is only declared."""
    return next(iter(store.list(f"{folder}/_versions")), None) is not None


def table_folders(store: ObjectStore, *, with_declared: bool) -> list[str]:
    """The names of the tables that are folders of the root."""
    folders = [name for name in _folders(store) if name.endswith(SUFFIX)]
    return [
        name.removesuffix(SUFFIX)
        for name in folders
        if is_table(store, name) and (with_declared or has_versions(store, name))
    ]


def _folders(store: ObjectStore) -> Iterator[str]:
    """The names of the folders in the root.

    A store lists files, not folders. One that lists them in order is asked to go on behind a folder
    with many files, so that a root of large tables takes one request for each of them.
    """
    is_ordered = store.capabilities.ordered_list is Guarantee.YES
    seen: set[str] = set()
    start: str | None = None
    while True:
        last, count = "", 0
        for meta in store.list("", start):
            name, slash, _ = meta.path.partition("/")
            if not slash:
                continue
            if name not in seen:
                seen.add(name)
                last, count = name, 0
                yield name
            count += 1
            if is_ordered and count >= _JUMP:
                break
        else:
            return
        start = f"{last}/\U0010ffff"
