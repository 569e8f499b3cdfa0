"""What an open version keeps in memory."""

from __future__ import annotations

import threading

from lance_core.dataset.snapshot import Cache


def test_a_cache_keeps_what_was_used_last() -> None:
    made: list[str] = []

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return cache.get(key, make)

    cache: Cache[str, str] = Cache(2)
    assert [get(key) for key in ("a", "b", "a", "c", "a", "b")] == ["A", "B", "A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_a_cache_is_bounded_by_the_weight_of_its_items() -> None:
    cache: Cache[int, bytes] = Cache(100, len)
    made: list[int] = []

    def get(key: int, size: int) -> None:
        def make() -> bytes:
            made.append(key)
            return bytes(size)

        assert len(cache.get(key, make)) == size

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
    cache: Cache[str, object] = Cache(100, lambda _: 60)
    both = threading.Barrier(2, timeout=60)

    def make() -> object:
        both.wait()
        return object()

    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(cache.get("x", make))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2
    assert found[0] is found[1] is cache.get("x", object)
