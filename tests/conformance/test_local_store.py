"""The store of local files keeps the contract."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lance_core.store.local import Durability, LocalStore
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.suite import ObjectStoreTests


class TestFastLocalStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path / "root", Durability.fast)


class TestDurableLocalStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(LocalStore, tmp_path, Durability.durable)


class TestLocalStoreAtALink(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        return partial(LocalStore, tmp_path / "link" / "table é", Durability.fast)
