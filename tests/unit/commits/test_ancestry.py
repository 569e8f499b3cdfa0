"""Whether a version that was published counts as part of the history, by what others made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lance_core.commits.ancestry import Doubt, is_continued, is_in_history
from lance_core.commits.base import Candidate
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version, read_version
from lance_core.commits.loop import commit_transaction
from lance_core.errors import StoreError
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.table.fragments.deletion import encode_deletions
from lance_core.table.fragments.deletion_file import DeletionFile
from lance_core.table.indices.index_metadata import IndexMetadata
from lance_core.table.manifest.file import serialize_manifest_file
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import NamingScheme, manifest_path
from lance_core.table.transactions.apply import CommitFacts, apply
from lance_core.table.transactions.operations import (
    CreateIndex,
    Delete,
    Operation,
    Overwrite,
    ReserveFragments,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
)
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import IMPATIENT, append, creation
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused
from tests.each_case import each_case

EVERY = list(Doubt)
Make = Callable[[ObjectStore, Version], Operation]


def appending(store: ObjectStore, base: Version) -> Operation:
    return append(1).operation


def overwriting(store: ObjectStore, base: Version) -> Operation:
    created = creation().operation
    assert isinstance(created, Overwrite)
    return replace(created, schema=base.file.manifest.schema)


def configuring(key: str, value: str | None) -> Make:
    return lambda store, base: UpdateConfig(config=UpdateMap({key: value}))


def reserving(store: ObjectStore, base: Version) -> Operation:
    return ReserveFragments(1)


def removing(store: ObjectStore, base: Version) -> Operation:
    return Delete((), (0,), "")


def deleting(*rows: int) -> Make:
    """Deletes rows of the first fragment, besides those that are deleted already."""

    def make(store: ObjectStore, base: Version) -> Operation:
        fragment = base.file.manifest.fragments[0]
        kind, data = encode_deletions(np.array(rows, np.uint32))
        number = IMPATIENT.new_uuid().int & ((1 << 64) - 1)
        file = DeletionFile(kind, base.location.version, number, len(rows))
        store.put(file.store_path(fragment.id), data)
        return Delete((replace(fragment, deletion_file=file),), (), "")

    return make


class Table:
    """A table of one version; ``base`` is its newest one when a writer is stopped."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.handler = PutIfAbsentCommitHandler(self.store)
        self.base = self.commit(creation())
        self.base = self.commit(self.next(self.base, configuring("old", "1")))

    def next(self, base: Version, make: Make) -> Transaction:
        uuid = str(IMPATIENT.new_uuid())
        return Transaction(base.location.version, uuid, make(self.store, base))

    def commit(self, transaction: Transaction) -> Version:
        return commit_transaction(
            self.handler, self.store, transaction, None, environment=IMPATIENT
        )

    def follow(self, version: Version, *makes: Make) -> Version:
        for make in makes:
            version = self.commit(self.next(version, make))
        return version

    def publish_late(self, make: Make) -> Version:
        """What a writer publishes who saw ``base`` as the newest, where its number is free."""
        transaction = self.next(self.base, make)
        file = apply(self.base.file, transaction, CommitFacts(1))
        number = file.manifest.version
        candidate = Candidate(
            number,
            NamingScheme.V2,
            serialize_manifest_file(file),
            transaction.uuid,
            transaction.to_bytes(),
        )
        return Version(file, self.handler.commit(candidate))

    def remove(self, *versions: int) -> None:
        for version in versions:
            self.store.delete(manifest_path(version))

    def is_continued(self, ours: Version, doubt: Doubt) -> bool:
        found = is_in_history(self.handler, self.store, ours, doubt)
        made = is_continued(self.handler, self.store, ours, self.base.file, doubt)
        there = [location.version for location in self.handler.list_versions()]
        if self.base.location.version in there:
            assert found is made
        return made


CHANGES: dict[str, Make] = {
    "append": appending,
    "overwrite": overwriting,
    "config": configuring("a", "b"),
    "unset": configuring("old", None),
    "deletions": deleting(1, 2),
    "removal": removing,
}


@each_case("change", [*CHANGES, "reservation"])
def test_a_version_past_which_others_have_gone_is_not_continued(change: str) -> None:
    """They appended, and a cleanup removed all but so many of the newest versions."""
    make = {**CHANGES, "reservation": reserving}[change]
    for kept in (1, 2):
        table = Table()
        table.follow(table.base, *[appending] * 3)
        table.remove(*range(1, 6 - kept))
        ours = table.publish_late(make)
        is_told = change == "reservation" and kept == 2  # nothing shows that it is not
        doubts = [Doubt.SLOW, Doubt.LATE] if is_told else EVERY
        assert [table.is_continued(ours, doubt) for doubt in doubts] == [False] * len(doubts)


@each_case("change", CHANGES)
def test_a_version_that_others_have_followed_is_continued(change: str) -> None:
    for followers in ([], [appending], [configuring("c", "d"), appending, reserving]):
        table = Table()
        ours = table.publish_late(CHANGES[change])
        table.follow(ours, *followers)
        assert table.is_continued(ours, Doubt.PROMPT)
        assert table.is_continued(ours, Doubt.SLOW)
        shows_nothing = change == "removal" and followers
        assert table.is_continued(ours, Doubt.LATE) is not bool(shows_nothing)


