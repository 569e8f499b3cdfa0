"""The built-in commit handlers keep the contract, on every built-in store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.commits.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.rename import RenameCommitHandler
from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.testing.commit_handler import CommitHandlerTests, MakeHandler


class TestPutIfAbsentOnLocalFiles(CommitHandlerTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestPutIfAbsentInMemory(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


class TestRenameOnLocalFiles(CommitHandlerTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "table", Durability.fast)

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return RenameCommitHandler


class TestRenameInMemory(CommitHandlerTests):
    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return RenameCommitHandler
