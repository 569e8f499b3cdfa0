"""Finding out what a store guarantees."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from lance_core.errors import (
    ObjectExistsError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import Buffers, Guarantee, PutMode, StoreCapabilities
from lance_core.store.functions import exists, list_paths
from lance_core.store.memory import CAPABILITIES, MemoryStore
from lance_core.store.probe import probe
from lance_core_testing.stores.faulty import (
    Fault,
    FaultRule,
    FaultyStore,
    Refused,
    RequestLost,
    ResponseLost,
    SentTwice,
)
from tests.each_case import each_case


class Liar(MemoryStore):
    """Claims everything and ignores every condition."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)

    def copy(self, source: str, target: str, mode: PutMode = PutMode.overwrite) -> None:
        super().copy(source, target)

    def rename_if_absent(self, source: str, target: str) -> None:
        super().copy(source, target)
        self.delete(source)


class ReplacesAndComplains(MemoryStore):
    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data)
        if mode is PutMode.create and bytes(memoryview(self.get(path))) == b"other":
            super().put(path, data, mode)


class LooksFirst(MemoryStore):
    """Looks whether something is there, then writes: two writers may both find nothing."""

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create:
            if exists(self, path):
                raise ObjectExistsError(path)
            time.sleep(0.01)
        super().put(path, data)


class KnowsItsOwn(MemoryStore):
    """Refuses to replace only what was made on a condition."""

    def __init__(self) -> None:
        super().__init__()
        self.made: set[str] = set()

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and path in self.made:
            raise ObjectExistsError(path)
        self.made.discard(path)
        if mode is PutMode.create:
            self.made.add(path)
        super().put(path, data)


class ForgetsConditions(MemoryStore):
    """Ignores conditions once something was deleted."""

    has_deleted = False

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        super().put(path, data, PutMode.overwrite if self.has_deleted else mode)

    def delete(self, path: str) -> None:
        self.has_deleted = True
        super().delete(path)


class RemembersDeletions(MemoryStore):
    """Never makes an object where one was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: set[str] = set()

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create and path in self.deleted:
            raise ObjectExistsError(path)
        super().put(path, data, mode)

    def delete(self, path: str) -> None:
        self.deleted.add(path)
        super().delete(path)


class Modest(MemoryStore):
    """Knows plain writes only."""

    declared = StoreCapabilities()

    @property
    def capabilities(self) -> StoreCapabilities:
        return self.declared

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        if mode is PutMode.create:
            raise UnsupportedFeatureError("no conditions")
        super().put(path, data)


def test_an_honest_store_is_believed() -> None:
    assert probe(MemoryStore()) == CAPABILITIES


def test_a_store_that_ignores_conditions_is_found_out() -> None:
    store = Liar()
    seen = probe(store)
    assert seen == replace(
        CAPABILITIES,
        put_if_absent=Guarantee.NO,
        rename_if_absent=Guarantee.NO,
        copy_if_absent=Guarantee.NO,
    )
    assert list_paths(store) == []


def test_complaining_after_the_fact_does_not_count() -> None:
    assert probe(ReplacesAndComplains()).put_if_absent is Guarantee.NO


@each_case("store", [LooksFirst(), KnowsItsOwn(), ForgetsConditions()])
def test_a_store_that_keeps_conditions_sometimes_is_found_out(store: MemoryStore) -> None:
    assert probe(store).put_if_absent is Guarantee.NO
    assert list_paths(store) == []


def test_a_store_that_refuses_too_much_is_safe() -> None:
    assert probe(RemembersDeletions()).put_if_absent is Guarantee.YES


@each_case("path", ["*", "*-race"])
@each_case("fault", [RequestLost(), ResponseLost(), SentTwice()], ids=repr)
def test_answers_that_are_lost_are_asked_for_again(fault: Fault, path: str) -> None:
    # The third write has no condition: nobody can be told that something is there.
    for nth in (1, 2) if isinstance(fault, SentTwice) else (1, 2, 3):
        store = FaultyStore(MemoryStore(), [FaultRule(fault, "put", path, nth=nth)])
        assert probe(store) == CAPABILITIES
        assert list_paths(store) == []
        liar = FaultyStore(Liar(), [FaultRule(fault, "put", path, nth=nth)])
        assert probe(liar).put_if_absent is Guarantee.NO


def test_a_store_whose_answers_are_all_lost_is_an_error() -> None:
    store = FaultyStore(MemoryStore(), [FaultRule(RequestLost(), "put", "*-race")])
    with pytest.raises(OutcomeUnknownError):
        probe(store)
    assert list_paths(store) == []


def test_a_refusal_is_a_no() -> None:
    store = Modest()
    assert probe(store) == replace(StoreCapabilities(), put_if_absent=Guarantee.NO)
    assert list_paths(store) == []


def test_what_is_unknown_is_settled() -> None:
    class Unsure(MemoryStore):
        @property
        def capabilities(self) -> StoreCapabilities:
            return StoreCapabilities(
                rename_if_absent=Guarantee.UNKNOWN, copy_if_absent=Guarantee.UNKNOWN
            )

    seen = probe(Unsure())
    assert seen.guaranteed() == {
        "put_if_absent",
        "rename_if_absent",
        "copy_if_absent",
        "range_reads",
    }


def test_lost_answers_prove_nothing() -> None:
    store = FaultyStore(MemoryStore(), [FaultRule(SentTwice(), "put")])
    assert probe(store).put_if_absent is Guarantee.UNKNOWN


@pytest.mark.parametrize("fault", [Refused(), RequestLost()], ids=repr)
def test_a_store_that_cannot_be_written_is_an_error(fault: Refused | RequestLost) -> None:
    with pytest.raises(StoreError):
        probe(FaultyStore(MemoryStore(), [FaultRule(fault, "put")]))


def test_sentinels_that_cannot_be_removed_do_no_harm() -> None:
    store = FaultyStore(MemoryStore(), [FaultRule(Refused(), "delete")])
    assert probe(store) == CAPABILITIES
    assert all(path.startswith("_probe/") for path in list_paths(store))
