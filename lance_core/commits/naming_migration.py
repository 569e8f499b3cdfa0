"""Rename the manifests of a table from naming scheme V1 to V2.

Manifests are renamed one by one, the newest first: each is written under its new name, then the old
name is removed. During the migration, and after a crash, the table has names of both schemes, which
readers refuse to open; a reader that lists only a few names and sees only new ones finds the newest
version. Repeating the migration completes an interrupted one.

No process may write to the table at the same time: a writer that has seen the old names continues
to use them.
"""

from __future__ import annotations

from lance_core.errors import CorruptFileError, ObjectExistsError, ObjectNotFoundError
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.table.paths import VERSIONS, NamingScheme, manifest_path, parse_manifest_name


def migrate_names(store: ObjectStore) -> int:
    """Rename all manifests to V2 names; return the number of renamed ones.

    Raises `CorruptFileError` if a version has two different manifests, one under each name.
    """
    older = []
    for name in store.list_names(VERSIONS):
        parsed = parse_manifest_name(name)
        if parsed is not None and parsed.scheme is NamingScheme.V1:
            older.append(parsed.version)
    for version in sorted(older, reverse=True):
        _migrate(store, version)
    return len(older)


def _migrate(store: ObjectStore, version: int) -> None:
    source = manifest_path(version, NamingScheme.V1)
    target = manifest_path(version, NamingScheme.V2)
    data = store.get(source)
    try:
        there = store.get(target)
    except ObjectNotFoundError:
        there = None
    if there is None and store.capabilities.put_if_absent is Guarantee.YES:
        try:
            store.put(target, data, PutMode.create)
        except ObjectExistsError:  # most likely written by an earlier request of ours
            there = store.get(target)
    elif there is None:
        store.put(target, data)
    if there is not None and not there.equals(data):
        raise CorruptFileError(
            f"version {version} has a manifest under its new name that differs from {source}",
            target,
        )
    store.delete(source)
