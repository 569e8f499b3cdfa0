"""Work that is shared by threads."""

from __future__ import annotations

import threading

from lance_core.concurrency.pools import WAITING, in_order, num_threads


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(in_order(lambda number: number * 2, range(100), 4)) == [*range(0, 200, 2)]


def test_work_within_work_does_not_wait_for_threads_that_wait() -> None:
    def outer(number: int) -> list[int]:
        return list(in_order(lambda inner: number + inner, range(5), 3))

    found = list(in_order(outer, range(4 * num_threads()), 4))
    assert found == [[*range(number, number + 5)] for number in range(4 * num_threads())]


def test_work_that_waits_does_so_at_the_same_time() -> None:
    together = threading.Barrier(WAITING, timeout=30)

    def wait(number: int) -> int:
        together.wait()
        return number

    assert list(in_order(wait, range(WAITING), WAITING, is_io_bound=True)) == [*range(WAITING)]
