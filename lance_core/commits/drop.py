"""Remove a table and everything below its root, in an order that survives a crash.

Manifests are removed first, the newest one last. So after a crash the table still opens at its
newest version, or has no version left. Then the other files are removed. Transaction files are
last, because they identify the folder as a table whose drop was interrupted.

No process may write to the table at the same time: a version that is added while its files are
removed remains.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.commits.base import CommitHandler
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED, TRANSACTIONS, VERSIONS, parse_manifest_name


def drop(store: ObjectStore, handler: CommitHandler) -> None:
    """Remove the table at the root of ``store`` and everything in its folder.

    Dropping again completes an interrupted drop. Raises `DatasetNotFoundError` if the folder is
    empty, and `InvalidInputError` if it has content that is not a table.
    """
    paths = [meta.path for meta in store.list("")]
    if not paths:
        handler.forget()  # an earlier drop may have stopped before this call
        raise DatasetNotFoundError("there is nothing to drop")
    versions = {path: number for path in paths if (number := _version(path)) is not None}
    begun = any(path.startswith(f"{TRANSACTIONS}/") and path.endswith(".txn") for path in paths)
    if not begun and not any(path.startswith(f"{VERSIONS}/") for path in versions):
        raise InvalidInputError("this is not a table: no version was found, nothing was removed")
    # Branches need the files of the table; a detached version is never the newest one.
    _remove(store, sorted(versions, key=lambda path: (_is_of_the_root(path), versions[path])))
    rest = [path for path in paths if path not in versions]
    _remove(store, sorted(rest, key=lambda path: (path.startswith(f"{TRANSACTIONS}/"), path)))
    store.remove_empty_folders()
    for folder in sorted({path.rpartition(f"{VERSIONS}/")[0].rstrip("/") for path in versions}):
        handler.forget(folder)


def _version(path: str) -> int | None:
    """The sort key of a manifest in the order of removal; None if ``path`` is not a manifest."""
    folder, _, name = path.rpartition("/")
    if folder != VERSIONS and not folder.endswith(f"/{VERSIONS}"):
        return None
    parsed = parse_manifest_name(name)
    if parsed is None:
        return None
    return 0 if parsed.version & DETACHED else parsed.version


def _is_of_the_root(path: str) -> bool:
    return path.startswith(f"{VERSIONS}/")


def _remove(store: ObjectStore, paths: Iterable[str]) -> None:
    for path in paths:
        store.delete(path)
