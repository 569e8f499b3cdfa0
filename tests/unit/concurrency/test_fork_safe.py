"""Locks and forks."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from lance_core.concurrency.fork_safe import ForkSafeLock, cached_property


def test_only_one_thread_at_a_time_holds_it() -> None:
    lock, entered = ForkSafeLock(), threading.Event()

    def enter() -> None:
        with lock:
            entered.set()

    thread = threading.Thread(target=enter)
    with lock:
        thread.start()
        assert not entered.wait(0.05)
    thread.join(60)
    assert entered.is_set()


def test_nobody_holds_it_in_a_forked_child() -> None:
    lock, is_held, may_let_go = ForkSafeLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            may_let_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert is_held.wait(60)
    child = os.fork()
    if child == 0:
        threading.Timer(20, os._exit, [1]).start()
        with lock:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    may_let_go.set()
    thread.join(60)
    assert os.waitstatus_to_exitcode(status) == 0


@dataclass
class Slow:
    """Has a value that somebody computes, and waits meanwhile."""

    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)
    times: int = 0

    @cached_property
    def value(self) -> list[int]:
        self.begun.set()
        self.may_end.wait(60)
        self.times += 1
        return [self.times]


def test_a_value_is_kept_without_waiting_for_that_of_another() -> None:
    slow, quick = Slow(), Slow()
    quick.may_end.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(60)
    other = threading.Thread(target=lambda: quick.value, daemon=True)
    other.start()
    other.join(20)
    assert quick.times == 1
    slow.may_end.set()
    thread.join(60)
    assert quick.value is quick.value
    assert (slow.times, quick.times) == (1, 1)


def test_all_get_the_value_that_was_kept_first() -> None:
    slow = Slow()
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert slow.begun.wait(60)
    slow.may_end.set()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert all(value is slow.value for value in found)
