"""Renaming the manifests of a table from the first naming scheme to the second.

One manifest after the other, the newest first: it is written under its new name, then the old name
is removed. In between, and after a crash, the table has names of both schemes, which readers refuse
to open; a reader that looks at a few names only and sees new ones alone sees the newest version.
Doing it again completes what was begun.

Nobody may write to the table meanwhile: a writer that has seen the old names goes on using them.
"""

from __future__ import annotations

from lance_core.errors import CorruptFileError, ObjectExistsError, ObjectNotFoundError
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.table.paths import VERSIONS, NamingScheme, manifest_path, parse_manifest_name


def migrate_names(store: ObjectStore) -> int:
    """Give all manifests names of the second scheme; how many had another one.

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
        except ObjectExistsError:  # by an earlier sending of ours, in all likelihood
            there = store.get(target)
    elif there is None:
        store.put(target, data)
    if there is not None and not there.equals(data):
        raise CorruptFileError(f"version {version} is not the same as {source}", target)
    store.delete(source)
