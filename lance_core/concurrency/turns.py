"""Turns: short requests of many threads run one after another instead of interleaved.

A short request is Python code between dozens of calls that each release the global interpreter
lock for a few microseconds. Where several threads make such requests, the interpreter lock changes
hands at each of these calls, which takes longer than the call: two threads then complete fewer
requests than one. A turn is one lock around the whole request, so that threads wait for a turn
instead of for the interpreter lock.

A request leaves its turn before it waits for a store, a disk, another thread or a function of the
user, and before work on many rows, which gains from another processor. It does not get the turn
back. Turns only save time: no code may rely on them for its correctness. A thread that waits longer
than `PATIENCE` goes on without a turn, so that turns cannot lead to a deadlock.

A thread that makes one request after the other has several turns in a row, which takes less time
than a change of threads for each request; after `QUANTUM` it lets others go first. Where it was
back at once after each of its last requests, the turn is kept for it: to open the gate would wake a
thread that could not go on, since the interpreter lock is taken. If it does not come back this
time, the thread that waits notices at its next `LOOK`.
"""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter

QUANTUM = 0.01
"""Seconds of turns in a row after which a thread lets waiting ones go first."""

AT_ONCE = 0.0002
"""Seconds between two requests of a thread that seem to follow each other directly."""

IN_A_ROW = 16
"""Requests that a thread has made at once before turns are kept for it: fewer may be those of one
answer of a service, after which it waits for its client."""

LOOK = QUANTUM
"""Seconds after which a waiting thread looks for a turn that is kept for another one. A look takes
the interpreter lock from the thread whose turn it is, so it must be rare."""

PATIENCE = 0.1
"""Seconds after which a thread goes on without a turn; most requests take less than 0.001."""

MAX_ROWS = 1 << 13
"""Maximum rows that a request reads in its turn. Decoding more takes milliseconds of C code, which
another processor can do at the same time."""


class _Thread(threading.local):
    """The requests that the calling thread is in, and the lock that it has for its turn."""

    depth = 0
    turn: threading.Lock | None = None
    end = 0.0
    """When its last turn ended."""
    in_a_row = 0
    """How many requests it has made at once, each after the one before."""


class Turns:
    """A context manager for requests that take turns; within a request, it does nothing.

    ``is_on``: False runs all requests at once.
    """

    __slots__ = ("_gate", "_line", "_num_waiting", "_reserved", "_since", "_thread", "is_on")

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._thread = _Thread()
        self.renew()

    def renew(self) -> None:
        """Forget the turns of all threads: in a forked child only the calling one exists."""
        self._gate = threading.Lock()
        # Only one thread at a time waits at the gate, the others wait in a line behind it.
        self._line = threading.Lock()
        self._reserved: list[threading.Lock] = []
        """The closed gate while it is reserved for a thread between two of its requests."""
        self._num_waiting = 0
        self._since = 0.0
        self._thread.turn = None

    def __enter__(self) -> None:
        thread = self._thread
        thread.depth += 1
        if thread.depth > 1 or not self.is_on:
            return
        now = perf_counter()
        thread.in_a_row = thread.in_a_row + 1 if now - thread.end < AT_ONCE else 0
        is_over = self._num_waiting and now - self._since > QUANTUM
        gate = self._reserved_gate() if self._reserved else None
        if gate is not None:
            if not is_over:
                thread.turn = gate
                return
            gate.release()
        elif not is_over and self._gate.acquire(blocking=False):
            thread.turn = self._gate
            return
        try:
            self._wait(thread)
        except BaseException:  # Ctrl-C
            thread.depth -= 1
            raise

    def _reserved_gate(self) -> threading.Lock | None:
        """The gate that was kept closed for a thread, which now belongs to the caller."""
        try:
            return self._reserved.pop()
        except IndexError:  # another thread has it
            return None

    def _wait(self, thread: _Thread) -> None:
        """Wait for a turn; replaces a gate that is not opened for too long."""
        with self._line:
            self._num_waiting += 1
            try:
                thread.turn = self._opened_gate()
                if thread.turn is None:
                    self._gate = threading.Lock()
            finally:
                self._num_waiting -= 1
        self._since = perf_counter()

    def _opened_gate(self) -> threading.Lock | None:
        """The gate as soon as it is open, None after `PATIENCE`."""
        gate, deadline = self._gate, perf_counter() + PATIENCE
        while not gate.acquire(timeout=LOOK):
            reserved = self._reserved_gate()
            if reserved is not None:
                return reserved
            if perf_counter() > deadline:
                return None
        return gate

    def __exit__(self, *_: object) -> None:
        thread = self._thread
        thread.depth -= 1
        if thread.turn is None or thread.depth:
            return
        turn, thread.turn = thread.turn, None
        thread.end = now = perf_counter()
        is_over = now - self._since > QUANTUM
        if self._num_waiting and not is_over and thread.in_a_row >= IN_A_ROW:
            self._reserved.append(turn)
        else:
            turn.release()

    def leave(self) -> None:
        """End the turn of the calling thread, if it has one; its request goes on without."""
        thread = self._thread
        if thread.turn is not None:
            turn, thread.turn = thread.turn, None
            turn.release()


SHORT_REQUEST = Turns(is_on=getattr(sys, "_is_gil_enabled", lambda: True)())
"""The turns of this process."""

leave_turn = SHORT_REQUEST.leave

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHORT_REQUEST.renew)
