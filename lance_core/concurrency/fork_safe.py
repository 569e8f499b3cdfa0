"""Locks that a fork cannot leave locked.

Only the thread that forks lives on in the child. A lock that another thread held at that moment
would stay locked there for ever.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

__all__ = ["ForkSafeLock", "cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property  # noqa: TID251
else:

    class cached_property(functools.cached_property):  # noqa: N801, TID251
        """A `functools.cached_property` without a lock, as Python has it from 3.12 on.

        The one of Python 3.11 has a lock, and one for all instances of the class. Threads that ask
        for a value at the same time may all compute it; they get what was stored first.
        """

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


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
