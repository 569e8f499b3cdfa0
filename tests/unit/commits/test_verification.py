"""Files and versions that others removed while a writer was at work, and what looking costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.new_files import new_files
from lance_core.commits.options import FRESH, SLOW, CommitOptions, slow_after
from lance_core.errors import CommitError, CommitFileMissingError, CommitUnknownError
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.transactions.operations import Append, Overwrite, Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core.testing.sample_transactions import append, creation, history
from tests.each_case import each_case
from tests.virtual_time import VirtualTime

T = TypeVar("T")


class Remote(StoreWrapper):
    """A store whose calls count; something may happen and time may pass before one of them."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.time = VirtualTime()
        self.counts: Counter[str] = Counter()
        self.before: dict[str, Callable[[], object]] = {}

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        self.counts[call.method] += 1
        folder = call.path.partition("/")[0]
        happens = self.before.pop(f"{call.method} {folder}", None)
        if happens is not None:
            happens()
        return run()


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
