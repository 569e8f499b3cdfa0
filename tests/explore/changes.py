"""Changes of rows, columns and config, and actors that make versions be needed.

As everywhere in the explorer a data file holds its own name. Deletion files are real ones: what is
deleted is what these seeds are about.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from lance_core.commits import refs
from lance_core.commits.handlers.lock import CommitLock
from lance_core.commits.history import Version, read_latest
from lance_core.commits.options import CommitOptions
from lance_core.errors import (
    DatasetNotFoundError,
    ExistsError,
    LanceError,
    RetryableCommitConflictError,
)
from lance_core.store.base import ObjectStore, PutMode
from lance_core.table.fragments.deletion import RowOffsets, decode_deletions, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest_parts import BasePath
from lance_core.table.transactions.operations import Append, Delete, UpdateBases
from lance_core.table.transactions.operations.data_replacement import (
    DataReplacement,
    DataReplacementGroup,
)
from lance_core.table.transactions.operations.key_filter import ExactKeys, KeyExistenceFilter
from lance_core.table.transactions.operations.update import Update
from lance_core.table.transactions.operations.update_config import UpdateConfig
from lance_core.table.transactions.operations.update_map import UpdateMap
from lance_core.table.transactions.transaction import Transaction
from lance_core_explorer import Effects, aged, creating
from lance_core_explorer.actors.writers import Change, commit, new_fragment, send
from lance_core_explorer.configuration import Body
from lance_core_explorer.notes import Ended

SHARED_UUID = "00000000-0000-4000-8000-000000000001"


def deleting(fragment: int, *rows: int, known: bool = True) -> Change:
    """Deletes rows of a fragment. ``known``: the transaction says which, so it can be rebased."""

    def change(effects: Effects, base: Version) -> Delete:
        updated = _with_deletions(effects, base, fragment, rows)
        offsets = np.array(rows, np.uint32)
        return Delete((updated,), (), "x", affected_rows={fragment: offsets} if known else None)

    return change


def removing(fragment: int) -> Change:
    """Deletes a fragment with all of its rows."""
    return lambda effects, base: Delete((), (fragment,), "true")


def updating(fragment: int, *rows: int) -> Change:
    """Gives rows of a fragment new values: they move to a new fragment."""

    def change(effects: Effects, base: Version) -> Update:
        updated = _with_deletions(effects, base, fragment, rows)
        moved = dataclasses.replace(new_fragment(effects), physical_rows=len(rows))
        affected = {fragment: np.array(rows, np.uint32)}
        return Update((), (updated,), (moved,), affected_rows=affected)

    return change


def upserting(key: int) -> Change:
    """Inserts a row of a key that is not there yet, and says so."""

    def change(effects: Effects, base: Version) -> Update:
        added = dataclasses.replace(new_fragment(effects), physical_rows=1)
        keys = KeyExistenceFilter((0,), ExactKeys((key,)))
        return Update((), (), (added,), inserted_rows=keys, affected_rows={})

    return change


def replacing(fragment: int) -> Change:
    """Gives a column of a fragment a new file."""

    def change(effects: Effects, base: Version) -> DataReplacement:
        (file,) = new_fragment(effects).files
        return DataReplacement((DataReplacementGroup(fragment, file),))

    return change


def configuring(key: str) -> Change:
    """Sets a key of the config."""
    return lambda effects, base: UpdateConfig(UpdateMap({key: effects.port.actor}))


def redelivering(change: Change, last_counts: bool = False) -> Body:
    """Commits a change, and when it is committed does so again, as if it had forgotten.

    ``last_counts``: what the first commit ended in is forgotten, too.
    """

    def body(effects: Effects) -> None:
        base = effects.opened
        assert base is not None
        uuid = str(effects.environment.new_uuid())
        transaction = Transaction(base.location.version, uuid, change(effects, base))
        send(effects, transaction, base)
        if last_counts:
            effects.port.notes.clear()
        send(effects, transaction, None, CommitOptions(may_be_repeated=True))

    return body


def through_a_base(effects: Effects, base: Version) -> Append:
    """A `Change` that adds a fragment whose file is named by way of base path 1."""
    added = new_fragment(effects)
    files = tuple(dataclasses.replace(file, base_id=1) for file in added.files)
    return Append((dataclasses.replace(added, files=files),))


def basing(effects: Effects, base: Version) -> UpdateBases:
    """A `Change` that lists a base path: this very table, by another of its names."""
    return UpdateBases((BasePath(1, "alias:///table", is_dataset_root=True),))


def locking(effects: Effects) -> CommitLock:
    """A commit lock: an object that only one can make, and that goes when it is left."""

    @contextlib.contextmanager
    def lock(version: int) -> Iterator[None]:
        try:
            effects.store.put("lock", b"", PutMode.create)
        except ExistsError as error:
            raise RetryableCommitConflictError("somebody else has the lock") from error
        try:
            yield
        finally:
            effects.store.delete("lock")

    return lock


def forgetting(change: Change) -> Body:
    """Commits a change and does so again, from scratch. What counts is the last answer."""
    return redelivering(change, last_counts=True)


def sharing_identity(change: Change) -> Body:
    """Commits a change under an identity that others use for theirs."""

    def body(effects: Effects) -> None:
        base = effects.opened
        assert base is not None
        transaction = Transaction(base.location.version, SHARED_UUID, change(effects, base))
        send(effects, transaction, base)

    return body


def prepared(*changes: Change, fragments: int = 1, stable_row_ids: bool = False) -> Body:
    """For `Configuration.setup`: makes a table and changes it."""

    def body(effects: Effects) -> None:
        creating(fragments, stable_row_ids)(effects)
        base = read_latest(effects.handler, effects.store)
        for change in changes:
            assert base is not None
            base = commit(effects, change, base)
        assert base is not None

    return body


def naming(version: int) -> Body:
    """Gives a version a tag, as tags are made: then it looks whether the version is there."""

    def body(effects: Effects) -> None:
        target = refs.RefTarget(version)
        try:
            effects.handler.locate(version)
            refs.create_tag(effects.store, "kept", target, effects.environment)
            try:
                effects.handler.locate(version)
            except DatasetNotFoundError:
                refs.delete_tag(effects.store, "kept")
                raise
        except LanceError as error:
            effects.note(Ended("tag", type(error).__name__))

    return body


def branched(version: int) -> Body:
    """For `Configuration.setup`: makes three versions, of one of which a branch begins."""

    def body(effects: Effects) -> None:
        aged(3)(effects)
        refs.create_branch(effects.store, "dev", refs.RefTarget(version), effects.environment)

    return body


def deletions(store: ObjectStore, fragment: Fragment) -> RowOffsets:
    """The deleted rows of a fragment."""
    file = fragment.deletion_file
    if file is None:
        return np.empty(0, np.uint32)
    data = store.get(file.store_path(fragment.id))
    return decode_deletions(file.file_type, data, fragment.physical_rows or 0)


def _with_deletions(
    effects: Effects, base: Version, fragment: int, rows: Sequence[int]
) -> Fragment:
    """A fragment with more rows deleted; the file is written."""
    current = base.file.manifest.fragments.by_id(fragment)
    assert current is not None
    merged = np.union1d(deletions(effects.store, current), np.array(rows, np.uint32))
    file_type, data = encode_deletions(merged.astype(np.uint32))
    number = effects.environment.new_uuid().int & 0xFFFF
    file = DeletionFile(file_type, base.location.version, number, len(merged))
    effects.store.put(file.store_path(fragment), data)
    return dataclasses.replace(current, deletion_file=file)
