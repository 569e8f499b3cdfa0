"""A lock that a fork cannot leave locked.

Only the thread that forks lives on in the child. A lock that another thread held at that moment
would stay locked there for ever.
"""

from __future__ import annotations

import os
import threading
import weakref


class ForkSafeLock:
    """A mutual exclusion, to be used in a ``with`` statement; nobody holds it in a forked child.

    What it guards must make sense at any moment, since the child finds it as it was.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Forget who holds the lock."""
        self._lock = threading.Lock()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
