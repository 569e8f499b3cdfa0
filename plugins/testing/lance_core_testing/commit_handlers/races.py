"""Part of the contract of commit handlers: exactly one of several writers publishes a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from lance_core.commits.loop import commit_transaction
from lance_core.errors import DatasetExistsError, ObjectExistsError
from lance_core.hookspecs.commits import Candidate, CommitHandler
from lance_core.hookspecs.stores import ObjectStore, StoreCall, StoreWrapper
from lance_core_testing.assertions import check_bytes
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.processes import (
    PROCESSES,
    Attempt,
    Wait,
    race_overtaken,
    race_processes,
)
from lance_core_testing.sample_transactions import (
    PATIENT,
    append,
    creation,
    first_candidate,
    history,
)
from lance_core_testing.threads import race_threads

WRITERS = 6
ROUNDS = 10

HEAD_START = 0.2
"""Maximum seconds for which a writer is paused to be overtaken; it may hold a lock that the other
writer needs."""

T = TypeVar("T")

MakeHandler: TypeAlias = Callable[[ObjectStore], CommitHandler]
"""Creates a handler of the table at the root of the store."""


@dataclass(frozen=True)
class OpenTable:
    """Creates a store and a handler of one table; picklable."""

    open_store: OpenStore
    make_handler: MakeHandler

    def __call__(self) -> tuple[ObjectStore, CommitHandler]:
        store = self.open_store()
        return store, self.make_handler(store)


class RaceTests:
    """Threads with a handler each, and processes."""

    def test_of_two_writers_one_wins_whenever_one_overtakes_the_other(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        # For version n, the other writer commits right before our nth call.
        version, was_overtaken = 0, True
        while was_overtaken:
            version += 1
            ours, theirs = first_candidate(version=version), first_candidate(version=version)
            with ThreadPoolExecutor(1) as pool:
                start_rival = partial(pool.submit, _sent, make_handler(store), theirs)
                overtaken = Overtaken(store, version, start_rival)
                won = _sent(make_handler(overtaken), ours)
                rival = overtaken.rival
                lost = rival is not None and rival.result()
            was_overtaken = rival is not None
            assert won != lost, (
                f"a rival committed version {version} right before call {version} to the store: "
                f"{'both writers were' if won else 'no writer was'} told that it won; exactly one "
                "must be"
            )
            path = make_handler(store).locate(version).path
            doing = f"the manifest of version {version}, which one writer was told it made,"
            check_bytes(store.get(path), (ours if won else theirs).data, doing)

    def test_of_racing_candidates_exactly_one_becomes_the_version(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        for version in range(1, ROUNDS + 1):
            candidates = [first_candidate(version=version) for _ in range(WRITERS)]

            def send(writer: int, candidates: list[Candidate] = candidates) -> bool:
                return _sent(make_handler(store), candidates[writer])

            won = race_threads(send, WRITERS)
            winners = [writer for writer, has_won in enumerate(won) if has_won]
            _check_one(winners, f"version {version}", f"{WRITERS} threads")
            path = make_handler(store).locate(version).path
            doing = f"the manifest of version {version}, which one thread was told it made,"
            check_bytes(store.get(path), candidates[winners[0]].data, doing)

    def test_of_racing_creators_exactly_one_makes_the_table(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        transactions = [creation() for _ in range(WRITERS)]

        def create(writer: int) -> bool:
            try:
                commit_transaction(make_handler(store), store, transactions[writer])
            except DatasetExistsError:
                return False
            return True

        won = race_threads(create, WRITERS)
        winners = [writer for writer, has_won in enumerate(won) if has_won]
        _check_one(winners, "the table", f"{WRITERS} threads")
        uuids = history(make_handler(store), store)
        assert uuids == [transactions[winners[0]].uuid], (
            "the table must have one version, made by the writer that was told so"
        )

    def test_racing_appends_all_succeed_and_none_is_lost_or_doubled(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        first = creation()
        base = commit_transaction(make_handler(store), store, first)

        def write(_: int) -> list[str]:
            handler, version, made = make_handler(store), base, []
            for _ in range(ROUNDS // 2):
                transaction = append(version.location.version)
                version = commit_transaction(handler, store, transaction, version, PATIENT)
                made.append(transaction.uuid)
            return made

        made = race_threads(write, WRITERS)
        _check_history(history(make_handler(store), store), first.uuid, made)

    def test_of_candidates_of_racing_processes_exactly_one_becomes_the_version(
        self, store: ObjectStore, make_handler: MakeHandler, shared_table: OpenTable
    ) -> None:
        for winners in race_overtaken(_Attempts(shared_table)):
            assert len(winners) == 1, (
                "one process was stopped in the middle of a commit while another committed the "
                f"same version, and {len(winners)} of them were told that they made it; exactly "
                "one must be"
            )
        won = race_processes(_Sending(shared_table))
        for version in range(1, ROUNDS + 1):
            contents = [sent[version] for sent in won if version in sent]
            winners = [writer for writer, sent in enumerate(won) if version in sent]
            _check_one(winners, f"version {version}", f"{PROCESSES} processes")
            path = make_handler(store).locate(version).path
            doing = f"the manifest of version {version}, which one process was told it made,"
            check_bytes(store.get(path), contents[0], doing)

    def test_appends_of_racing_processes_all_succeed_and_none_is_lost_or_doubled(
        self, store: ObjectStore, make_handler: MakeHandler, shared_table: OpenTable
    ) -> None:
        first = creation()
        commit_transaction(make_handler(store), store, first)
        made = race_processes(_Appending(shared_table))
        _check_history(history(make_handler(store), store), first.uuid, made)


@dataclass(frozen=True)
class _Attempts:
    """Attempts to commit versions with higher numbers than those of the race."""

    open_table: OpenTable

    def __call__(self) -> Attempt:
        _, handler = self.open_table()
        return lambda _, number: _sent(handler, first_candidate(version=number + ROUNDS + 1))


@dataclass(frozen=True)
class _Sending:
    """Commits a candidate for each version; returns the manifests that were acknowledged."""

    open_table: OpenTable

    def __call__(self, writer: int, wait: Wait) -> dict[int, bytes]:
        _, handler = self.open_table()
        won = {}
        for version in range(1, ROUNDS + 1):
            candidate = first_candidate(version=version)
            wait()
            if _sent(handler, candidate):
                won[version] = candidate.data
        return won


@dataclass(frozen=True)
class _Appending:
    """Appends several times; returns the uuids of acknowledged commits."""

    open_table: OpenTable

    def __call__(self, writer: int, wait: Wait) -> list[str]:
        store, handler = self.open_table()
        version, made = None, []
        wait()
        for _ in range(ROUNDS // 2):
            transaction = append(1 if version is None else version.location.version)
            version = commit_transaction(handler, store, transaction, version, PATIENT)
            made.append(transaction.uuid)
        return made


class Overtaken(StoreWrapper):
    """Starts a rival right before the nth call, counted from 1, and lets it run first."""

    def __init__(
        self, inner: ObjectStore, before: int, start_rival: Callable[[], Future[bool]]
    ) -> None:
        super().__init__(inner)
        self._left = before
        self._start_rival = start_rival
        self.rival: Future[bool] | None = None

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        self._left -= 1
        if self._left == 0:
            self.rival = self._start_rival()
            wait([self.rival], HEAD_START)
        return run()


def _sent(handler: CommitHandler, candidate: Candidate) -> bool:
    """True if the handler reports that it published the candidate."""
    try:
        handler.commit(candidate)
    except ObjectExistsError:
        return False
    return True


def _check_one(winners: list[int], what: str, of: str) -> None:
    assert len(winners) == 1, (
        f"writers {winners} of {of} were told that they made {what}; exactly one must be"
    )


def _check_history(stored: Sequence[str], first: str, made: Sequence[Sequence[str]]) -> None:
    """Check that the history is the creation and then every acknowledged append once."""
    acknowledged = [uuid for uuids in made for uuid in uuids]
    lost = [uuid for uuid in acknowledged if uuid not in stored]
    assert not lost, (
        f"{len(acknowledged)} appends were acknowledged, and {len(lost)} of them are in no "
        "version; every acknowledged commit must be in the history"
    )
    assert len(set(stored)) == len(stored), f"a transaction is in the history twice: {stored}"
    assert sorted(stored) == sorted([first, *acknowledged]), (
        f"the history has {len(stored)} versions; it must have those of {len(acknowledged) + 1} "
        "acknowledged commits, and no others"
    )
    assert stored[0] == first, "the oldest version must be the one that made the table"
