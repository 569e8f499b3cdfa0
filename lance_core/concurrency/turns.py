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
back at once after each of its last requests, the turn is kept for it until its next request: to
wake a thread earlier is in vain, since it could not go on before the interpreter lock is free. If
it does not come back this time, the thread that waits notices when it looks.

There are two gates. Threads come through the open one, and those that have let others go first wait
at the other one, until no thread waits at the first. So a thread that lets others go cannot be back
before them, and a change of threads is a single wake-up, by the system and without the interpreter
lock.
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
answer of a service, after which it waits for its client. One that was not made at once counts
against as many: the thread may only have lost its processor for a moment."""

LOOK = 1.25 * QUANTUM
"""Seconds after which the first in line looks for a turn that is kept for a thread that does not
come back. A look takes the interpreter lock from the thread whose turn it is, so it must be rare:
the others look a quantum later for each thread before them."""

PATIENCE = 0.1
"""Seconds after which the first in line goes on without a turn; most requests take less than
0.001."""

MAX_ROWS = 1 << 13
"""Maximum rows that a request reads in its turn. Decoding more takes milliseconds of C code, which
another processor can do at the same time."""


class _Gate:
    """A lock that is open or closed, and the threads that wait for it, an item for each."""

    __slots__ = ("lock", "waiting")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: list[None] = []


class _Thread(threading.local):
    """The requests that the calling thread is in, and the gate that is closed for its turn."""

    depth = 0
    turn: _Gate | None = None
    end = 0.0
    """When its last turn ended."""
    in_a_row = 0
    """How many requests it has made at once, less `IN_A_ROW` for each other one."""


class Turns:
    """A context manager for requests that take turns; within a request, it does nothing.

    ``is_on``: False runs all requests at once.
    """

    # All state changes by single operations of lists and locks, so that no lock guards it: a
    # finalizer may make a request at any moment.
    __slots__ = ("_gate", "_next", "_reserved", "_since", "_thread", "is_on")

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._thread = _Thread()
        self.renew()

    def renew(self) -> None:
        """Forget the turns of all threads: in a forked child only the calling one exists."""
        self._gate = _Gate()
        """Closed while a thread has its turn, or one is kept for it."""
        self._next = _Gate()
        """Always closed; it takes the place of the other one as soon as no thread waits there."""
        self._next.lock.acquire()
        self._reserved: list[_Gate] = []
        """The closed gate while it is reserved for a thread between two of its requests."""
        self._since = 0.0
        """When a thread that had to wait got its turn."""
        self._thread.turn = None

    @property
    def num_waiting(self) -> int:
        return len(self._gate.waiting) + len(self._next.waiting)

    def __enter__(self) -> None:
        thread = self._thread
        thread.depth += 1
        if thread.depth > 1 or not self.is_on:
            return
        now = perf_counter()
        if now - thread.end < AT_ONCE:
            thread.in_a_row = min(thread.in_a_row + 1, 3 * IN_A_ROW)
        else:
            thread.in_a_row = max(thread.in_a_row - IN_A_ROW, 0)
        current = self._gate
        is_closed = not self._reserved and current.lock.acquire(blocking=False)
        gate = current if is_closed else self._kept()
        if gate is None:
            wait_at = self._gate
        elif now - self._since > QUANTUM and (self._gate.waiting or self._next.waiting):
            self._open(gate)
            wait_at = self._next
        else:
            thread.turn = gate
            return
        try:
            thread.turn = self._wait(wait_at)
        except BaseException:  # Ctrl-C
            thread.depth -= 1
            raise
        self._since = perf_counter()

    def _kept(self) -> _Gate | None:
        """The gate that was kept closed between requests, if nobody else takes it."""
        try:
            return self._reserved.pop()
        except IndexError:
            return None

    def _open(self, gate: _Gate) -> None:
        """Let the next thread through."""
        if gate is not self._gate:  # others have lost patience
            return
        if self._next.waiting and not gate.waiting:
            self._gate, self._next = self._next, gate
        self._gate.lock.release()

    def _wait(self, gate: _Gate) -> _Gate | None:
        """A gate, closed; None after `PATIENCE`, with a new gate for others."""
        num_ahead = self.num_waiting
        deadline = perf_counter() + PATIENCE * (1 + num_ahead)
        look = LOOK + QUANTUM * num_ahead
        gate.waiting.append(None)
        try:
            while not gate.lock.acquire(timeout=look):
                current = self._gate
                if current.lock.acquire(blocking=False):
                    return current
                reserved = self._kept()
                if reserved is not None:
                    return reserved
                if perf_counter() > deadline:
                    self._gate = _Gate()
                    return None
            return gate
        finally:
            gate.waiting.pop()

    def __exit__(self, *_: object) -> None:
        thread = self._thread
        thread.depth -= 1
        if thread.turn is None or thread.depth:
            return
        turn, thread.turn = thread.turn, None
        thread.end = perf_counter()
        if thread.in_a_row >= IN_A_ROW and turn is self._gate and self.num_waiting:
            self._reserved.append(turn)
        elif turn is self._gate and not self._next.waiting:
            turn.lock.release()
        else:
            self._open(turn)

    def leave(self) -> None:
        """End the turn of the calling thread, if it has one; its request goes on without."""
        thread = self._thread
        if thread.turn is not None:
            turn, thread.turn = thread.turn, None
            self._open(turn)


SHORT_REQUEST = Turns(is_on=getattr(sys, "_is_gil_enabled", lambda: True)())
"""The turns of this process."""

leave_turn = SHORT_REQUEST.leave

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHORT_REQUEST.renew)
