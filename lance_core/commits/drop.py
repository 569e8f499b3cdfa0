"""Removing a table: everything below its root, in an order that a crash cannot turn into a lie.

Manifests go first and the newest of them last, so that until the very end the table opens as what
it was; then it is not a table any more. Other files follow; transaction files are the last of them,
for it is they that still show what a drop that was interrupted has begun.

Nobody may write to the table meanwhile: a version that is added while its files are removed stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.commits.base import CommitHandler
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.store.base import ObjectStore
from lance_core.table.paths import DETACHED, TRANSACTIONS, VERSIONS, parse_manifest_name


def drop(store: ObjectStore, handler: CommitHandler) -> None:
    """Remove the table that ``store`` is rooted at, with all that is in its folder.

    Dropping again completes a drop that was interrupted. Raises `DatasetNotFoundError` if nothing
    is there, and `InvalidInputError` if something is there that is no table.
    """
    paths = [meta.path for meta in store.list("")]
    if not paths:
        handler.forget()  # a drop may have been interrupted right before it
        raise DatasetNotFoundError("there is nothing to drop")
    versions = {path: number for path in paths if (number := _version(path)) is not None}
    begun = any(path.startswith(f"{TRANSACTIONS}/") and path.endswith(".txn") for path in paths)
    if not begun and not any(path.startswith(f"{VERSIONS}/") for path in versions):
        raise InvalidInputError("this is not a table: no version was found, nothing was removed")
    # Branches need the files of the table, and detached versions are no one's newest.
    _remove(store, sorted(versions, key=lambda path: (_is_of_the_root(path), versions[path])))
    rest = [path for path in paths if path not in versions]
    _remove(store, sorted(rest, key=lambda path: (path.startswith(f"{TRANSACTIONS}/"), path)))
    store.remove_empty_folders()
    for folder in sorted({path.rpartition(f"{VERSIONS}/")[0].rstrip("/") for path in versions}):
        handler.forget(folder)


def _version(path: str) -> int | None:
    """Where in the order of its versions a manifest is removed, None if ``path`` is not one."""
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
