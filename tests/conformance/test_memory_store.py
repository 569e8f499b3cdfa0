"""The store of objects in memory keeps the contract."""

from __future__ import annotations

import uuid

import pytest

from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore, open_memory
from lance_core.store.uri import parse_uri
from lance_core_testing.object_stores.suite import ObjectStoreTests


class TestMemoryStore(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return MemoryStore()


class TestSharedMemoryStore(ObjectStoreTests):
    in_process_only = "memory:// names places in the memory of one process"

    @pytest.fixture
    def uri(self) -> str:
        return f"memory://{uuid.uuid4()}/some/table"

    @pytest.fixture
    def store(self, uri: str) -> ObjectStore:
        return open_memory(parse_uri(uri), {})

    @pytest.fixture
    def reopened(self, uri: str) -> ObjectStore:
        return open_memory(parse_uri(uri), {})
