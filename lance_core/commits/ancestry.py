"""Whether a version is part of the history that the newest version continues.

It normally is, by its number alone: a version is only built on the one before it. But numbers that
a cleanup has freed can be taken again. A writer that was stopped, and then publishes what it had
prepared, may find its number free although others have gone past it: its version is there, and no
later version contains it. Cleanups of this library leave a number taken for longer than a writer
may be stopped; others may free it at once.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import numpy as np

from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version, find_transaction, find_version, read_latest
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.file_references import (
    Reference,
    ReferenceKind,
    fragment_references,
    references,
)
from lance_core.table.fragments.deletion import RowOffsets, decode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest.manifest import Manifest
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    Append,
    CreateIndex,
    Delete,
    Overwrite,
    ReserveFragments,
    Restore,
    UpdateBases,
    UpdateConfig,
)
from lance_core.table.transactions.transaction import Transaction

_KEEP_FRAGMENTS = (Append, CreateIndex, ReserveFragments, UpdateBases, UpdateConfig)
"""Operations that leave the fragments that were there as they are, and bring none of them back."""


class Doubt(enum.Enum):
    """How likely it is that others have gone past a version before it was published."""

    PROMPT = "published at once"
    """An immediate successor counts as built on it, unless that one shows the opposite."""
    SLOW = "published slowly"
    """A later version must show what it did, or that nothing of it would be left in any order."""
    LATE = "published after the deadline"
    """The newest version or the immediate successor must show what it did."""


def is_continued(
    handler: CommitHandler,
    store: ObjectStore,
    ours: Version,
    base: ManifestFile | None,
    doubt: Doubt,
) -> bool:
    """Whether the newest version is ``ours`` or follows from what ``ours`` did to ``base``.

    False does not prove that the version is lost: later changes may have replaced all of it. Never
    raises for what cannot be read: that is no evidence.
    """
    try:
        newest = handler.latest()
        if newest is None or newest.version < ours.location.version:
            return False
        if newest.version == ours.location.version and doubt is Doubt.PROMPT:
            return not newest.contradicts(ours.location)
        change = _Change.between(base, ours.file)
        return _is_followed(handler, store, ours, change, doubt)
    except Exception:  # whatever a plugin raises: the version was written all the same
        return False


def is_in_history(handler: CommitHandler, store: ObjectStore, ours: Version, doubt: Doubt) -> bool:
    """`is_continued` of a version that was found, not made: its base is looked for.

    If the base is cleaned up, only the files that the transaction added tell what is new.
    """
    number = ours.location.version
    try:
        base = find_version(handler, store, number - 1) if number > 1 else None
        if base is not None or number == 1:
            file = None if base is None else base.file
            return is_continued(handler, store, ours, file, doubt)
        change = _Change.added_by(find_transaction(store, ours), ours.file.manifest)
        return _is_followed(handler, store, ours, change, doubt)
    except Exception:  # no evidence, as above
        return False


def _is_followed(
    handler: CommitHandler, store: ObjectStore, ours: Version, change: _Change, doubt: Doubt
) -> bool:
    newest = read_latest(handler, store)
    number = ours.location.version
    if newest is None or newest.location.version < number:
        return False
    if newest.location.version == number:
        return newest.file.transaction == ours.file.transaction
    successor = newest
    if newest.location.version != number + 1:
        found = find_version(handler, store, number + 1)
        successor = newest if found is None else found
    later = (newest, successor)
    if any(change.is_in(version.file) for version in later):
        return True
    if doubt is Doubt.LATE:
        return False
    if any(_hides(store, version, ours, change) for version in later):
        return True
    if successor.location.version != number + 1:
        return False
    transaction = find_transaction(store, successor)
    if transaction is None:
        return False
    if _is_made_of(successor, transaction, ours, change):
        return True
    return doubt is Doubt.PROMPT and not _contradicts(store, successor, transaction, ours, change)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a version did to its base.

    ``files`` it names and the base does not; ``settings`` as it left them, and ``unset`` ones;
    ``fragments`` that it added, changed or removed, and ``removed`` ones, by id.
    """

    files: frozenset[Reference]
    settings: Mapping[tuple[str, object], object]
    unset: frozenset[tuple[str, object]]
    fragments: frozenset[int]
    removed: frozenset[int]

    @classmethod
    def between(cls, base: ManifestFile | None, file: ManifestFile) -> _Change:
        before = {} if base is None else _settings(base.manifest)
        after = _settings(file.manifest)
        known = frozenset() if base is None else _content(base)
        old = frozenset() if base is None else frozenset(base.manifest.fragments.raw)
        new = frozenset(file.manifest.fragments.raw)
        changed = [Fragment.from_bytes(raw).id for raw in old ^ new]
        return cls(
            _content(file) - known,
            {key: value for key, value in after.items() if before.get(key, cls) != value},
            frozenset(before.keys() - after.keys()),
            frozenset(changed),
            frozenset(changed).difference(file.manifest.fragments.counts.ids),
        )

    @classmethod
    def added_by(cls, transaction: Transaction | None, manifest: Manifest) -> _Change:
        """What is known without the base: files of the fragments that are new."""
        files: frozenset[Reference] = frozenset()
        if transaction is not None and isinstance(transaction.operation, Append | Overwrite):
            found = (fragment_references(manifest, one) for one in transaction.operation.fragments)
            files = frozenset().union(*found)
        return cls(files, {}, frozenset(), frozenset(), frozenset())

    def is_in(self, file: ManifestFile) -> bool:
        """Whether ``file`` shows it.

        One new file is enough, since no other version brings it in; of settings, which others may
        have set to the same values, all must be as they were left.
        """
        if self.files:
            return not self.files.isdisjoint(_content(file))
        if not self.settings and not self.unset:
            return False
        now = _settings(file.manifest)
        is_left = all(now.get(key, self) == value for key, value in self.settings.items())
        return is_left and self.unset.isdisjoint(now)


