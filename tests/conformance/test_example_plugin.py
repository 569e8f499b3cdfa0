"""The example plugin keeps the contracts that it is held to by inheriting them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_core_example_vault.ledger import LedgerCommitHandler
from lance_core_example_vault.store import VaultStore

from lance_core.commits.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.testing.commit_handler import CommitHandlerTests, MakeHandler
from lance_core.testing.object_store import ObjectStoreTests


class TestVaultStore(ObjectStoreTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return VaultStore(tmp_path / "table.vault", timeout=30)

    @pytest.fixture
    def reopened(self, tmp_path: Path) -> ObjectStore:
        return VaultStore(tmp_path / "table.vault", timeout=30)


class TestPutIfAbsentInAVault(CommitHandlerTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return VaultStore(tmp_path / "table.vault", timeout=30)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestLedger(CommitHandlerTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self, tmp_path: Path) -> MakeHandler:
        return lambda store: LedgerCommitHandler(store, tmp_path / "table.ledger")
