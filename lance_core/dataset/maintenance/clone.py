"""Clones: a new table whose first version has the content of another table's version.

A shallow clone copies no files: it records the other table as a base path. A deep clone copies all
files. The manifest is written last, so a clone becomes visible as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from lance_core.byte_ranges import ByteRange
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
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.secret import hide_secrets
from lance_core.table.file_references import Reference as FileReference
from lance_core.table.file_references import ReferenceKind, references
from lance_core.table.paths import DATA, DELETIONS, DETACHED, INDICES
from lance_core.table.transactions.apply import CommitFacts
from lance_core.table.transactions.operations import Clone
from lance_core.table.transactions.transaction import Transaction

COPIED_AT_ONCE = 4
"""Files that a deep clone copies concurrently."""

PART_BYTES = 8 << 20
"""Bytes in memory per file during a copy: a file is copied in parts of this size."""

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
    """Create a table at ``target`` that references the files of the version ``reference``.

    ``reference`` is the same as in `Tags.create`. ``storage_options`` apply to the new table; None
    uses the source's. The returned snapshot, and a pickled copy of it, may read the source's files;
    callers that open the new table by its URI must allow its base path. Raises
    `DatasetExistsError` if ``target`` has a table.
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
    """Create a table at ``target`` with copies of all files of a version.

    The arguments are those of `shallow_clone`. After a failure there is no table, but the copied
    files stay, because a concurrent clone to the same place may use them. Raises
    `DatasetExistsError` if ``target`` has a table.
    """
    storage_options = hide_secrets(storage_options)
    source = _source(snapshot, reference)
    root = with_handler_of(_new_root(source, target, storage_options), source)
    root.check_can_commit()
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
    """Commit ``source`` as the first version of the table or ``branch`` at ``root``.

    Raises `DatasetExistsError` if ``root`` has a version, `UnsupportedFeatureError` for a detached
    ``source``, and the errors of `commit_transaction`.
    """
    if source.version & DETACHED:
        raise UnsupportedFeatureError("a detached version cannot be cloned")
    root = with_handler_of(root, source)
    operation = Clone(is_shallow, source_branch, source.version, base_path_of(source.root), branch)
    made = commit_transaction(
        root.handler,
        root.store,
        Transaction(source.version, str(SYSTEM.new_uuid()), operation),
        None,
        CommitOptions(naming=source.location.naming, facts=CommitFacts(source=source.file)),
    )
    return Snapshot(root, made.file, made.location)


def with_handler_of(root: TableRoot, source: Snapshot) -> TableRoot:
    """``root`` with the commit handler that the config of ``source`` names, if it names one."""
    marker = source.manifest.config.get(MARKER)
    return root if marker is None else open_table.with_handler_named(root, marker)


def base_path_of(root: TableRoot) -> str:
    """The URI of a table as a base path of others: absolute, without options and passwords."""
    url = root.url
    if url.scheme == "file":
        return url.path
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}/{quote(url.path)}"


def _source(snapshot: Snapshot, reference: Reference) -> Snapshot:
    return snapshot if reference is None else open_table.open_version(snapshot.root, reference)


def _new_root(
    source: Snapshot, target: str | os.PathLike[str], storage_options: Mapping[str, Any] | None
) -> TableRoot:
    """The root of the new table; raises `DatasetExistsError` if ``target`` has a table."""
    storage_options = hide_secrets(storage_options)
    options = source.root.config.options if storage_options is None else storage_options
    root = open_table.open_root_of(StoreConfig(os.fspath(target), options))
    if root.handler.latest() is not None:
        raise DatasetExistsError(f"Dataset already exists: {root.redacted_uri}")
    return root


@dataclass(frozen=True, slots=True)
class _Copy:
    """A file to copy from ``source`` to ``target``."""

    source: ObjectStore
    path: str
    target: ObjectStore
    new_path: str

    def run(self) -> None:
        """Copy the file in parts; raises `ObjectNotFoundError` if it does not exist."""
        size = self.source.head(self.path).size
        with self.target.open_writer(self.new_path) as writer:
            for start in range(0, size, PART_BYTES):
                part = ByteRange(start, min(start + PART_BYTES, size))
                writer.write(self.source.get_ranges(self.path, [part])[0])


def _copies(source: Snapshot, target: ObjectStore) -> Iterator[_Copy]:
    """A `_Copy` for each file that the version ``source`` references.

    The new path is the file's path in a table without base paths. Raises `CorruptFileError` if two
    files have the same new path.
    """
    taken: dict[str, tuple[int | None, str]] = {}
    for reference in references(source.file):
        if reference.kind is ReferenceKind.TRANSACTION:
            continue  # the clone's first commit writes its own transaction
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
    for file in store.list(reference.path):
        yield _Copy(store, file.path, target, new_path + file.path[len(reference.path) :])