def test_of_what_was_changed_again_a_prompt_or_slow_version_is_continued() -> None:
    pairs: list[tuple[Make, Make]] = [
        (appending, overwriting),
        (deleting(1, 2), overwriting),
        (configuring("a", "b"), configuring("a", "c")),
        (deleting(1, 2), deleting(1, 2, 3)),
    ]
    for ours_made, then in pairs:
        table = Table()
        ours = table.publish_late(ours_made)
        table.follow(ours, then)
        found = [table.is_continued(ours, doubt) for doubt in EVERY]
        assert found == [True, True, False]


def test_a_version_whose_index_the_next_one_removes_is_continued() -> None:
    first, second = (IndexMetadata(IMPATIENT.new_uuid(), name, (0,)) for name in "ab")
    for removed in (first, second):
        table = Table()
        table.base = table.follow(table.base, lambda *_: CreateIndex((second,)))
        made = table.follow(table.base, lambda *_: CreateIndex((first,)))
        table.follow(made, lambda *_, one=removed: CreateIndex((), (one,)))
        assert table.is_continued(made, Doubt.PROMPT)
        assert table.is_continued(made, Doubt.SLOW)
    table = Table()
    table.base = table.follow(table.base, lambda *_: CreateIndex((second,)))
    table.follow(table.base, reserving, lambda *_: CreateIndex((), (second,)))
    table.remove(table.base.location.version + 1)
    late = table.publish_late(lambda *_: CreateIndex((first,)))
    assert not any(table.is_continued(late, doubt) for doubt in EVERY)


def test_deletions_that_the_newest_version_lacks_show_nothing() -> None:
    table = Table()
    table.follow(table.base, appending, deleting(1, 3))
    table.remove(1, 2, 3)
    ours = table.publish_late(deleting(1, 2))
    assert not any(table.is_continued(ours, doubt) for doubt in EVERY)


def test_deletions_that_are_kept_elsewhere_show_nothing() -> None:
    def elsewhere(store: ObjectStore, base: Version) -> Operation:
        """The table's own store has a file of the same name, which is another one."""
        made = deleting(1, 2, 3)(store, base)
        assert isinstance(made, Delete)
        (fragment,) = made.updated_fragments
        assert fragment.deletion_file is not None
        file = replace(fragment.deletion_file, base_id=7)
        return Delete((replace(fragment, deletion_file=file),), (), "")

    table = Table()
    place = UpdateBases((BasePath(7, "memory://elsewhere"),))
    table.follow(table.base, lambda store, base: place, elsewhere)
    table.remove(1, 2, 3)
    ours = table.publish_late(deleting(1, 2))
    assert not any(table.is_continued(ours, doubt) for doubt in EVERY)


def test_a_setting_that_others_left_otherwise_shows_nothing() -> None:
    table = Table()
    table.follow(table.base, configuring("a", "b"), configuring("c", "d"), appending)
    table.remove(1, 2, 3, 4)
    both = UpdateConfig(config=UpdateMap({"a": "b", "c": "x"}))
    ours = table.publish_late(lambda store, base: both)
    assert not any(table.is_continued(ours, doubt) for doubt in EVERY)


def test_a_table_that_cannot_be_looked_at_shows_nothing() -> None:
    table = Table()
    ours = table.publish_late(appending)
    store = FaultyStore(table.store)
    handler = PutIfAbsentCommitHandler(store)
    store.set_rules([FaultRule(Refused(), "list*", "*")])
    with pytest.raises(StoreError):
        handler.latest()
    for doubt in EVERY:
        with pytest.raises(StoreError, match="refused"):
            is_continued(handler, store, ours, table.base.file, doubt)
        assert not is_in_history(handler, store, ours, doubt)


def test_a_table_that_was_dropped_does_not_continue_a_version() -> None:
    table = Table()
    ours = table.publish_late(appending)
    table.remove(1, 2, 3)
    assert not any(table.is_continued(ours, doubt) for doubt in EVERY)


def test_another_version_of_the_same_number_is_not_it() -> None:
    table = Table()
    ours = table.publish_late(appending)
    table.remove(3)
    table.follow(table.base, overwriting)
    assert not table.is_continued(ours, Doubt.SLOW)
    assert not table.is_continued(ours, Doubt.LATE)


def test_a_version_whose_manifest_is_written_again_is_continued() -> None:
    table = Table()
    ours = table.publish_late(appending)
    ours = replace(ours, location=table.handler.locate(ours.location.version))
    path = ours.location.path
    table.store.put(path, bytes(table.store.get(path)))
    assert None not in (ours.location.etag, table.store.head(path).etag)
    assert table.store.head(path).etag != ours.location.etag
    assert all(table.is_continued(ours, doubt) for doubt in EVERY)


def test_of_a_version_whose_base_is_gone_its_new_files_tell() -> None:
    for kept, is_told in (((3, 4, 5), True), ((3, 5), True)):
        table = Table()
        ours = table.publish_late(appending)
        table.follow(ours, appending, appending)
        table.remove(*{1, 2, 3, 4, 5}.difference(kept))
        assert is_in_history(table.handler, table.store, ours, Doubt.LATE) is is_told
    table = Table()
    table.follow(table.base, appending, appending, appending)
    table.remove(1, 2, 3, 4)
    ours = table.publish_late(appending)
    assert not is_in_history(table.handler, table.store, ours, Doubt.PROMPT)
    again = read_version(table.store, table.handler.locate(3))
    assert not is_in_history(table.handler, table.store, again, Doubt.PROMPT)
