"""Rebasing deletions: disjoint rows are merged, common ones refused, files read only if needed."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.rebase import discard_merged, rebased
from lance_core.errors import CommitError, CorruptFileError, RetryableCommitConflictError
from lance_core.store.base import ObjectStore
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.fragments.data_file import DataFile
from lance_core.table.fragments.deletion import RowOffsets, decode_deletions, encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.manifest.file import ManifestFile, serialize_manifest_file
from lance_core.table.paths import manifest_path
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations.append import Append
from lance_core.table.transactions.operations.delete import Delete
from lance_core.table.transactions.operations.overwrite import Overwrite
from lance_core.table.transactions.operations.update import Update
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import SCHEMA
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused
from lance_core_testing.stores.tracing import TracingStore

ROWS = 8
FACTS = CommitFacts(timestamp_ns=1)


def numbered() -> Environment:
    """Environment whose identities are 1, 2, 3, …"""
    numbers = iter(range(1, 1000))
    return Environment(new_uuid=lambda: uuid.UUID(int=next(numbers)))


def offsets(rows: Iterable[int]) -> RowOffsets:
    return np.array(sorted(rows), np.uint32)


def new_fragment(rows: int = ROWS) -> Fragment:
    file = DataFile(f"{uuid.uuid4()}.lance", (0,), (0,), 2, 0, 100)
    return Fragment(0, (file,), physical_rows=rows)


@dataclass
class Table:
    """Versions of a table of two fragments, and what is deleted in each of them."""

    store: ObjectStore
    versions: list[ManifestFile]
    deleted: list[dict[int, set[int]]]
    world: Environment

    @classmethod
    def new(cls, store: ObjectStore | None = None, rows: int = ROWS) -> Table:
        creation = Transaction(
            0, str(uuid.uuid4()), Overwrite((new_fragment(rows), new_fragment(rows)), SCHEMA)
        )
        made = apply(None, creation, FACTS)
        return cls(store or MemoryStore(), [made], [{0: set(), 1: set()}], numbered())

    @property
    def newest(self) -> ManifestFile:
        return self.versions[-1]

    def delete(self, rows: Mapping[int, set[int]], version: int = -1) -> Transaction:
        """A delete of live rows as computed from a version (an index into `versions`)."""
        file = self.versions[version]
        updated, removed = [], []
        for fragment_id, chosen in rows.items():
            fragment = file.manifest.fragments.by_id(fragment_id)
            assert fragment is not None
            assert fragment.physical_rows is not None
            everything = offsets(self.deleted[version][fragment_id] | chosen)
            if len(everything) == fragment.physical_rows:
                removed.append(fragment_id)
                continue
            kind, data = encode_deletions(everything)
            number = uuid.uuid4().int & ((1 << 64) - 1)
            written = DeletionFile(kind, file.manifest.version, number, len(everything))
            self.store.put(written.store_path(fragment_id), data)
            updated.append(replace(fragment, deletion_file=written))
        affected = {fragment_id: offsets(chosen) for fragment_id, chosen in rows.items()}
        operation = Delete(tuple(updated), tuple(removed), "", affected_rows=affected)
        return Transaction(file.manifest.version, str(uuid.uuid4()), operation)

    def rebase(self, transaction: Transaction, version: int = -1) -> Transaction:
        return rebased(self.store, transaction, self.versions[version], self.world)

    def commit(self, transaction: Transaction, rows: Mapping[int, set[int]]) -> None:
        self.versions.append(apply(self.newest, transaction, FACTS))
        now = {f: self.deleted[-1][f] | rows.get(f, set()) for f in self.deleted[-1]}
        self.deleted.append({f: gone for f, gone in now.items() if len(gone) < ROWS})

    def stored(self) -> dict[int, set[int]]:
        """What the newest version's deletion files say."""
        return {fragment.id: self._stored(fragment) for fragment in self.newest.manifest.fragments}

    def _stored(self, fragment: Fragment) -> set[int]:
        file = fragment.deletion_file
        if file is None:
            return set()
        data = self.store.get(file.store_path(fragment.id))
        rows = fragment.physical_rows or 0
        found = decode_deletions(file.file_type, data, rows, file.num_deleted_rows)
        return set(found.tolist())


