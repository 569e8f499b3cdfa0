"""Common reads."""

from __future__ import annotations

import pytest

from lance_core.store.functions import exists, list_paths
from lance_core.store.memory import MemoryStore
from lance_core_testing.stores.tracing import TracingStore


@pytest.fixture
def store() -> TracingStore:
    store = TracingStore(MemoryStore())
    store.put("a/x", b"0123456789")
    return store


def test_existence_and_paths(store: TracingStore) -> None:
    assert exists(store, "a/x")
    assert not exists(store, "a")
    assert list_paths(store) == list_paths(store, "a") == ["a/x"]
    assert list_paths(store, "", "a/x") == []
