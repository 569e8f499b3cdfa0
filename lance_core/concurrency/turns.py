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

A thread that makes one request after the other may have several turns in a row, which takes less
time than a change of threads for each request; after `QUANTUM` it lets others go first.
"""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter
from types import TracebackType

__all__ = ["MAX_ROWS", "SHORT_REQUEST", "Turns", "leave_turn"]

QUANTUM = 0.005
"""Seconds of turns in a row after which a thread lets waiting ones go first, as long as the
interval after which Python takes the interpreter lock from a thread."""

PATIENCE = 0.1
"""Seconds after which a thread goes on without a turn; most requests take less than 0.001."""

MAX_ROWS = 1 << 13
"""Maximum rows that a request reads in its turn. Decoding more takes milliseconds of C code, which
another processor can do at the same time."""


class _Thread(threading.local):
    """The requests that the calling thread is in, and the lock that it has for its turn."""

    depth = 0
    turn: threading.Lock | None = None


class Turns:
    """A context manager for requests that take turns; within a request, it does nothing.

    ``is_on``: False runs all requests at once.
    """

    __slots__ = ("_gate", "_line", "_num_waiting", "_since", "_thread", "is_on")

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._thread = _Thread()
        self.renew()

    def renew(self) -> None:
        """Forget the turns of all threads: in a forked child only the calling one exists."""
        self._gate = threading.Lock()
        # Only one thread at a time waits at the gate, the others wait in a line behind it.
        self._line = threading.Lock()
        self._num_waiting = 0
        self._since = 0.0
        self._thread.turn = None

    def __enter__(self) -> None:
        thread = self._thread
        thread.depth += 1
        if thread.depth > 1 or not self.is_on:
            return
        gate = self._gate
        is_over = self._num_waiting and perf_counter() - self._since > QUANTUM
        if not is_over and gate.acquire(blocking=False):
            thread.turn = gate
            return
        try:
            self._wait(thread)
        except BaseException:  # Ctrl-C
            thread.depth -= 1
            raise

    def _wait(self, thread: _Thread) -> None:
        """Wait for a turn; replaces a gate that is not opened for too long."""
        with self._line:
            self._num_waiting += 1
            try:
                gate = self._gate
                if gate.acquire(timeout=PATIENCE):
                    thread.turn = gate
                else:
                    self._gate = threading.Lock()
            finally:
                self._num_waiting -= 1
        self._since = perf_counter()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        thread = self._thread
        thread.depth -= 1
        if thread.turn is not None and not thread.depth:
            turn, thread.turn = thread.turn, None
            turn.release()

    def leave(self) -> None:
        """End the turn of the calling thread, if it has one; its request goes on without."""
        thread = self._thread
        if thread.turn is not None:
            turn, thread.turn = thread.turn, None
            turn.release()


_has_interpreter_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

SHORT_REQUEST = Turns(is_on=_has_interpreter_lock)
"""The turns of this process."""

leave_turn = SHORT_REQUEST.leave

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHORT_REQUEST.renew)
