"""Commits through an external manifest store keep the contract, on every built-in store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.commits.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.testing.commit_handler import CommitHandlerTests, MakeHandler
from lance_core.testing.memory_manifest_store import MemoryManifestStore


class HandlerTests(CommitHandlerTests):
    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        rows = MemoryManifestStore()
        return lambda store: ExternalManifestCommitHandler(store, rows, "data/table.lance")


class TestOnLocalFiles(HandlerTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)


class TestInMemory(HandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()