def test_a_change_of_the_newest_version_is_left_alone_without_any_store_call() -> None:
    table = Table.new()
    table.commit(table.delete({0: {5}}), {0: {5}})
    change = table.delete({0: {1, 2}, 1: {0}})
    traced = TracingStore(table.store)
    assert rebased(traced, change, table.newest, table.world) is change
    assert not traced.trace.counts


def test_disjoint_rows_are_merged_into_a_new_deletion_file() -> None:
    table = Table.new()
    mine = table.delete({0: {1}, 1: {1}})
    table.commit(table.delete({0: {2}}), {0: {2}})
    merged = table.rebase(mine)
    assert (merged.uuid, merged.read_version) == (mine.uuid, mine.read_version)
    table.commit(merged, {0: {1}, 1: {1}})
    assert table.stored() == {0: {1, 2}, 1: {1}}
    file = table.newest.manifest.fragments[0].deletion_file
    assert file is not None
    assert file.store_path(0) == "_deletions/0-2-1.arrow"  # fragment, version, identity
    assert file.num_deleted_rows == 2


def test_only_what_rebasing_wrote_is_discarded() -> None:
    table = Table.new()
    mine = table.delete({0: {1}, 1: {1}})
    table.commit(table.delete({0: {2}}), {0: {2}})
    before = list_paths(table.store)
    merged = table.rebase(mine)
    assert len(list_paths(table.store)) == len(before) + 1
    discard_merged(table.store, merged, mine)
    assert list_paths(table.store) == before
    discard_merged(table.store, mine, mine)
    assert list_paths(table.store) == before


def test_a_commit_that_came_too_late_discards_what_its_lost_attempts_have_merged() -> None:
    table, lost = Table.new(), []
    store = table.store
    store.put(manifest_path(1), serialize_manifest_file(table.newest))
    mine, first, second = (table.delete({0: {row}}) for row in (1, 2, 3))

    class Overtaken(PutIfAbsentCommitHandler):
        def commit(self, candidate: Candidate) -> ManifestLocation:
            if candidate.version == 3 and not lost:
                lost.extend(list_paths(store, "_deletions"))
                commit_transaction(PutIfAbsentCommitHandler(store), store, second)
            return super().commit(candidate)

    commit_transaction(PutIfAbsentCommitHandler(store), store, first)
    made = commit_transaction(Overtaken(store), store, mine)
    assert made.location.version == 4
    assert len(lost) == 4  # of the three deletes, and the first merge
    named = {
        file.store_path(0)
        for location in PutIfAbsentCommitHandler(store).list_versions()
        for fragment in read_version(store, location).file.manifest.fragments
        if (file := fragment.deletion_file) is not None
    }
    left = {path for path in list_paths(store, "_deletions") if path.startswith("_deletions/0-")}
    given = {
        one.deletion_file.store_path(0)
        for change in (mine, first, second)
        if isinstance(change.operation, Delete)
        for one in change.operation.updated_fragments
        if one.deletion_file is not None
    }
    assert left == named | given


def test_files_of_deletions_that_lie_elsewhere_are_not_discarded() -> None:
    table = Table.new()
    mine = table.delete({0: {1}, 1: {1}})
    assert isinstance(mine.operation, Delete)
    first, second = mine.operation.updated_fragments
    assert first.deletion_file is not None
    elsewhere = replace(first, deletion_file=replace(first.deletion_file, base_id=1))
    changed = replace(
        mine.operation, updated_fragments=(elsewhere, replace(second, deletion_file=None))
    )
    before = list_paths(table.store)
    discard_merged(table.store, replace(mine, operation=changed), table.delete({}))
    assert list_paths(table.store) == before


