"""Clones: a new table that begins with a version of another.

A shallow one leaves all files where they are and names the other table as a base path; a deep one
has copies of them. Either becomes visible with its only manifest, after everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from lance_core.commits.environment import SYSTEM
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import CommitOptions
from lance_core.concurrency.pools import in_order
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.base_paths import allowing, known_places
from lance_core.dataset.snapshot.open_table import Reference
from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.errors import (
    CorruptFileError,
    DatasetExistsError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.handler_choice import MARKER
from lance_core.store.base import ByteRange, ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.secret import hide_secrets
from lance_core.table.paths import DATA, DELETIONS, DETACHED, INDICES
from lance_core.table.references import Reference as FileReference
from lance_core.table.references import ReferenceKind, references
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.operations import Clone
from lance_core.table.transactions.transaction import Transaction

COPIED_AT_ONCE = 4
"""Files that a deep clone copies at a time."""

PART_BYTES = 8 << 20
"""Bytes of a file that are in memory at a time while it is copied."""

_FOLDERS = {
    ReferenceKind.DATA: DATA,
    ReferenceKind.BLOBS: DATA,
    ReferenceKind.OVERLAY: DATA,
    ReferenceKind.DELETION: DELETIONS,
    ReferenceKind.INDEX: INDICES,
}


def shallow_clone(
    snapshot: Snapshot,
    target: str | os.PathLike[str],
    reference: Reference,
    storage_options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """A table at ``target`` with the content of a version, whose files stay where they are.

    ``reference`` as of `Tags.create`. ``storage_options`` of the new table, by default those of
    the old one. What is returned, and what is pickled of it, may read the files of the old table;
    whoever opens the new one by its URI has to allow that. Raises `DatasetExistsError`.
    """
    storage_options = hide_secrets(storage_options)
    source = _source(snapshot, reference)
    table = open_table.table_of(source.root)
    root = _new_root(source, target, storage_options)
    config = allowing(root.config, [*known_places(source.root.config), table.uri])
    return clone_to(replace(root, config=config), source, open_table.branch_of(source), None)


def deep_clone(
    snapshot: Snapshot,
    target: str | os.PathLike[str],
    reference: Reference,
    storage_options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """A table at ``target`` with copies of all files of a version; arguments as `shallow_clone`.

    If it fails there is no table, but copies of files stay: another clone to the same place may
    need them by now. Raises `DatasetExistsError`.
    """
    storage_options = hide_secrets(storage_options)
    source = _source(snapshot, reference)
    root = _new_root(source, target, storage_options)
    for _ in in_order(_Copy.run, _copies(source, root.store), COPIED_AT_ONCE):
        pass
    return clone_to(root, source, open_table.branch_of(source), None, is_shallow=False)


def clone_to(
    root: TableRoot,
    source: Snapshot,
    source_branch: str | None,
    branch: str | None,
    *,
    is_shallow: bool = True,
) -> Snapshot:
    """Make ``source`` the first version of the table, or of the branch ``branch``, at ``root``.

    Raises `DatasetExistsError` if there is a version, and as `commit_transaction` does.
    """
    if source.version & DETACHED:
        raise UnsupportedFeatureError("a detached version cannot be cloned")
    marker = source.manifest.config.get(MARKER)
    if marker is not None:
        root = open_table.with_handler_named(root, marker)
    operation = Clone(is_shallow, source_branch, source.version, base_path_of(source.root), branch)
    made = commit_transaction(
        root.handler,
        root.store,
        Transaction(source.version, str(SYSTEM.new_uuid()), operation),
        None,
        CommitOptions(naming=source.location.naming, facts=CommitFacts(source=source.file)),
    )
    return Snapshot(root, made.file, made.location)


def base_path_of(root: TableRoot) -> str:
    """The place of a table as other tables name it: absolute, without options and passwords."""
    url = root.url
    if url.scheme == "file":
        return url.path
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}/{quote(url.path)}"


def _source(snapshot: Snapshot, reference: Reference) -> Snapshot:
    return snapshot if reference is None else open_table.open_version(snapshot.root, reference)


def _new_root(
    source: Snapshot, target: str | os.PathLike[str], storage_options: Mapping[str, Any] | None
) -> TableRoot:
    """A place where there is no table yet."""
    storage_options = hide_secrets(storage_options)
    given = source.root.config.options if storage_options is None else storage_options
    root = open_table.open_root_of(StoreConfig(os.fspath(target), given))
    if root.handler.latest() is not None:
        raise DatasetExistsError(f"Dataset already exists: {root.redacted_uri}")
    return root


@dataclass(frozen=True, slots=True)
class _Copy:
    """A file to be copied."""

    source: ObjectStore
    path: str
    target: ObjectStore
    new_path: str

    def run(self) -> None:
        """Copy it; `ObjectNotFoundError` if it is gone."""
        size = self.source.head(self.path).size
        with self.target.open_writer(self.new_path) as writer:
            for start in range(0, size, PART_BYTES):
                part = ByteRange(start, min(start + PART_BYTES, size))
                writer.write(self.source.get_ranges(self.path, [part])[0])


def _copies(source: Snapshot, target: ObjectStore) -> Iterator[_Copy]:
    """Every file that a version names, once, to where it belongs if there are no base paths."""
    taken: dict[str, tuple[int | None, str]] = {}
    for reference in references(source.file):
        if reference.kind is ReferenceKind.TRANSACTION:
            continue  # the copy begins with a transaction of its own
        base = source.base(reference.base_id)
        new_path = reference.path
        if base is not None and not base.is_dataset_root:
            new_path = f"{_FOLDERS[reference.kind]}/{reference.path}"
        origin = (reference.base_id, reference.path)
        if taken.setdefault(new_path, origin) != origin:
            raise CorruptFileError(f"two base paths hold a file {new_path!r} each")
        if taken[new_path] is origin:
            yield from _copies_of(source.store_of(base), reference, target, new_path)


def _copies_of(
    store: ObjectStore, reference: FileReference, target: ObjectStore, new_path: str
) -> Iterator[_Copy]:
    if not reference.is_folder:
        yield _Copy(store, reference.path, target, new_path)
        return
    for found in store.list(reference.path):
        yield _Copy(store, found.path, target, new_path + found.path[len(reference.path) :])
