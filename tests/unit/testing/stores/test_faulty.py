"""Failing in chosen ways at chosen calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import ObjectExistsError, OutcomeUnknownError, StoreError
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.functions import exists, list_paths
from lance_core.store.memory import MemoryStore
from lance_core_testing.stores.faulty import (
    Delayed,
    Fault,
    FaultRule,
    FaultyStore,
    LandsLate,
    Refused,
    RequestLost,
    ResponseLost,
    SentTwice,
)
from tests.each_case import each_case

WRITES: dict[str, Callable[[ObjectStore], object]] = {
    "put": lambda store: store.put("new", b"1", PutMode.create),
    "close": lambda store: write(store, "new"),
    "copy": lambda store: store.copy("old", "new"),
    "rename_if_absent": lambda store: store.rename_if_absent("old", "new"),
}
READS: dict[str, Callable[[ObjectStore], object]] = {
    "get": lambda store: store.get("old"),
    "get_ranges": lambda store: store.get_ranges("old", [ByteRange(0, 1)]),
    "head": lambda store: store.head("old"),
    "list": lambda store: store.list(""),
    "list_names": lambda store: store.list_names(""),
}
ENDS: dict[Fault, tuple[type[Exception], bool]] = {
    Refused(): (StoreError, False),
    RequestLost(): (OutcomeUnknownError, False),
    ResponseLost(): (OutcomeUnknownError, True),
    SentTwice(): (ObjectExistsError, True),
    LandsLate(): (OutcomeUnknownError, False),
}


def write(store: ObjectStore, path: str) -> None:
    with store.open_writer(path) as writer:
        writer.write(b"1")


def faulty(*rules: FaultRule, seed: int = 0) -> FaultyStore:
    inner = MemoryStore()
    inner.put("old", b"1")
    return FaultyStore(inner, rules, seed)


@each_case("method", WRITES)
@each_case("fault", ENDS, ids=repr)
def test_a_fault_says_what_it_did(method: str, fault: Fault) -> None:
    store = faulty(FaultRule(fault, method))
    error, is_applied = ENDS[fault]
    with pytest.raises(error) as caught:
        WRITES[method](store)
    assert type(caught.value) is error
    assert exists(store.inner, "new") is is_applied
    assert [injected.call.method for injected in store.injected] == [method]


@each_case("method", WRITES)
def test_a_late_call_lands_when_told_to(method: str) -> None:
    store = faulty(FaultRule(LandsLate(), method))
    with pytest.raises(OutcomeUnknownError):
        WRITES[method](store)
    store.set_rules([])
    assert store.land() == [None]
    assert bytes(store.get("new")) == b"1"
    assert store.land() == []


def test_a_late_call_can_come_too_late() -> None:
    store = faulty(FaultRule(LandsLate(), "put", "new"))
    data = bytearray(b"late")
    with pytest.raises(OutcomeUnknownError):
        store.put("new", data, PutMode.create)
    data[:] = b"gone"
    store.inner.put("new", b"other")
    (outcome,) = store.land()
    assert isinstance(outcome, ObjectExistsError)
    assert bytes(store.get("new")) == b"other"
    store.inner.delete("new")


@each_case("method", READS)
@each_case("fault", [Refused(), RequestLost(), ResponseLost()], ids=repr)
def test_a_read_that_fails_is_a_store_error(method: str, fault: Fault) -> None:
    store = faulty(FaultRule(fault, method))
    with pytest.raises(StoreError) as caught:
        READS[method](store)
    assert type(caught.value) is StoreError


def test_a_refusal_can_be_any_error() -> None:
    rule = FaultRule(Refused(lambda call: TimeoutError(f"{call.method} {call.path}")), "head")
    with pytest.raises(TimeoutError, match="head old"):
        faulty(rule).head("old")


def test_a_delay_waits_and_goes_on() -> None:
    slept: list[float] = []
    store = FaultyStore(MemoryStore(), [FaultRule(Delayed(2.5), "put")], sleep=slept.append)
    store.put("x", b"1")
    assert slept == [2.5]
    assert bytes(store.get("x")) == b"1"


def test_rules_choose_by_method_path_and_turn() -> None:
    store = faulty(FaultRule(Refused(), "put", "_versions/*", nth=2))
    store.put("data/1", b"1")
    store.put("_versions/1", b"1")
    with pytest.raises(StoreError):
        store.put("_versions/2", b"1")
    store.put("_versions/2", b"1")
    assert [injected.call.path for injected in store.injected] == ["_versions/2"]


def test_a_rule_about_a_path_sees_targets() -> None:
    store = faulty(FaultRule(Refused(), path="new*"))
    with pytest.raises(StoreError):
        store.rename_if_absent("old", "new")
    with pytest.raises(StoreError):
        store.copy("old", "new")
    assert list_paths(store.inner) == ["old"]


def test_a_rule_strikes_only_so_often() -> None:
    store = faulty(FaultRule(Refused(), "get", times=2))
    for _ in range(2):
        with pytest.raises(StoreError):
            store.get("old")
    assert bytes(store.get("old")) == b"1"


def outcomes(seed: int) -> list[bool]:
    store = faulty(FaultRule(Refused(), "get", probability=0.5), seed=seed)
    ended = []
    for _ in range(64):
        try:
            store.get("old")
        except StoreError:
            ended.append(False)
        else:
            ended.append(True)
    return ended


def test_chance_comes_from_the_seed() -> None:
    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert 10 < sum(outcomes(1)) < 54


def test_the_first_rule_is_the_outermost() -> None:
    store = faulty(FaultRule(ResponseLost(), "put"), FaultRule(SentTwice(), "put"))
    with pytest.raises(ObjectExistsError):
        store.put("new", b"1")
    store = faulty(FaultRule(RequestLost(), "put"), FaultRule(SentTwice(), "put"))
    with pytest.raises(OutcomeUnknownError):
        store.put("new", b"1")
    assert not exists(store.inner, "new")


def test_without_rules_nothing_happens() -> None:
    store = faulty()
    write(store, "new")
    assert bytes(store.get("new")) == b"1"
    assert store.injected == []
