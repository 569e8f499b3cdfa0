"""Files and versions that others removed while a writer was at work, and what looking costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.new_files import new_files
from lance_core.commits.options import FRESH, SLOW, CommitOptions, slow_after
from lance_core.errors import (
    CommitError,
    CommitFileMissingError,
    CommitUnknownError,
    DatasetExistsError,
    DatasetNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import Buffers, ObjectStore, PutMode
from lance_core.store.local import LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.paths import manifest_path
from lance_core.table.transactions.operations import Append, Overwrite, Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.sample_transactions import append, creation, history
from tests.each_case import each_case
from tests.unit.decoded_fragments import decoded_fragments
from tests.virtual_time import VirtualTime

T = TypeVar("T")


class Remote(StoreWrapper):
    """A store whose calls count; something may happen and time may pass before or after one."""

    def __init__(self, store: ObjectStore | None = None) -> None:
        super().__init__(store or MemoryStore())
        self.time = VirtualTime()
        self.counts: Counter[str] = Counter()
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        self.counts[call.method] += 1
        folder = call.path.partition("/")[0]
        happens = self.before.pop(f"{call.method} {folder}", None)
        if happens is not None:
            happens()
        result = run()
        follows = self.after.pop(f"{call.method} {folder}", None)
        if follows is not None:
            follows()
        return result


class Table:
    """A table of one version on a remote store."""

    def __init__(self) -> None:
        self.store = Remote()
        self.time = self.store.time
        self.base = self.commit(creation())

    def commit(
        self,
        transaction: Transaction,
        age: Callable[[], float] | None = None,
        store: ObjectStore | None = None,
        base: Version | None = None,
    ) -> Version:
        store = store or self.store
        return commit_transaction(
            PutIfAbsentCommitHandler(store),
            store,
            transaction,
            base,
            CommitOptions(age_of_files=age),
            self.time.environment,
        )

    def written(self) -> tuple[Transaction, str]:
        """An append whose data file is there, and the path of that file."""
        transaction = append(1)
        operation = transaction.operation
        assert isinstance(operation, Append)
        path = f"data/{operation.fragments[0].files[0].path}"
        self.store.inner.put(path, bytes(100))
        return transaction, path

    @property
    def versions(self) -> int:
        return len(history(PutIfAbsentCommitHandler(self.store.inner), self.store.inner))


def test_fresh_files_of_a_fast_commit_cost_no_request() -> None:
    table = Table()
    transaction, path = table.written()
    table.store.inner.delete(path)  # nobody looks
    table.store.counts.clear()
    table.commit(transaction, lambda: FRESH, base=table.base)
    assert table.store.counts == {"list": 1, "get": 1, "put": 2}


@each_case("age", [FRESH + 1, 8 * 86400.0, math.inf])
def test_files_that_are_not_fresh_are_looked_for_once(age: float) -> None:
    table = Table()
    transaction, path = table.written()
    table.store.inner.delete(path)
    with pytest.raises(CommitFileMissingError, match="cleanup has removed it") as missing:
        table.commit(transaction, lambda: age)
    assert isinstance(missing.value, CommitError)
    assert isinstance(missing.value, FileNotFoundError)
    assert missing.value.path == path
    assert table.versions == 1
    assert not any(transaction.uuid in meta.path for meta in table.store.inner.list(""))
    table.store.inner.put(path, bytes(100))
    table.store.counts.clear()
    table.commit(transaction, lambda: age, base=table.base)
    assert table.store.counts == {"list": 1, "get": 1, "put": 2, "head": 1}


def test_a_commit_that_starts_again_does_not_look_for_its_files_again() -> None:
    table = Table()
    transaction, _ = table.written()
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        table.store.before["head data"] = look

    table.store.before["head data"] = look
    table.store.before["put _versions"] = lambda: table.commit(append(1), store=table.store.inner)
    assert table.commit(transaction, lambda: FRESH + 1).location.version == 3
    assert len(looks) == 1


@each_case(("seconds", "listings"), [(0.0, 1), (SLOW + 0.1, 2)])
def test_an_overtaken_writer_follows_the_faster_one_at_once(seconds: float, listings: int) -> None:
    """Unless its own attempt was slow: then the newest version is looked for again."""
    table = Table()
    transaction, _ = table.written()

    def faster() -> None:
        table.time.sleep(seconds)
        table.commit(append(1), store=table.store.inner)

    table.store.before["put _versions"] = faster
    table.store.counts.clear()
    made = table.commit(transaction, lambda: FRESH, base=table.base)
    assert made.location.version == 3
    assert table.versions == 3
    assert table.store.counts["list"] == listings
    if listings == 1:
        assert table.store.counts == {"list": 1, "get": 2, "put": 3}


def test_versions_in_between_are_read_with_one_request_each_side_by_side() -> None:
    table = Table()
    transaction, _ = table.written()
    for _ in range(5):
        table.commit(append(1), store=table.store.inner)
    table.store.counts.clear()
    together: list[int] = []

    def each(read: Callable[[int], T], numbers: Iterable[int]) -> Iterator[T]:
        together.extend(numbers)
        return map(read, list(together))

    options = CommitOptions(age_of_files=lambda: FRESH, each=each)
    handler = PutIfAbsentCommitHandler(table.store)
    made = commit_transaction(
        handler, table.store, transaction, table.base, options, table.time.environment
    )
    assert made.location.version == 7
    assert together == [2, 3, 4, 5]
    assert table.store.counts == {"list": 1, "head": 1, "get": 6, "put": 2}


def test_a_file_of_another_size_is_not_committed() -> None:
    table = Table()
    transaction, path = table.written()
    table.store.inner.put(path, bytes(99))
    with pytest.raises(CommitFileMissingError, match="99 bytes instead of 100"):
        table.commit(transaction, lambda: math.inf)
    assert table.versions == 1


def test_a_restore_looks_for_no_files() -> None:
    table = Table()
    transaction, path = table.written()
    store = table.store.inner
    table.commit(transaction, lambda: math.inf, store=store)
    table.commit(replace(creation(), read_version=2), store=store)
    store.delete(path)
    restored = table.commit(Transaction(3, "u", Restore(2)), lambda: math.inf, store=store)
    assert restored.location.version == 4


def test_a_local_commit_always_looks_for_its_files() -> None:
    table = Table()
    transaction, path = table.written()
    table.store.inner.delete(path)
    with pytest.raises(CommitFileMissingError):
        table.commit(transaction, lambda: 0.0, store=table.store.inner)


def test_a_local_version_whose_file_went_while_it_was_published_is_withdrawn() -> None:
    class Losing(MemoryStore):
        """Loses a data file when the next manifest is written."""

        lost = ""

        def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
            super().put(path, data, mode)
            if self.lost and path.startswith("_versions/"):
                self.delete(self.lost)

    table = Table()
    transaction, path = table.written()
    store = Losing(table.store.inner._objects)  # type: ignore[attr-defined]  # a store in memory
    store.lost = path
    with pytest.raises(CommitFileMissingError):
        table.commit(transaction, lambda: 0.0, store=store)
    assert table.versions == 1


def test_a_local_commit_reads_the_size_of_each_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(pa.table({"i": [1]}), tmp_path / "t.lance")
    paths: list[str] = []
    head = LocalStore.head
    monkeypatch.setattr(LocalStore, "head", lambda *a: (paths.append(a[1]), head(*a))[1])
    rows = pa.table({"i": range(30)})
    lance.write_dataset(rows, dataset, mode="append", max_rows_per_file=10)
    assert len([path for path in paths if path.startswith("data/")]) == 3


def test_a_commit_that_was_slow_looks_for_its_files_before_it_publishes() -> None:
    table = Table()
    transaction, path = table.written()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.store.inner.delete(path)

    table.store.before["put _transactions"] = stopped
    with pytest.raises(CommitFileMissingError):
        table.commit(transaction, lambda: 0.0)
    assert table.versions == 1


@each_case("is_followed", [False, True])
def test_the_check_of_a_slow_commit_decodes_only_fragments_that_it_changed(
    monkeypatch: pytest.MonkeyPatch, is_followed: bool
) -> None:
    table = Table()
    (fragment,) = append(1).operation.fragments
    many = tuple(replace(fragment, id=0) for _ in range(300))
    base = table.commit(replace(append(1), operation=Append(many)), store=table.store.inner)

    def follow() -> None:
        table.time.sleep(SLOW + 0.1)
        if is_followed:
            table.commit(append(base.location.version + 1), store=table.store.inner)

    table.store.after["put _versions"] = follow
    with decoded_fragments(monkeypatch) as calls:
        made = table.commit(append(base.location.version), base=base)
    assert made.location.version == base.location.version + 1
    assert table.versions == made.location.version + is_followed
    assert sum(calls) < 10


def test_a_version_whose_file_went_while_it_was_published_is_withdrawn() -> None:
    table = Table()
    transaction, path = table.written()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.store.inner.delete(path)

    table.store.before["put _versions"] = stopped
    with pytest.raises(CommitFileMissingError):
        table.commit(transaction, lambda: 0.0)
    assert table.versions == 1


def test_a_version_without_its_file_whose_request_may_take_effect_later_is_not_withdrawn() -> None:
    table = Table()
    transaction, path = table.written()

    def answer_is_lost() -> None:
        table.time.sleep(SLOW + 0.1)
        table.store.inner.delete(path)
        raise OutcomeUnknownError("no answer")

    table.store.after["put _versions"] = answer_is_lost
    with pytest.raises(CommitUnknownError, match="cannot be read") as unknown:
        table.commit(transaction, lambda: 0.0)
    assert unknown.value.stalled
    assert (unknown.value.transaction_uuid, unknown.value.version) == (transaction.uuid, 2)
    assert table.versions == 2


def test_a_version_that_is_still_there_after_its_withdrawal_is_unknown() -> None:
    table = Table()
    transaction, path = table.written()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.store.inner.delete(path)

    def sent_again() -> None:
        last = max(meta.path for meta in table.store.inner.list("_transactions"))
        table.store.inner.put(manifest_path(2), table.store.inner.get(last))

    table.store.before["put _versions"] = stopped
    table.store.after["delete _versions"] = sent_again
    with pytest.raises(CommitUnknownError, match="cannot be read"):
        table.commit(transaction, lambda: 0.0)


def test_a_version_in_a_manifest_store_is_not_withdrawn() -> None:
    store, rows, time = MemoryStore(), MemoryManifestStore(), VirtualTime()
    remote = Remote(store)

    def commit(transaction: Transaction) -> Version:
        handler = ExternalManifestCommitHandler(remote, rows, "data/table.lance")
        options = CommitOptions(age_of_files=lambda: 0.0)
        return commit_transaction(handler, remote, transaction, None, options, time.environment)

    def stopped() -> None:
        time.sleep(SLOW + 0.1)
        store.delete(path)

    operation = creation().operation
    assert isinstance(operation, Overwrite)
    path = f"data/{operation.fragments[0].files[0].path}"
    store.put(path, bytes(100))
    remote.before["put _versions"] = stopped
    with pytest.raises(CommitUnknownError, match="cannot be read"):
        commit(Transaction(0, "u", operation))
    newest = ExternalManifestCommitHandler(store, rows, "data/table.lance").latest()
    assert newest is not None
    assert newest.version == 1


def test_a_fast_commit_through_a_manifest_store_looks_for_no_files_even_where_looks_are_free() -> (
    None
):
    store = MemoryStore()
    handler = ExternalManifestCommitHandler(store, MemoryManifestStore(), "data/table.lance")
    options = CommitOptions(age_of_files=lambda: 0.0)
    assert commit_transaction(handler, store, creation(), None, options).location.version == 1


def test_a_version_without_its_file_whose_withdrawal_fails_is_not_withdrawn() -> None:
    table = Table()
    transaction, path = table.written()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.store.inner.delete(path)

    def fail() -> None:
        raise StoreError("busy")

    table.store.before["put _versions"] = stopped
    table.store.before["delete _versions"] = fail
    with pytest.raises(CommitUnknownError, match="cannot be read"):
        table.commit(transaction, lambda: 0.0)
    assert table.versions == 2


def test_a_check_of_published_files_that_fails_denies_no_commit() -> None:
    table = Table()
    transaction, _ = table.written()

    def fail() -> None:
        raise StoreError("busy")

    table.store.after["put _versions"] = lambda: table.time.sleep(SLOW + 0.1)
    table.store.before["head data"] = fail
    assert table.commit(transaction, lambda: 0.0).location.version == 2
    assert "head data" not in table.store.before


def test_a_writer_without_new_files_of_its_own_looks_for_none() -> None:
    table = Table()
    transaction, path = table.written()
    table.store.inner.delete(path)
    table.store.before["put _transactions"] = lambda: table.time.sleep(SLOW + 0.1)
    assert table.commit(transaction, None).location.version == 2
    assert table.store.counts["head"] == 0


def test_a_version_without_its_file_that_others_have_followed_is_not_withdrawn() -> None:
    table = Table()
    transaction, path = table.written()
    table.store.before["put _versions"] = lambda: table.time.sleep(SLOW + 0.1)

    def others_follow() -> None:
        table.store.inner.delete(path)
        table.commit(append(2), store=table.store.inner)

    table.store.before["head data"] = lambda: table.store.before.update(
        {"head data": others_follow}
    )
    table.store.before["put _transactions"] = lambda: table.time.sleep(SLOW + 0.1)
    with pytest.raises(CommitUnknownError, match="cannot be read"):
        table.commit(transaction, lambda: 0.0)
    assert table.versions == 3


def test_a_slow_commit_that_others_overtook_goes_on_from_theirs() -> None:
    table = Table()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.commit(append(1), store=table.store.inner)

    table.store.before["put _transactions"] = stopped
    made = table.commit(append(1))
    assert made.location.version == 3
    assert table.versions == 3


def test_a_slow_creation_goes_on_if_there_is_no_table_yet() -> None:
    table = Table()
    table.store.inner.delete(table.base.location.path)
    table.store.before["put _transactions"] = lambda: table.time.sleep(SLOW + 0.1)
    assert table.commit(creation()).location.version == 1


def test_a_slow_creation_that_another_overtook_sends_no_manifest() -> None:
    table = Table()
    table.store.inner.delete(table.base.location.path)

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        table.commit(creation(), store=table.store.inner)

    table.store.before["put _transactions"] = stopped
    table.store.counts.clear()
    with pytest.raises(DatasetExistsError):
        table.commit(creation())
    assert table.store.counts["put"] == 1
    assert table.versions == 1


def test_a_slow_commit_does_not_bring_back_a_table_that_was_dropped() -> None:
    table = Table()

    def stopped() -> None:
        table.time.sleep(SLOW + 0.1)
        for meta in list(table.store.inner.list("")):
            table.store.inner.delete(meta.path)

    table.store.before["put _transactions"] = stopped
    with pytest.raises(DatasetNotFoundError):
        table.commit(append(1))
    assert PutIfAbsentCommitHandler(table.store.inner).latest() is None


class Before(PutIfAbsentCommitHandler):
    """Something happens just before the first manifest is published, in no time."""

    def __init__(self, store: ObjectStore, happens: Callable[[], object]) -> None:
        super().__init__(store)
        self.happens: Callable[[], object] | None = happens

    def commit(self, candidate: Candidate) -> ManifestLocation:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().commit(candidate)


def test_a_fast_local_commit_in_a_gap_of_the_history_is_not_acknowledged() -> None:
    table = Table()
    store = table.store.inner

    def others_go_on_and_clean_up() -> None:
        made = [table.commit(append(n), store=store) for n in (1, 2, 3)]
        for version in (table.base, *made[:-1]):
            store.delete(version.location.path)

    with pytest.raises(CommitUnknownError) as unknown:
        commit_transaction(Before(store, others_go_on_and_clean_up), store, append(1))
    assert unknown.value.stalled


def test_a_fast_local_commit_whose_file_went_while_it_was_published_is_withdrawn() -> None:
    table = Table()
    store = table.store.inner
    transaction, path = table.written()
    handler = Before(store, lambda: store.delete(path))
    options = CommitOptions(age_of_files=lambda: 0.0)
    with pytest.raises(CommitFileMissingError):
        commit_transaction(handler, store, transaction, None, options)
    assert table.versions == 1


def test_a_slow_commit_that_a_cleanup_of_others_overtook_is_not_acknowledged() -> None:
    """Their cleanup removes whatever has a successor; the number is free when it is taken."""
    for place in ("put _transactions", "put _versions"):
        table = Table()

        def stopped(table: Table = table) -> None:
            table.time.sleep(SLOW + 0.1)
            made = [table.commit(append(n), store=table.store.inner) for n in (1, 2, 3)]
            for version in (table.base, *made[:-1]):
                table.store.inner.delete(version.location.path)

        table.store.before[place] = stopped
        with pytest.raises(CommitError) as told:
            table.commit(append(1))
        assert isinstance(told.value, CommitUnknownError) is (place == "put _versions")
        newest = PutIfAbsentCommitHandler(table.store).latest()
        assert newest is not None
        assert newest.version == 4


def test_a_slow_commit_that_nobody_overtook_is_acknowledged_after_two_more_looks() -> None:
    table = Table()
    table.store.before["put _transactions"] = lambda: table.time.sleep(SLOW + 0.1)
    table.store.counts.clear()
    assert table.commit(append(1), base=table.base).location.version == 2
    assert table.store.counts == {"list": 4, "get": 2, "put": 2}


@each_case(("usual", "seconds"), [(0.0, 0.1), (0.005, 0.1), (0.03, 0.3), (0.1, 1.0), (5.0, 1.0)])
def test_an_attempt_is_slow_after_a_second_or_ten_times_the_usual(
    usual: float, seconds: float
) -> None:
    assert slow_after(usual) == pytest.approx(seconds)


def test_new_files_are_those_that_the_version_before_does_not_name() -> None:
    table = Table()
    first = new_files(table.base.file, None)
    made = table.commit(append(1))
    assert {file.path for file in new_files(made.file, table.base.file)}.isdisjoint(
        file.path for file in first
    )
    assert len(new_files(made.file, None)) == 2
    assert new_files(made.file, made.file) == []
    transaction = creation()
    operation = transaction.operation
    assert isinstance(operation, Overwrite)
    again = table.commit(Transaction(2, transaction.uuid, operation))
    assert [file.size for file in new_files(again.file, made.file)] == [100]
