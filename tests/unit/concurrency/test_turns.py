"""Turns of short requests: one at a time, in a fair order, and never a deadlock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from lance_core.concurrency import turns
from lance_core.concurrency.turns import SHORT_REQUEST, Turns, leave_turn


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 60)


@contextmanager
def in_thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(30)
        assert not thread.is_alive()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def one_request(requests: Turns) -> None:
    with requests:
        pass


def waiting(requests: Turns) -> bool:
    return requests.num_waiting > 0


def has_waiting(requests: Turns, count: int) -> bool:
    return requests.num_waiting == count


@contextmanager
def another_waits(requests: Turns, steps: list[str]) -> Iterator[None]:
    """A turn during which another thread begins to wait for its own, which adds to ``steps``.

    The other thread has had its turn at the end.
    """

    def other() -> None:
        with requests:
            steps.append("other")

    with ExitStack() as stack:
        with requests:
            stack.enter_context(in_thread(other))
            wait_until(lambda: waiting(requests))
            steps.append("own")
        yield


def test_requests_of_two_threads_are_not_interleaved() -> None:
    requests, steps = Turns(), list[str]()
    with another_waits(requests, steps):
        pass
    assert steps == ["own", "other"]


def test_a_request_within_a_request_keeps_the_turn() -> None:
    requests, steps = Turns(), []

    def other() -> None:
        with requests:
            steps.append("other")

    with requests:
        with requests:
            pass
        with in_thread(other):
            wait_until(lambda: waiting(requests))
            steps.append("own")
            requests.leave()
    assert steps == ["own", "other"]


def test_a_request_that_has_left_its_turn_goes_on_while_others_have_theirs() -> None:
    requests = Turns()
    with requests:
        requests.leave()
        requests.leave()
        with (
            requests,
            in_thread(partial(one_request, requests)),
        ):
            pass
    with requests:
        assert not requests._gate.lock.acquire(blocking=False)  # the next one has it


def test_an_error_ends_the_turn() -> None:
    requests = Turns()
    with pytest.raises(ValueError, match="broken"), requests:
        raise ValueError("broken")
    with in_thread(partial(one_request, requests)):
        pass


def test_a_thread_lets_waiting_ones_go_first_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "QUANTUM", 0)
    requests, steps = Turns(), list[str]()
    with another_waits(requests, steps), requests:
        steps.append("last")
    assert steps == ["own", "other", "last"]


def test_a_thread_that_lets_others_go_first_comes_after_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "QUANTUM", -1)
    monkeypatch.setattr(turns, "LOOK", 60)
    monkeypatch.setattr(turns, "AT_ONCE", 60)
    requests, steps = Turns(), list[str]()
    _back_at_once(requests)  # so that its turn is kept until its next request

    def other() -> None:
        with requests:
            steps.append("other")

    with ExitStack() as stack:
        with requests:
            for num_waiting in (1, 2, 3):
                stack.enter_context(in_thread(other))
                wait_until(partial(has_waiting, requests, num_waiting))
        with requests:
            steps.append("last")
    assert steps == ["other", "other", "other", "last"]


def test_a_thread_that_waited_too_long_runs_without_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.01)
    requests = Turns()
    with requests:
        with in_thread(partial(one_request, requests)):
            pass
        monkeypatch.setattr(turns, "PATIENCE", 60)  # the others do not wait for the same turn
        with in_thread(partial(one_request, requests)):
            pass


def test_a_forked_child_forgets_the_turns_of_other_threads() -> None:
    requests, leave = Turns(), threading.Event()

    def other() -> None:
        with requests:
            leave.wait(30)

    with in_thread(other):
        wait_until(requests._gate.lock.locked)  # the state that a fork copies
        requests.renew()
        with requests:
            leave.set()


def test_requests_without_turns_run_at_once() -> None:
    requests = Turns(is_on=False)
    with requests, in_thread(partial(one_request, requests)):
        pass


def test_leaving_without_a_turn_does_nothing() -> None:
    leave_turn()
    with SHORT_REQUEST:
        leave_turn()
    leave_turn()
    assert not SHORT_REQUEST._gate.lock.locked()


def _back_at_once(requests: Turns) -> None:
    for _ in range(turns.IN_A_ROW + 2):
        one_request(requests)


def test_the_turn_is_kept_for_a_thread_that_is_back_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", 60)
    monkeypatch.setattr(turns, "QUANTUM", 1e9)
    monkeypatch.setattr(turns, "LOOK", 60)
    requests, steps = Turns(), list[str]()
    _back_at_once(requests)
    with another_waits(requests, steps):
        for _ in range(3):
            with requests:
                steps.append("again")
        monkeypatch.setattr(turns, "QUANTUM", 0)
        with requests:
            steps.append("last")
    assert steps == ["own", "again", "again", "again", "other", "last"]


def test_a_thread_that_does_not_come_back_loses_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", 60)
    monkeypatch.setattr(turns, "QUANTUM", 0)
    monkeypatch.setattr(turns, "LOOK", 0.001)
    requests, steps = Turns(), list[str]()
    _back_at_once(requests)
    with another_waits(requests, steps):
        pass
    assert steps == ["own", "other"]
    one_request(requests)
    assert not requests._reserved
    assert not requests._gate.lock.locked()
