"""Commits to a store, and a handler that loses them."""

from __future__ import annotations

from lance_core.commits.base import Candidate, ManifestLocation
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version
from lance_core.commits.loop import CommitOptions, commit_transaction
from lance_core.store.base import ObjectStore
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    history,
)


def commit(
    store: ObjectStore,
    transaction: Transaction,
    base: Version | None = None,
    options: CommitOptions = CommitOptions(),  # noqa: B008  # immutable
    world: Environment = IMPATIENT,
) -> Version:
    handler = PutIfAbsentCommitHandler(store)
    return commit_transaction(handler, store, transaction, base, options, world)


def uuids(store: ObjectStore) -> list[str]:
    return history(PutIfAbsentCommitHandler(store), store)


class Beaten(PutIfAbsentCommitHandler):
    """Another writer is faster ``times`` times."""

    def __init__(self, store: ObjectStore, times: int) -> None:
        super().__init__(store)
        self.times = times

    def commit(self, candidate: Candidate) -> ManifestLocation:
        if self.times:
            self.times -= 1
            commit(self.store, append(candidate.version - 1))
        return super().commit(candidate)
