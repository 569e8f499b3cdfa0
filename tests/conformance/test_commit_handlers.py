"""The built-in commit handlers keep the contract, on every built-in store."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from lance_core.commits.handlers.lock import LockCommitHandler
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.handlers.rename import RenameCommitHandler
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.capability_override import DeclaredStore
from lance_core_lease.handler import LeaseCommitHandler, LeaseTerms
from lance_core_lease.store_leases import StoreLeases
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.sample_transactions import IMPATIENT


class TestPutIfAbsentOnLocalFiles(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestPutIfAbsentInMemory(CommitHandlerTests):
    in_process_only = "objects live in the memory of one process"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestRenameOnLocalFiles(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return RenameCommitHandler


class TestRenameInMemory(CommitHandlerTests):
    in_process_only = "objects live in the memory of one process"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return RenameCommitHandler


NO_CONDITIONS = StoreCapabilities(strong_reads=Guarantee.YES, put_if_absent=Guarantee.NO)


class TestLockInMemory(CommitHandlerTests):
    """With conditional writes, whatever the lock does."""

    in_process_only = "the lock is one between threads"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        lock = threading.Lock()
        return lambda store: LockCommitHandler(store, lambda _: lock, IMPATIENT)


class TestLockWithoutConditions(CommitHandlerTests):
    """Where nothing but the lock keeps writers apart."""

    in_process_only = "the lock is one between threads"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        lock = threading.Lock()

        def make(store: ObjectStore) -> LockCommitHandler:
            return LockCommitHandler(DeclaredStore(store, NO_CONDITIONS), lambda _: lock, IMPATIENT)

        return make


def leased(leases: ObjectStore, store: ObjectStore) -> LeaseCommitHandler:
    return LeaseCommitHandler(store, StoreLeases(leases))


class TestLeaseInTheTable(CommitHandlerTests):
    """Leases beside the data, which is on a store that could do without."""

    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self, tmp_path: Path) -> MakeHandler:
        return partial(leased, LocalStore(tmp_path / "leases", Durability.fast))


class TestLeaseWithoutConditions(CommitHandlerTests):
    """Where nothing but the lease keeps writers apart."""

    in_process_only = "objects and leases live in the memory of one process"
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        kept = MemoryStore()
        terms = LeaseTerms(duration=60.0, request_lifetime=0.05)

        def make(store: ObjectStore) -> LeaseCommitHandler:
            return LeaseCommitHandler(
                DeclaredStore(store, NO_CONDITIONS), StoreLeases(kept, terms), terms
            )

        return make
