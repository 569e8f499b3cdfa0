"""The contract of object stores, as tests to inherit.

::

    class TestVaultStore(ObjectStoreTests):
        @pytest.fixture
        def open_store(self, tmp_path):
            return functools.partial(VaultStore, tmp_path / "table.vault")

The tests depend on the declared capabilities: if a capability is YES, threads and processes race to
test it; if it is NO, calls that require it must be refused.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import ClassVar

import pytest

from lance_core.errors import ObjectNotFoundError
from lance_core.hookspecs.stores import Guarantee, ObjectStore, StoreCapabilities, probe
from lance_core_testing.assertions import must_raise
from lance_core_testing.object_stores.exclusive import ExclusiveWriteTests
from lance_core_testing.object_stores.forks import ForkTests
from lance_core_testing.object_stores.instances import InstanceTests, OpenStore
from lance_core_testing.object_stores.listing import ListingTests
from lance_core_testing.object_stores.paths import PathTests
from lance_core_testing.object_stores.reads import ReadTests
from lance_core_testing.object_stores.writes import WriteTests
from lance_core_testing.processes import portable

TRIED = ("put_if_absent", "rename_if_absent", "copy_if_absent")


class ObjectStoreTests(
    ReadTests, WriteTests, ExclusiveWriteTests, ListingTests, PathTests, InstanceTests, ForkTests
):
    """The contract of a store. Subclass it and provide the fixture ``open_store``.

    ``open_store``: each call returns a new instance of a store; all instances of a test share their
    objects, and there are none when the test starts. Other processes call it, so it must be
    picklable: a module-level function, a class or a `functools.partial` of one.
    ``store``: the instance that most tests use, by default one from ``open_store``. Override it if
    an instance must be closed at the end.
    ``reopened``: another instance with the same objects, by default from ``open_store``.
    ``secrets``: texts with which the store was opened and which it must never show. If other
    processes cannot access the objects of the store, provide ``store`` in place of ``open_store``,
    and set ``in_process_only``.
    """

    in_process_only: ClassVar[str] = ""
    """The reason why no other process can open the store; tests with several processes are
    skipped."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError(
            "provide the fixture `open_store`: a function that makes an instance of the store and "
            "that can be pickled, since other processes call it; or say in `in_process_only` why "
            "no other process can open the store, and provide `store`"
        )

    @pytest.fixture
    def store(self, request: pytest.FixtureRequest) -> ObjectStore:
        opened: ObjectStore = request.getfixturevalue("open_store")()
        return opened

    @pytest.fixture
    def reopened(self, request: pytest.FixtureRequest, store: ObjectStore) -> ObjectStore:
        if self.in_process_only:
            return store
        opened: ObjectStore = request.getfixturevalue("open_store")()
        return opened

    @pytest.fixture
    def shared(self, request: pytest.FixtureRequest) -> OpenStore:
        """``open_store``, for other processes."""
        if self.in_process_only:
            pytest.skip(f"other processes cannot open the store: {self.in_process_only}")
        opener: OpenStore = request.getfixturevalue("open_store")
        return portable(opener, "open_store")

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return ()

    def test_what_is_declared_stands_up_to_the_probe(self, store: ObjectStore) -> None:
        declared = store.capabilities
        assert isinstance(declared, StoreCapabilities), (
            f"`capabilities` is {declared!r}; it must be a StoreCapabilities"
        )
        seen = probe(store)
        for name in TRIED:
            stated, observed = getattr(declared, name), getattr(seen, name)
            assert stated in (Guarantee.UNKNOWN, observed), (
                f"the store declares {name}={stated.name}, but trying it showed {observed.name}"
            )

    def test_the_probe_leaves_nothing(self, store: ObjectStore) -> None:
        probe(store)
        left = [meta.path for meta in store.list("")]
        assert left == [], "objects that were deleted are listed; a deleted object must be gone"

    def test_no_secret_is_shown_or_pickled(
        self, store: ObjectStore, secrets: tuple[str, ...]
    ) -> None:
        with must_raise(ObjectNotFoundError, "get of a missing object") as missing:
            store.get("missing")
        try:
            pickled = bytes(ForkingPickler.dumps(store))
        except Exception:
            pickled = b""  # a store need not be picklable
        shown = repr(store) + str(store) + str(missing.error) + repr(missing.error)
        for number, secret in enumerate(secrets):
            assert secret not in shown, (
                f"repr, str or an error shows secret {number}; nothing that is printed may"
            )
            assert secret.encode() not in pickled, (
                f"the pickled store holds secret {number}; it must travel without secrets"
            )

    def test_the_coalescing_gap_is_a_number_of_bytes(self, store: ObjectStore) -> None:
        gap = store.coalesce_gap
        assert isinstance(gap, int), f"`coalesce_gap` is {gap!r}; it must be a number of bytes"
        assert gap >= 0, f"`coalesce_gap` is {gap}; it must not be negative"
