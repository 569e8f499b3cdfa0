"""The example plugin keeps the contracts that it is held to by inheriting them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from lance_core_example_vault.ledger import LedgerCommitHandler
from lance_core_example_vault.store import VaultStore

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import OutcomeUnknownError
from lance_core.store.base import ObjectStore
from lance_core.store.functions import exists, list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler, MakeOther
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.suite import ObjectStoreTests
from lance_core_testing.sample_transactions import first_candidate
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, RequestLost


class TestVaultStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(VaultStore, tmp_path / "table.vault", timeout=30)


class TestPutIfAbsentInAVault(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(VaultStore, tmp_path / "table.vault", timeout=30)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestLedger(CommitHandlerTests):
    without_service = "the ledger is a file"

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self, tmp_path: Path) -> MakeHandler:
        return partial(LedgerCommitHandler, ledger=tmp_path / "table.ledger")

    @pytest.fixture
    def make_other(self, tmp_path: Path) -> MakeOther:
        store = LocalStore(tmp_path / "other", Durability.fast)
        return lambda: (store, LedgerCommitHandler(store, tmp_path / "other.ledger"))

    def test_whoever_comes_next_finishes_what_a_writer_left(
        self, store: ObjectStore, make_handler: MakeHandler
    ) -> None:
        candidate = first_candidate()
        faulty = FaultyStore(store, [FaultRule(RequestLost(), "copy")])
        with pytest.raises(OutcomeUnknownError):  # it is in the ledger, and the writer dies
            make_handler(faulty).commit(candidate)
        assert not exists(store, candidate.path)
        latest = make_handler(store).latest()
        assert latest is not None
        assert bytes(store.get(latest.path)) == candidate.data
        assert list_paths(store) == [candidate.path]