def test_only_the_deletions_of_fragments_that_changed_are_read_and_written() -> None:
    table = Table.new()
    mine = table.delete({0: {1}, 1: {1}})
    table.commit(table.delete({1: {2}}), {1: {2}})
    traced = TracingStore(table.store)
    rebased(traced, mine, table.newest, table.world)
    calls = [record.call for record in traced.trace.records]
    assert [(call.method, call.path[:13]) for call in calls] == [
        ("get", "_deletions/1-"),
        ("put", "_deletions/1-"),
    ]


def test_rows_that_both_delete_are_refused_naming_the_fragment() -> None:
    table = Table.new()
    mine = table.delete({0: {3}, 1: {1, 2}})
    table.commit(table.delete({1: {2, 3}}), {1: {2, 3}})
    with pytest.raises(RetryableCommitConflictError, match="fragment 1 has lost"):
        table.rebase(mine)


def test_a_fragment_that_is_gone_is_refused() -> None:
    everything = set(range(ROWS))
    for mine in ({0: {3}}, {0: everything}):
        table = Table.new()
        change = table.delete(mine)
        table.commit(table.delete({0: everything}), {0: everything})
        with pytest.raises(RetryableCommitConflictError, match="fragment 0 is gone"):
            table.rebase(change)


def test_removing_a_fragment_that_has_lost_rows_since_is_refused() -> None:
    table = Table.new()
    mine = table.delete({0: set(range(ROWS))})
    assert table.rebase(mine) is mine
    table.commit(table.delete({0: {2}}), {0: {2}})
    with pytest.raises(RetryableCommitConflictError, match="fragment 0"):
        table.rebase(mine)


