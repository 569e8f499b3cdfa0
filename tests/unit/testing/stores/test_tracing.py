"""Counting calls and bytes."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import ObjectNotFoundError
from lance_core.store.base import PutMode
from lance_core.store.memory import MemoryStore
from lance_core.store.wrappers.base import StoreCall
from lance_core_testing.stores.tracing import MAX_RECORDS, TracingStore


def test_calls_and_bytes_are_counted() -> None:
    store = TracingStore(MemoryStore())
    store.put("a", [pa.py_buffer(b"0123456789"), pa.py_buffer(b"ab")], PutMode.create)
    store.get("a")
    store.get_ranges("a", [ByteRange(0, 3), ByteRange(5, 6)])
    store.head("a")
    list(store.list(""))
    list(store.list_names(""))
    store.copy("a", "b")
    store.rename_if_absent("b", "c")
    store.delete("c")
    trace = store.trace
    assert dict(trace.counts) == {
        "put": 1,
        "get": 1,
        "get_ranges": 1,
        "head": 1,
        "list": 1,
        "list_names": 1,
        "copy": 1,
        "rename_if_absent": 1,
        "delete": 1,
    }
    assert (trace.bytes_written, trace.bytes_read, trace.ranges) == (12, 16, 2)
    assert trace.round_trips == 9
    assert trace.records[0].call == StoreCall("put", "a", mode=PutMode.create, sent=12)
    assert "16 bytes read" in repr(trace)


def test_a_writer_is_one_round_trip() -> None:
    store = TracingStore(MemoryStore())
    with store.open_writer("x") as writer:
        writer.write(b"123")
        writer.write(b"45")
    aborted = store.open_writer("y")
    aborted.abort()
    assert store.trace.round_trips == 1
    assert store.trace.bytes_written == 5
    assert [r.call.method for r in store.trace.records] == [
        "open_writer",
        "write",
        "write",
        "close",
        "open_writer",
        "abort",
    ]


def test_failed_calls_count_with_their_error() -> None:
    ticks = iter(range(100))
    store = TracingStore(MemoryStore(), clock=lambda: float(next(ticks)))
    with pytest.raises(ObjectNotFoundError):
        store.get("missing")
    (traced,) = store.trace.records
    assert (traced.error, traced.received, traced.seconds) == ("ObjectNotFoundError", 0, 1.0)


def test_a_block_measures_what_happens_in_it_from_any_thread() -> None:
    store = TracingStore(MemoryStore())
    store.put("a", b"1")
    with store.measure() as outer:
        thread = threading.Thread(target=lambda: store.get("a"))
        thread.start()
        thread.join()
        with store.measure() as inner:
            store.head("a")
    store.get("a")
    assert dict(inner.counts) == {"head": 1}
    assert dict(outer.counts) == {"get": 1, "head": 1}
    assert dict(store.trace.counts) == {"put": 1, "get": 2, "head": 1}
    store.trace.clear()
    assert store.trace.round_trips == store.trace.bytes_read == 0
    assert store.trace.records == []


def test_records_are_bounded_and_counts_are_not() -> None:
    store = TracingStore(MemoryStore())
    store.put("a", b"1")
    traced = store.trace.records[0]
    for _ in range(MAX_RECORDS + 5):
        store.trace.add(traced)
    assert len(store.trace.records) == MAX_RECORDS
    assert store.trace.counts["put"] == MAX_RECORDS + 6


def test_threads_lose_no_count() -> None:
    store = TracingStore(MemoryStore())
    store.put("a", b"12345")
    threads = [
        threading.Thread(target=lambda: [store.get("a") for _ in range(500)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.trace.counts["get"] == 4000
    assert store.trace.bytes_read == 20_000
