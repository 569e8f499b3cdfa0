"""What wraps a store keeps the contract of the store that it wraps."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from lance_core.errors import UnsupportedFeatureError
from lance_core.store.base import Guarantee, ObjectStore, PutMode, StoreCapabilities
from lance_core.store.buffers import joined
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.store.wrappers.result_checks import checked_store
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.suite import ObjectStoreTests
from lance_core_testing.stores.faulty import FaultyStore
from lance_core_testing.stores.throttled import ThrottledStore
from lance_core_testing.stores.tracing import TracingStore


def prefixed(root: Path, prefix: str) -> ObjectStore:
    return PrefixStore(LocalStore(root, Durability.fast), prefix)


class TestPrefixOfLocalStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(prefixed, tmp_path, "a folder/table")


class TestPrefixOfMemoryStore(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        inner = MemoryStore()
        inner.put("dat", b"beside")
        inner.put("data0", b"beside")
        return PrefixStore(inner, "data")


class TestTracingStore(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return TracingStore(MemoryStore())


class TestThrottledStore(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return ThrottledStore(MemoryStore(), 0.001, 1e12, sleep=lambda seconds: None)


def checked(root: Path) -> ObjectStore:
    return checked_store(TracingStore(LocalStore(root, Durability.fast)), "store 'traced'")


class TestCheckedStore(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(checked, tmp_path)


def faulty(root: Path) -> ObjectStore:
    return FaultyStore(LocalStore(root, Durability.fast))


class TestFaultyStoreWithoutFaults(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(faulty, tmp_path)


class PlainStore(FaultyStore):
    """A store that guarantees nothing, and says so."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return StoreCapabilities(put_if_absent=Guarantee.NO, strong_reads=Guarantee.NO)

    def put(self, path, data, mode=PutMode.overwrite):  # type: ignore[no-untyped-def]
        if mode is PutMode.create:
            raise UnsupportedFeatureError("no conditional writes")
        super().put(path, joined(data), mode)

    def copy(self, source, target, mode=PutMode.overwrite):  # type: ignore[no-untyped-def]
        if mode is PutMode.create:
            raise UnsupportedFeatureError("no conditional copies")
        super().copy(source, target, mode)

    def rename_if_absent(self, source: str, target: str) -> None:
        raise UnsupportedFeatureError("no renames")


class TestStoreThatGuaranteesNothing(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self) -> ObjectStore:
        return PlainStore(MemoryStore())
