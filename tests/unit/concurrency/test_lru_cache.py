"""Maps that keep what was used last."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lance_core.concurrency.lru_cache import LruCache


def test_a_map_keeps_what_was_used_last() -> None:
    made: list[str] = []

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return items.get(key, make)

    items: LruCache[str, str] = LruCache(2)
    assert [get(key) for key in ("a", "b", "a", "c", "a", "b")] == ["A", "B", "A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_a_map_is_bounded_by_the_weight_of_its_items() -> None:
    items: LruCache[int, bytes] = LruCache(100, len)
    made: list[int] = []

    def get(key: int, size: int) -> None:
        def make() -> bytes:
            made.append(key)
            return bytes(size)

        assert len(items.get(key, make)) == size

    get(1, 40)
    get(2, 40)
    get(1, 40)
    assert made == [1, 2]
    get(3, 40)  # the second one goes
    get(1, 40)
    assert made == [1, 2, 3]
    get(4, 1000)  # too heavy, but in use: it stays until the next one comes
    get(4, 1000)
    assert made == [1, 2, 3, 4]
    get(5, 10)
    get(4, 1000)
    assert made == [1, 2, 3, 4, 5, 4]


def test_threads_that_make_the_same_item_get_the_same_one() -> None:
    items: LruCache[str, object] = LruCache(100, lambda _: 60)
    both = threading.Barrier(2, timeout=60)

    def make() -> object:
        both.wait()
        return object()

    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(items.get("x", make))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2
    assert found[0] is found[1] is items.get("x", object)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("parents_only", [False, True])
def test_a_forked_child_finds_the_items_unless_they_are_its_parents(parents_only: bool) -> None:
    items: LruCache[str, str] = LruCache(5, parents_only=parents_only)
    items.get("a", lambda: "A")
    with items._lock:  # some other thread of the parent is just looking
        child = os.fork()
        if child == 0:
            found = items.get("a", lambda: "made anew")
            os._exit(0 if (found == "A") is not parents_only else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "a" in items
    items.reset()
    assert len(items) == 0


def test_threads_wait_for_the_one_that_makes_an_item() -> None:
    items: LruCache[str, object] = LruCache(5, made_once=True)
    begun, go_on = threading.Event(), threading.Event()
    made: list[str] = []

    def make() -> object:
        made.append("item")
        begun.set()
        assert go_on.wait(10)
        return object()

    with ThreadPoolExecutor(6) as threads:
        first = threads.submit(items.get, "key", make)
        assert begun.wait(10)
        others = [threads.submit(items.get, "key", make) for _ in range(5)]
        assert items.get("other", lambda: "at once") == "at once"
        go_on.set()
        assert {id(future.result()) for future in others} == {id(first.result())}
    assert made == ["item"]


def test_an_item_that_could_not_be_made_is_made_again() -> None:
    items: LruCache[str, str] = LruCache(5, made_once=True)

    def fail() -> str:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        items.get("key", fail)
    assert items.get("key", lambda: "whole") == "whole"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    items: LruCache[str, str] = LruCache(5, made_once=True)
    begun, go_on = threading.Event(), threading.Event()

    def make() -> str:
        begun.set()
        assert go_on.wait(10)
        return "parent"

    maker = threading.Thread(target=items.get, args=("key", make))
    maker.start()
    assert begun.wait(10)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if items.get("key", lambda: "child") == "child" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    maker.join()
