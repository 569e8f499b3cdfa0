"""Part of the contract of commit handlers: of any number of writers exactly one makes a version."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Barrier
from typing import TypeVar

from lance_core.commits.attempt import commit_transaction
from lance_core.commits.base import Candidate, CommitHandler
from lance_core.errors import DatasetExistsError, ObjectExistsError
from lance_core.store.base import ObjectStore
from lance_core.store.wrapper import StoreCall, StoreWrapper
from lance_core.testing.sample_transactions import (
    PATIENT,
    append,
    creation,
    first_candidate,
    history,
)

WRITERS = 6
ROUNDS = 10

HEAD_START = 0.2
"""Seconds that an overtaking writer gets before the other goes on: one of them may have locked."""

T = TypeVar("T")


class RaceTests:
    """Threads with a handler each."""

    def test_of_two_writers_one_wins_whenever_one_overtakes_the_other(
        self, store: ObjectStore, make_handler: Callable[[ObjectStore], CommitHandler]
    ) -> None:
        # Of version n, the other one is committed right before the nth call of ours.
        version, was_overtaken = 0, True
        while was_overtaken:
            version += 1
            ours, theirs = first_candidate(version=version), first_candidate(version=version)
            with ThreadPoolExecutor(1) as pool:
                start_rival = partial(pool.submit, _sent, make_handler(store), theirs)
                overtaken = _Overtaken(store, version, start_rival)
                won = _sent(make_handler(overtaken), ours)
                rival = overtaken.rival
                lost = rival is not None and rival.result()
            was_overtaken = rival is not None
            assert won != lost
            path = make_handler(store).locate(version).path
            assert bytes(store.get(path)) == (ours if won else theirs).data

    def test_of_racing_candidates_exactly_one_becomes_the_version(
        self, store: ObjectStore, make_handler: Callable[[ObjectStore], CommitHandler]
    ) -> None:
        for version in range(1, ROUNDS + 1):
            candidates = [first_candidate(version=version) for _ in range(WRITERS)]

            def send(writer: int, candidates: list[Candidate] = candidates) -> bool:
                return _sent(make_handler(store), candidates[writer])

            won = race(send)
            assert won.count(True) == 1
            path = make_handler(store).locate(version).path
            assert bytes(store.get(path)) == candidates[won.index(True)].data

    def test_of_racing_creators_exactly_one_makes_the_table(
        self, store: ObjectStore, make_handler: Callable[[ObjectStore], CommitHandler]
    ) -> None:
        transactions = [creation() for _ in range(WRITERS)]

        def create(writer: int) -> bool:
            try:
                commit_transaction(make_handler(store), store, transactions[writer])
            except DatasetExistsError:
                return False
            return True

        won = race(create)
        assert won.count(True) == 1
        assert history(make_handler(store), store) == [transactions[won.index(True)].uuid]

    def test_racing_appends_all_succeed_and_none_is_lost_or_doubled(
        self, store: ObjectStore, make_handler: Callable[[ObjectStore], CommitHandler]
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

        made = [uuid for uuids in race(write) for uuid in uuids]
        found = history(make_handler(store), store)
        assert found[0] == first.uuid
        assert sorted(found[1:]) == sorted(made)
        assert len(set(found)) == len(found)


def race(run: Callable[[int], T]) -> list[T]:
    """What ``run`` returns for each writer, all started at the same time."""
    barrier = Barrier(WRITERS)

    def start(writer: int) -> T:
        barrier.wait()
        return run(writer)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(start, range(WRITERS)))


class _Overtaken(StoreWrapper):
    """Starts a rival right before one of its calls, the first being 1, and lets it go first."""

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
    """Whether the handler says that it made the version of the candidate."""
    try:
        handler.commit(candidate)
    except ObjectExistsError:
        return False
    return True
