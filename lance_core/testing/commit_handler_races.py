"""Part of the contract of commit handlers: of any number of writers exactly one makes a version."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from lance_core.commits.attempt import commit_transaction
from lance_core.commits.base import Candidate, CommitHandler
from lance_core.errors import DatasetExistsError, ObjectExistsError
from lance_core.store.base import ObjectStore
from lance_core.testing.sample_transactions import (
    PATIENT,
    append,
    creation,
    first_candidate,
    history,
)

WRITERS = 6
ROUNDS = 10

T = TypeVar("T")


class RaceTests:
    """Threads with a handler each."""

    def test_of_racing_candidates_exactly_one_becomes_the_version(
        self, store: ObjectStore, make_handler: Callable[[ObjectStore], CommitHandler]
    ) -> None:
        for version in range(1, ROUNDS + 1):
            candidates = [first_candidate(version=version) for _ in range(WRITERS)]

            def send(writer: int, candidates: list[Candidate] = candidates) -> bool:
                try:
                    make_handler(store).commit(candidates[writer])
                except ObjectExistsError:
                    return False
                return True

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
