"""Common reads."""

from __future__ import annotations

import pytest

from lance_core.errors import CorruptFileError, InvalidInputError, ObjectNotFoundError
from lance_core.store.memory import MemoryStore
from lance_core.store.shortcuts import exists, get_range, list_paths, read_tail
from lance_core.store.tracing import TracingStore


@pytest.fixture
def store() -> TracingStore:
    store = TracingStore(MemoryStore())
    store.put("a/x", b"0123456789")
    return store


def test_a_range_is_one_read(store: TracingStore) -> None:
    assert bytes(get_range(store, "a/x", 2, 5)) == b"234"
    assert store.trace.counts["get_ranges"] == 1


@pytest.mark.parametrize(
    ("length", "tail"), [(0, b""), (3, b"789"), (10, b"0123456789"), (99, b"0123456789")]
)
def test_the_tail_is_at_most_the_object(store: TracingStore, length: int, tail: bytes) -> None:
    for size in (None, 10):
        buffer, known = read_tail(store, "a/x", length, size)
        assert (bytes(buffer), known) == (tail, 10)
    assert store.trace.counts["head"] == 1


def test_a_wrong_size_is_a_typed_error(store: TracingStore) -> None:
    with pytest.raises(CorruptFileError):
        read_tail(store, "a/x", 5, 11)
    with pytest.raises(InvalidInputError):
        read_tail(store, "a/x", -1)
    with pytest.raises(ObjectNotFoundError):
        read_tail(store, "missing", 5)


def test_existence_and_paths(store: TracingStore) -> None:
    assert exists(store, "a/x")
    assert not exists(store, "a")
    assert list_paths(store) == list_paths(store, "a") == ["a/x"]
    assert list_paths(store, "", "a/x") == []
