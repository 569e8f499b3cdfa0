"""The store of local files keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_core.store.base import ObjectStore
from lance_core.store.local import Durability, LocalStore
from lance_core.testing.object_store import ObjectStoreTests


class TestFastLocalStore(ObjectStoreTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "root", Durability.fast)

    @pytest.fixture
    def reopened(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path / "root", Durability.fast)


class TestDurableLocalStore(ObjectStoreTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        return LocalStore(tmp_path, Durability.durable)


class TestLocalStoreAtALink(ObjectStoreTests):
    @pytest.fixture
    def store(self, tmp_path: Path) -> ObjectStore:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        return LocalStore(tmp_path / "link" / "table é", Durability.fast)
