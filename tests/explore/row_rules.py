"""What must hold of rows, names and config, besides I1 to I14: written down a second time.

These rules know nothing of how changes are rebased, merged and checked. They compare each version
with the one before it, and with the one that its transaction was computed from.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lance_core.commits.refs import list_branches, list_tags
from lance_core.store.base import ObjectStore
from lance_core.table.fragments.deletion import decode_deletions
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.transactions.operations import Append, Delete, Overwrite
from lance_core.table.transactions.operations.base import Operation
from lance_core.table.transactions.operations.data_replacement import DataReplacement
from lance_core.table.transactions.operations.key_filter import ExactKeys
from lance_core.table.transactions.operations.reserve_fragments import ReserveFragments
from lance_core.table.transactions.operations.restore import Restore
from lance_core.table.transactions.operations.rewrite import Rewrite
from lance_core.table.transactions.operations.update import Update
from lance_core.table.transactions.operations.update_config import UpdateConfig
from lance_core_explorer import ALL, Facts, Invariant, Scope, Seen, View
from lance_core_explorer.notes import Ended, NotCommitted

_OVERTAKEN: dict[type[Operation], tuple[type[Operation], ...]] = {
    Append: (Overwrite, Restore),
    Overwrite: (Overwrite,),
    DataReplacement: (DataReplacement, Rewrite, Update),
    Rewrite: (DataReplacement, Rewrite, Update, Delete),
    Delete: (DataReplacement, Rewrite),
    Update: (DataReplacement, Rewrite),
}
"""What must not come between a transaction and the version that it was computed from. Where both
are about fragments: not of the same ones."""


def deleted_rows_stay_deleted(facts: Facts) -> str:
    """R1: a row that is deleted in one version does not come back in the next."""
    for before, after in _pairs(facts):
        if isinstance(_operation(after), Delete | Update | Append | DataReplacement):
            for old in before.file.manifest.fragments:
                new = after.file.manifest.fragments.by_id(old.id)
                if new is None:
                    continue
                back = np.setdiff1d(_deleted(facts.view, old), _deleted(facts.view, new))
                if len(back):
                    return f"in version {after.version} rows {back.tolist()} are back"
    return ""


def rows_are_moved_once(facts: Facts) -> str:
    """R2: an update and a compaction leave as many rows as there were."""
    for before, after in _pairs(facts):
        operation = _operation(after)
        moves = isinstance(operation, Update) and operation.inserted_rows is None
        if moves or isinstance(operation, Rewrite):
            old, new = _live(facts.view, before), _live(facts.view, after)
            if old != new:
                return f"version {after.version} makes {new} rows of {old}"
    return ""


def nothing_stale_is_committed(facts: Facts) -> str:
    """R3: no transaction follows one that changed what it was computed from."""
    by_number = facts.view.by_number
    for seen in facts.view.versions:
        ours = _operation(seen)
        if ours is None or seen.transaction is None:
            continue
        for number in range(seen.transaction.read_version + 1, seen.version):
            theirs = _operation(by_number[number]) if number in by_number else None
            if theirs is not None and _is_stale(ours, theirs):
                return f"version {seen.version} was computed without version {number}"
    return ""


def _is_stale(ours: Operation, theirs: Operation) -> bool:
    if isinstance(ours, Update) and isinstance(theirs, Update) and _keys(ours) & _keys(theirs):
        return True
    if not isinstance(theirs, _OVERTAKEN.get(type(ours), ())):
        return False
    mine, other = ours.touched_fragments, theirs.touched_fragments
    return not mine or not other or not mine.isdisjoint(other)


def _keys(operation: Update) -> frozenset[int]:
    keys = None if operation.inserted_rows is None else operation.inserted_rows.keys
    return frozenset(keys.key_hashes) if isinstance(keys, ExactKeys) else frozenset()


def ids_are_used_once(facts: Facts) -> str:
    """R4: the id of a fragment that is gone is not given to another."""
    files: dict[int, tuple[str, ...]] = {}
    gone: set[int] = set()
    for seen in facts.view.versions:
        now = {part.id: tuple(f.path for f in part.files) for part in seen.file.manifest.fragments}
        for number in gone & now.keys():
            if files[number] != now[number]:
                return f"fragment id {number} is used again in version {seen.version}"
        gone |= files.keys() - now.keys()
        files |= now
    return ""


def settings_stay(facts: Facts) -> str:
    """R5: what is set in the config stays set until somebody changes it."""
    for before, after in _pairs(facts):
        old, new = before.file.manifest.config, after.file.manifest.config
        if not isinstance(_operation(after), UpdateConfig | Restore):
            lost = [key for key in old if new.get(key) != old[key]]
            if lost:
                return f"version {after.version} loses the setting {lost[0]}"
    return ""


def named_versions_stay(facts: Facts) -> str:
    """R6: once nobody is at work, what has a name is there."""
    names = facts.view.alone(lambda effects: _named(effects.store)).result
    assert isinstance(names, dict)
    for name, number in names.items():
        if number not in facts.view.by_number:
            return f"{name} names version {number}, which is not there"
    return ""


def _named(store: ObjectStore) -> dict[str, int]:
    tags = {f"tag {name}": tag.version for name, tag in list_tags(store).items()}
    branches = list_branches(store).items()
    return tags | {f"branch {name}": branch.parent_version for name, branch in branches}


def _pairs(facts: Facts) -> Iterator[tuple[Seen, Seen]]:
    for seen in facts.view.versions:
        before = facts.view.by_number.get(seen.version - 1)
        if before is not None:
            yield before, seen


def _operation(seen: Seen) -> Operation | None:
    return None if seen.transaction is None else seen.transaction.operation


def _live(view: View, seen: Seen) -> int:
    parts = seen.file.manifest.fragments
    return sum((part.physical_rows or 0) - len(_deleted(view, part)) for part in parts)


def _deleted(view: View, fragment: Fragment) -> np.ndarray:
    """Deleted rows, found without asking which files a version needs; see R7."""
    file = fragment.deletion_file
    if file is None:
        return np.empty(0, np.uint32)
    data = view.objects.get(file.store_path(fragment.id))
    if data is None:
        return np.empty(0, np.uint32)
    return decode_deletions(file.file_type, data, fragment.physical_rows or 0)


def deletions_can_be_read(facts: Facts) -> str:
    """R7: the deletion files that fragments name are there."""
    for seen in facts.view.versions:
        for part in seen.file.manifest.fragments:
            file = part.deletion_file
            if file is not None and file.store_path(part.id) not in facts.view.objects:
                return f"version {seen.version} has lost the deletions of fragment {part.id}"
    return ""


def files_are_where_they_were_put(facts: Facts) -> str:
    """R8: data files are there, also those that are named by way of base paths.

    Here all base paths are this very table.
    """
    for seen in facts.view.versions:
        for path in seen.data_files:
            if f"data/{path}" not in facts.view.objects:
                return f"version {seen.version} has lost {path}"
    return ""


def reserved_ids_are_taken(facts: Facts) -> str:
    """R9: who reserves ids has them for itself."""
    for before, after in _pairs(facts):
        operation = _operation(after)
        if isinstance(operation, ReserveFragments):
            first, last = (seen.file.manifest.max_fragment_id for seen in (before, after))
            if (last or 0) - (first or 0) != operation.num_fragments:
                return f"version {after.version} reserves no ids: {first}, then {last}"
    return ""


def rows_are_new_where_they_came(facts: Facts) -> str:
    """R10: appended rows say that they were made in the version that has them first."""
    for before, after in _pairs(facts):
        known = {part.id for part in before.file.manifest.fragments}
        for part in after.file.manifest.fragments:
            said = part.created_at_versions
            if part.id in known or not isinstance(said, bytes):
                continue
            rows = np.arange(part.physical_rows or 0)
            made = RowVersions.from_bytes(said, len(rows)).take(rows)
            if isinstance(_operation(after), Append) and set(made.tolist()) != {after.version}:
                return f"rows of version {after.version} say that they are of {set(made.tolist())}"
    return ""


def failed_is_nowhere(facts: Facts) -> str:
    """R12: nothing of a change that was reported as failed is in any version.

    I3 knows a change by its identity, which goes with its version.
    """
    settled = {path for note in facts.committed for path in note.added}
    for note in facts.each(NotCommitted):
        left = note.added - settled if isinstance(note, NotCommitted) else frozenset()
        for seen in facts.view.versions:
            if not left.isdisjoint(seen.data_files):
                return f"it was reported as failed, and is in version {seen.version}"
    return ""


def readers_are_served(facts: Facts) -> str:
    """R11: where nothing goes wrong, whoever opens a table that is there succeeds."""
    ends = [end for end in facts.each(Ended) if isinstance(end, Ended)]
    return next((f"a reader met {end.kind}" for end in ends if end.what == "read"), "")


SERVED = (*ALL, Invariant("R11", Scope.STATE, readers_are_served))
"""I1 to I14, and that reading succeeds."""

RULES = (
    *ALL,
    Invariant("R7", Scope.WORLD, deletions_can_be_read),
    Invariant("R1", Scope.WORLD, deleted_rows_stay_deleted),
    Invariant("R2", Scope.WORLD, rows_are_moved_once),
    Invariant("R3", Scope.WORLD, nothing_stale_is_committed),
    Invariant("R4", Scope.WORLD, ids_are_used_once),
    Invariant("R5", Scope.WORLD, settings_stay),
    Invariant("R6", Scope.END, named_versions_stay),
    Invariant("R8", Scope.WORLD, files_are_where_they_were_put),
    Invariant("R9", Scope.WORLD, reserved_ids_are_taken),
    Invariant("R10", Scope.WORLD, rows_are_new_where_they_came),
    Invariant("R12", Scope.STATE, failed_is_nowhere),
)
"""I1 to I14, and these."""