def _hides(store: ObjectStore, later: Version, ours: Version, change: _Change) -> bool:
    """Whether nothing of ``change`` would be left if it came right before ``later``.

    Its rows were replaced together with all others, or its deletions are among those of ``later``.
    """
    if change.settings or change.unset:
        return False
    if _deletes_the_same(store, later, ours, change):
        return True
    transaction = find_transaction(store, later)
    return transaction is not None and isinstance(transaction.operation, Overwrite | Restore)


def _is_made_of(
    successor: Version, transaction: Transaction, ours: Version, change: _Change
) -> bool:
    """Whether ``successor`` is just what its transaction makes of ``ours``.

    A transaction that changes the same fragments shows nothing: it brings their new state along.
    """
    if not (change.fragments or change.settings or change.unset):
        return False
    if not change.fragments.isdisjoint(transaction.operation.touched_fragments):
        return False
    made = apply(ours.file, transaction, CommitFacts(0)).manifest
    found = successor.file.manifest
    return (made.fragments, made.max_fragment_id, _settings(made)) == (
        found.fragments,
        found.max_fragment_id,
        _settings(found),
    )


def _contradicts(
    store: ObjectStore, successor: Version, transaction: Transaction, ours: Version, change: _Change
) -> bool:
    """Whether ``successor``, which does not show ``change``, would show it if it followed it."""
    operation = transaction.operation
    if isinstance(operation, Delete):
        left = change.fragments - change.removed - set(operation.deleted_fragment_ids)
        return not all(_holds(store, successor, ours, number) for number in left)
    if not isinstance(operation, _KEEP_FRAGMENTS):
        return False
    if change.files or not change.removed.isdisjoint(successor.file.manifest.fragments.counts.ids):
        return True
    changes_settings = isinstance(operation, UpdateBases | UpdateConfig)
    return bool(change.settings or change.unset) and not changes_settings


def _deletes_the_same(store: ObjectStore, later: Version, ours: Version, change: _Change) -> bool:
    """Whether all rows of the changed fragments that are deleted in ``ours`` are in ``later``."""
    numbers = change.fragments
    return bool(numbers) and all(_holds(store, later, ours, number) for number in numbers)


def _holds(store: ObjectStore, later: Version, ours: Version, number: int) -> bool:
    """Whether a fragment is in ``later`` as in ``ours``, perhaps with more deleted rows."""
    mine = ours.file.manifest.fragments.by_id(number)
    theirs = later.file.manifest.fragments.by_id(number)
    if mine is None or theirs is None or mine.files != theirs.files:
        return False
    if mine.deletion_file is None or mine.deletion_file == theirs.deletion_file:
        return True
    if not (_has_own_deletions(mine) and _has_own_deletions(theirs)):
        return False
    return bool(np.isin(_deletions(store, mine), _deletions(store, theirs)).all())


def _has_own_deletions(fragment: Fragment) -> bool:
    file = fragment.deletion_file
    return file is not None and file.base_id is None and fragment.physical_rows is not None


def _deletions(store: ObjectStore, fragment: Fragment) -> RowOffsets:
    file = fragment.deletion_file
    assert file is not None
    assert fragment.physical_rows is not None
    path = file.store_path(fragment.id)
    return decode_deletions(
        file.file_type, store.get(path), fragment.physical_rows, file.num_deleted_rows, path
    )


def _content(file: ManifestFile) -> frozenset[Reference]:
    """All files that a version needs, but for the transaction's, which no other version names."""
    found = references(file)
    return frozenset(one for one in found if one.kind is not ReferenceKind.TRANSACTION)


def _settings(manifest: Manifest) -> dict[tuple[str, object], object]:
    """What a version says besides its fragments and indices, by kind and key."""
    found: dict[tuple[str, object], object] = {}
    found.update((("config", key), value) for key, value in manifest.config.items())
    found.update((("table", key), value) for key, value in manifest.table_metadata.items())
    found.update((("schema", key), value) for key, value in manifest.schema.metadata.items())
    found.update((("field", field.id), field) for field in manifest.schema.walk())
    found.update((("base", base.id), base) for base in manifest.base_paths)
    return found
