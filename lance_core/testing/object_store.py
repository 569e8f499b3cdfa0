"""The contract of object stores, as tests to inherit.

::

    class TestVaultStore(ObjectStoreTests):
        @pytest.fixture
        def store(self, vault_url):
            return VaultStore(vault_url)

What the store declares decides how it is tested: what is YES is raced by threads, what is NO must
be refused.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

from lance_core.errors import ObjectNotFoundError
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.probe import probe
from lance_core.testing.object_store_exclusive import ExclusiveWriteTests
from lance_core.testing.object_store_listing import ListingTests
from lance_core.testing.object_store_paths import PathTests
from lance_core.testing.object_store_reads import ReadTests
from lance_core.testing.object_store_writes import WriteTests

TRIED = ("put_if_absent", "rename_if_absent", "copy_if_absent")


class ObjectStoreTests(ReadTests, WriteTests, ExclusiveWriteTests, ListingTests, PathTests):
    """Everything that a store must hold. Subclass it and provide the fixture ``store``.

    ``store``: a store without objects, new for each test.
    ``reopened``: the same objects through another instance, by default through ``store`` itself.
    ``secrets``: texts that the store was opened with and must never show.
    """

    @pytest.fixture
    def store(self) -> ObjectStore:
        raise NotImplementedError("provide the fixture `store`")

    @pytest.fixture
    def reopened(self, store: ObjectStore) -> ObjectStore:
        return store

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return ()

    def test_another_instance_sees_the_same_objects(
        self, store: ObjectStore, reopened: ObjectStore
    ) -> None:
        store.put("a/b", b"content")
        assert bytes(reopened.get("a/b")) == b"content"
        reopened.delete("a/b")
        with pytest.raises(ObjectNotFoundError):
            store.get("a/b")

    def test_what_is_declared_stands_up_to_the_probe(self, store: ObjectStore) -> None:
        declared = store.capabilities
        assert isinstance(declared, StoreCapabilities)
        seen = probe(store)
        for name in TRIED:
            if getattr(declared, name) is not Guarantee.UNKNOWN:
                assert getattr(seen, name) is getattr(declared, name), name

    def test_the_probe_leaves_nothing(self, store: ObjectStore) -> None:
        probe(store)
        assert list(store.list("")) == []

    def test_no_secret_is_shown_or_pickled(
        self, store: ObjectStore, secrets: tuple[str, ...]
    ) -> None:
        with pytest.raises(ObjectNotFoundError) as missing:
            store.get("missing")
        try:
            pickled = bytes(ForkingPickler.dumps(store))
        except Exception:
            pickled = b""  # a store need not travel
        shown = repr(store) + str(store) + str(missing.value) + repr(missing.value)
        for secret in secrets:
            assert secret not in shown
            assert secret.encode() not in pickled

    def test_the_coalescing_gap_is_a_number_of_bytes(self, store: ObjectStore) -> None:
        assert isinstance(store.coalesce_gap, int)
        assert store.coalesce_gap >= 0
