"""Check that the newest version of a table contains a given version.

A version normally does: each version builds on the version before it. But a cleanup frees version
numbers, and a writer that was suspended between preparing and publishing may find its number free
although later versions exist. It then publishes a version that no later version contains. Cleanups
of this library keep a number occupied for longer than a writer may be suspended; other libraries
may free it at once.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

import numpy as np

from lance_core.commits.base import CommitHandler
from lance_core.commits.history import Version, find_transaction, find_version, read_latest
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.file_references import (
    Reference,
    ReferenceKind,
    fragment_references,
    index_references,
)
from lance_core.table.fragments.deletion import RowOffsets, decode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.fragments.fragment_list import FragmentList
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
"""Operations that neither change existing fragments nor restore removed ones."""


class Doubt(enum.Enum):
    """How likely it is that later versions were committed before this one was published."""

    PROMPT = "published at once"
    """The immediate successor counts as built on the version, unless its content contradicts
    this."""
    SLOW = "published slowly"
    """The history must show the change, or a later version that would hide it."""
    LATE = "published after the deadline"
    """The newest version or the immediate successor must show the change."""


def is_continued(
    handler: CommitHandler,
    store: ObjectStore,
    ours: Version,
    base: ManifestFile | None,
    doubt: Doubt,
) -> bool:
    """True if the newest version is ``ours``, or contains the change from ``base`` to ``ours``.

    False does not prove that the version is lost: later changes may have replaced everything that
    it changed. Raises the errors of ``handler`` and ``store``, and `CorruptFileError`.
    """
    newest = handler.latest()
    if newest is None or newest.version < ours.location.version:
        return False
    is_prompt = newest.version == ours.location.version and doubt is Doubt.PROMPT
    if is_prompt and not newest.contradicts(ours.location):
        return True
    return _is_followed(handler, store, ours, lambda: _Change.between(base, ours.file), doubt)


def is_in_history(handler: CommitHandler, store: ObjectStore, ours: Version, doubt: Doubt) -> bool:
    """`is_continued` for a version that was read, not just published: finds its base first.

    If a cleanup has removed the base, only the files that the transaction added identify the
    change. Never raises: a version that cannot be read shows nothing.
    """
    number = ours.location.version
    try:
        base = find_version(handler, store, number - 1) if number > 1 else None
        if base is not None or number == 1:
            file = None if base is None else base.file
            return is_continued(handler, store, ours, file, doubt)
        transaction = find_transaction(store, ours)
        return _is_followed(
            handler, store, ours, lambda: _Change.added_by(transaction, ours.file.manifest), doubt
        )
    except Exception:  # also errors of plugins: the version exists already
        return False


def _is_followed(
    handler: CommitHandler,
    store: ObjectStore,
    ours: Version,
    change_of_ours: Callable[[], _Change],
    doubt: Doubt,
) -> bool:
    newest = read_latest(handler, store)
    number = ours.location.version
    if newest is None or newest.location.version < number:
        return False
    if newest.location.version == number:
        return newest.file.transaction == ours.file.transaction
    successor = newest
    if newest.location.version != number + 1:
        newer = find_version(handler, store, number + 1)
        successor = newest if newer is None else newer
    later, change = (newest, successor), change_of_ours()
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
    if _is_made_of(successor, transaction, ours, change) or _removes_index(transaction, change):
        return True
    return doubt is Doubt.PROMPT and not _contradicts(store, successor, transaction, ours, change)


@dataclass(frozen=True, slots=True)
class _Change:
    """The change from a base version to a version.

    ``files``: files that the version names and its base does not. ``settings``: settings that the
    version added or changed, with their new values. ``unset``: settings that it removed.
    ``fragments``: ids of fragments that it added, changed or removed. ``removed``: ids of fragments
    that it removed. ``base``: the fragments of the base, of which no version has to be searched for
    the new files again; files of row ids and versions, which fragments may share, do not count.
    """

    files: frozenset[Reference]
    settings: Mapping[tuple[str, object], object]
    unset: frozenset[tuple[str, object]]
    fragments: frozenset[int]
    removed: frozenset[int]
    base: FragmentList

    @classmethod
    def between(cls, base: ManifestFile | None, file: ManifestFile) -> _Change:
        before = {} if base is None else _settings(base.manifest)
        after = _settings(file.manifest)
        old = FragmentList() if base is None else base.manifest.fragments
        new = file.manifest.fragments
        added, gone = new.without(old), old.without(new)
        known = frozenset() if base is None else _files(base, gone)
        changed, remaining = frozenset((*added.ids, *gone.ids)), frozenset(added.ids)
        return cls(
            _files(file, added) - known,
            {key: value for key, value in after.items() if before.get(key, cls) != value},
            frozenset(before.keys() - after.keys()),
            changed,
            changed - remaining,
            old,
        )

    @classmethod
    def added_by(cls, transaction: Transaction | None, manifest: Manifest) -> _Change:
        """The part of a change that is known without the base: the files of new fragments."""
        files: frozenset[Reference] = frozenset()
        if transaction is not None and isinstance(transaction.operation, Append | Overwrite):
            references_of_each = (
                fragment_references(manifest, fragment)
                for fragment in transaction.operation.fragments
            )
            files = frozenset().union(*references_of_each)
        return cls(files, {}, frozenset(), frozenset(), frozenset(), FragmentList())

    def is_in(self, file: ManifestFile) -> bool:
        """True if ``file`` shows this change.

        One new file suffices, since no other version adds it. Other writers may set a setting to
        the same value, so all settings must have the values that this change gave them.
        """
        if self.files:
            fragments = file.manifest.fragments.without(self.base)
            return not self.files.isdisjoint(_files(file, fragments))
        if not self.settings and not self.unset:
            return False
        now = _settings(file.manifest)
        is_left = all(now.get(key, self) == value for key, value in self.settings.items())
        return is_left and self.unset.isdisjoint(now)


def _hides(store: ObjectStore, later: Version, ours: Version, change: _Change) -> bool:
    """True if ``later`` would hide all of ``change`` even if ``change`` directly preceded it.

    ``later`` replaced the changed rows together with all others, or contains the same deletions.
    """
    if change.settings or change.unset:
        return False
    if _deletes_the_same(store, later, ours, change):
        return True
    transaction = find_transaction(store, later)
    return transaction is not None and isinstance(transaction.operation, Overwrite | Restore)


def _removes_index(transaction: Transaction, change: _Change) -> bool:
    """True if ``transaction`` removes an index that ``change`` added: its writer saw the change."""
    operation = transaction.operation
    if not isinstance(operation, CreateIndex):
        return False
    removed = {str(index.uuid) for index in operation.removed_indices}
    added = (file for file in change.files if file.kind is ReferenceKind.INDEX)
    return any(file.path.rpartition("/")[2] in removed for file in added)


def _is_made_of(
    successor: Version, transaction: Transaction, ours: Version, change: _Change
) -> bool:
    """True if applying ``transaction`` to ``ours`` gives exactly ``successor``.

    A transaction that changes the same fragments shows nothing, because it contains their new
    state.
    """
    if not (change.fragments or change.settings or change.unset):
        return False
    if not change.fragments.isdisjoint(transaction.operation.touched_fragments):
        return False
    made = apply(ours.file, transaction, CommitFacts(0)).manifest
    manifest = successor.file.manifest
    return (made.fragments, made.max_fragment_id, _settings(made)) == (
        manifest.fragments,
        manifest.max_fragment_id,
        _settings(manifest),
    )


def _contradicts(
    store: ObjectStore, successor: Version, transaction: Transaction, ours: Version, change: _Change
) -> bool:
    """True if ``successor`` lacks ``change`` but would show it if it were built on ``ours``."""
    operation = transaction.operation
    if isinstance(operation, Delete):
        left = change.fragments - change.removed - set(operation.deleted_fragment_ids)
        return not all(_holds(store, successor, ours, number) for number in left)
    if not isinstance(operation, _KEEP_FRAGMENTS):
        return False
    if change.files or not change.removed.isdisjoint(successor.file.manifest.fragments.ids):
        return True
    changes_settings = isinstance(operation, UpdateBases | UpdateConfig)
    return bool(change.settings or change.unset) and not changes_settings


def _deletes_the_same(store: ObjectStore, later: Version, ours: Version, change: _Change) -> bool:
    """True if ``later`` deletes every row of the changed fragments that ``ours`` deletes."""
    numbers = change.fragments
    return bool(numbers) and all(_holds(store, later, ours, number) for number in numbers)


def _holds(store: ObjectStore, later: Version, ours: Version, number: int) -> bool:
    """True if ``later`` has the fragment ``number`` of ``ours``, perhaps with more deleted rows."""
    own = ours.file.manifest.fragments.by_id(number)
    theirs = later.file.manifest.fragments.by_id(number)
    if own is None or theirs is None or own.files != theirs.files:
        return False
    if own.deletion_file is None or own.deletion_file == theirs.deletion_file:
        return True
    if not (_has_own_deletions(own) and _has_own_deletions(theirs)):
        return False
    return bool(np.isin(_deletions(store, own), _deletions(store, theirs)).all())


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


def _files(file: ManifestFile, fragments: FragmentList) -> frozenset[Reference]:
    """The files of some ``fragments`` of a version, each in one fragment only, and its indices."""
    files = {
        reference
        for fragment in fragments
        for reference in fragment_references(file.manifest, fragment)
        if reference.kind is not ReferenceKind.ROW_LINEAGE
    }
    return frozenset(files.union(index_references(file)))


def _settings(manifest: Manifest) -> dict[tuple[str, object], object]:
    """The configuration of a version other than its fragments and indices, by kind and key."""
    settings: dict[tuple[str, object], object] = {}
    settings.update((("config", key), value) for key, value in manifest.config.items())
    settings.update((("table", key), value) for key, value in manifest.table_metadata.items())
    settings.update((("schema", key), value) for key, value in manifest.schema.metadata.items())
    settings.update((("field", field.id), field) for field in manifest.schema.walk())
    settings.update((("base", base.id), base) for base in manifest.base_paths)
    return settings
