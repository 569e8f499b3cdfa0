"""Commits through an external manifest store keep the contract, on every built-in store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler, MakeOther
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.service import InProcessService


class HandlerTests(CommitHandlerTests):
    @pytest.fixture
    def service(self) -> InProcessService:
        return InProcessService()

    @pytest.fixture
    def rows(self, service: InProcessService) -> MemoryManifestStore:
        return MemoryManifestStore(service)

    @pytest.fixture
    def make_handler(self, rows: MemoryManifestStore) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(store, rows, "data/table.lance")

    @pytest.fixture
    def make_other(self, rows: MemoryManifestStore) -> MakeOther:
        store = MemoryStore()
        return lambda: (store, ExternalManifestCommitHandler(store, rows, "data/other.lance"))


class TestOnLocalFiles(HandlerTests):
    in_process_only = "rows live in the memory of one process"

    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)


class TestInMemory(HandlerTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()
