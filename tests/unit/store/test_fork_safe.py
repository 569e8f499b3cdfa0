"""Locks and forks."""

from __future__ import annotations

import os
import threading

from lance_core.store.fork_safe import ForkSafeLock


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