def test_a_fragment_whose_rows_are_all_deleted_by_both_together_is_removed() -> None:
    table = Table.new()
    front, back = set(range(ROWS // 2)), set(range(ROWS // 2, ROWS))
    mine = table.delete({0: front, 1: {0}})
    table.commit(table.delete({0: back}), {0: back})
    merged = table.rebase(mine)
    assert isinstance(merged.operation, Delete)
    assert merged.operation.deleted_fragment_ids == (0,)
    assert [fragment.id for fragment in merged.operation.updated_fragments] == [1]
    assert table.rebase(merged) is merged
    table.commit(merged, {0: front, 1: {0}})
    assert table.stored() == {1: {0}}


def test_rebasing_again_after_a_lost_race_merges_nothing_twice() -> None:
    table = Table.new()
    mine = table.delete({0: {1}})
    for row in (2, 3, 4):
        table.commit(table.delete({0: {row}}), {0: {row}})
        mine = table.rebase(mine)
        assert table.rebase(mine) is mine
    table.commit(mine, {0: {1}})
    assert table.stored() == {0: {1, 2, 3, 4}, 1: set()}


def test_rebasing_over_several_versions_at_once_is_the_same_as_over_each() -> None:
    table = Table.new()
    mine = table.delete({0: {1}})
    for row in (2, 3, 4):
        table.commit(table.delete({0: {row}}), {0: {row}})
    table.commit(table.rebase(mine), {0: {1}})
    assert table.stored() == {0: {1, 2, 3, 4}, 1: set()}


def test_an_update_of_rows_is_rebased_and_keeps_its_new_fragments() -> None:
    table = Table.new()
    plan = table.delete({0: {1}}).operation
    assert isinstance(plan, Delete)
    added = new_fragment(1)
    update = Update((), plan.updated_fragments, (added,), affected_rows=plan.affected_rows)
    rest = set(range(ROWS)) - {1}
    table.commit(table.delete({0: rest}), {0: rest})
    merged = table.rebase(Transaction(1, "u", update)).operation
    assert isinstance(merged, Update)
    assert merged.removed_fragment_ids == (0,)
    assert merged.updated_fragments == ()
    assert merged.new_fragments == (added,)


def test_changes_whose_rows_are_not_known_and_other_changes_are_left_alone() -> None:
    table = Table.new()
    delete = table.delete({0: {1}})
    assert isinstance(delete.operation, Delete)
    unknown = replace(delete, operation=replace(delete.operation, affected_rows=None))
    append = Transaction(1, "u", Append((new_fragment(),)))
    table.commit(table.delete({0: {2}}), {0: {2}})
    assert table.rebase(unknown) is unknown
    assert table.rebase(append) is append


def test_a_count_that_a_table_does_not_have_is_settled_by_reading() -> None:
    table = Table.new()
    table.commit(table.delete({0: {5}}), {0: {5}})
    mine = table.delete({0: {1}})
    assert isinstance(mine.operation, Delete)
    (fragment,) = mine.operation.updated_fragments
    assert fragment.deletion_file is not None
    countless = replace(fragment.deletion_file, num_deleted_rows=None)
    mine = replace(
        mine,
        operation=replace(
            mine.operation, updated_fragments=(replace(fragment, deletion_file=countless),)
        ),
    )
    table.commit(table.rebase(mine), {0: {1}})
    assert table.stored() == {0: {1, 5}, 1: set()}


def test_many_deletions_become_a_bitmap() -> None:
    table = Table.new(rows=10_000)
    mine = table.delete({0: set(range(0, 6000, 2))})
    theirs = set(range(1, 6000, 2))
    table.commit(table.delete({0: theirs}), {})
    merged = table.rebase(mine).operation
    assert isinstance(merged, Delete)
    file = merged.updated_fragments[0].deletion_file
    assert file is not None
    assert (file.file_type.value, file.num_deleted_rows) == ("bin", 6000)


def test_a_failing_store_means_not_committed() -> None:
    for method in ("get", "put"):
        table = Table.new()
        mine = table.delete({0: {1}})
        table.commit(table.delete({0: {2}}), {0: {2}})
        before = list_paths(table.store, "")
        table.store = FaultyStore(table.store, [FaultRule(Refused(), method)])
        with pytest.raises(CommitError, match="not committed"):
            table.rebase(mine)
        assert list_paths(table.store, "") == before


def test_a_broken_or_missing_deletion_file_is_an_error_that_says_so() -> None:
    table = Table.new()
    mine = table.delete({0: {1}})
    table.commit(table.delete({0: {2}}), {0: {2}})
    file = table.newest.manifest.fragments[0].deletion_file
    assert file is not None
    path = file.store_path(0)
    table.store.put(path, b"garbage")
    with pytest.raises(CorruptFileError, match="_deletions/0-1-"):
        table.rebase(mine)
    table.store.delete(path)
    with pytest.raises(RetryableCommitConflictError, match="fragment 0"):
        table.rebase(mine)


ROW_SETS = st.dictionaries(
    st.sampled_from([0, 1]),
    st.sets(st.integers(0, ROWS - 1), min_size=1),
    min_size=1,
)


@settings(max_examples=100)
@given(st.lists(st.tuples(ROW_SETS, st.integers(0, 9), st.sets(st.integers(0, 9))), max_size=10))
def test_any_interleaving_of_deletes_ends_as_sets_do(
    steps: list[tuple[dict[int, set[int]], int, set[int]]],
) -> None:
    """Each delete reads some version, is rebased at some later ones and at last at the newest."""
    table = Table.new()
    for wanted, back, stops in steps:
        start = max(0, len(table.versions) - 1 - back)
        found = table.deleted[start]
        rows = {f: chosen - found[f] for f, chosen in wanted.items() if f in found}
        rows = {f: chosen for f, chosen in rows.items() if chosen}
        change = table.delete(rows, start)
        now = table.deleted[-1]
        disjoint = all(f in now and not (chosen & now[f]) for f, chosen in rows.items())
        try:
            for stop in range(start, len(table.versions)):
                if stop in stops:
                    change = table.rebase(change, stop)
            change = table.rebase(change)
        except RetryableCommitConflictError:
            assert not disjoint
            continue
        assert disjoint
        table.commit(change, rows)
        assert table.stored() == table.deleted[-1]
