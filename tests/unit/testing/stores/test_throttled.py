"""Being slow."""

from __future__ import annotations

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError
from lance_core.store.memory import MemoryStore
from lance_core_testing.stores.throttled import ThrottledStore
from tests.each_case import each_case


def test_requests_take_latency_and_bytes_their_time() -> None:
    slept: list[float] = []
    store = ThrottledStore(MemoryStore(), 0.5, 100, sleep=slept.append)
    store.put("x", bytes(50))
    assert slept == [1.0]
    slept.clear()
    store.get("x")
    assert slept == [0.5, 0.5]
    slept.clear()
    store.get_ranges("x", [ByteRange(0, 10), ByteRange(0, 15)])
    assert slept == [0.5, 0.25]
    slept.clear()
    with store.open_writer("y") as writer:
        writer.write(bytes(20))
        writer.write(bytes(30))
    assert slept == [0.2, 0.3, 0.5]
    slept.clear()
    store.head("y")
    store.delete("y")
    assert slept == [0.5, 0.5]


def test_without_limits_nothing_waits() -> None:
    store = ThrottledStore(MemoryStore(), sleep=lambda seconds: pytest.fail("slept"))
    store.put("x", b"1")
    assert bytes(store.get("x")) == b"1"


@each_case("limits", [(-1.0, None), (0.0, 0.0), (0.0, -5.0)])
def test_limits_make_sense(limits: tuple[float, float | None]) -> None:
    with pytest.raises(InvalidInputError):
        ThrottledStore(MemoryStore(), *limits)
