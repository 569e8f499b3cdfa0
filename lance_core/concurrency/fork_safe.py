"""Locks that are never locked in a new child process.

Only the forking thread exists in the child. A lock that another thread held at that moment would
stay locked forever.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["ForkSafeLock", "cached_property", "living"]

T = TypeVar("T")

if TYPE_CHECKING:
    from functools import cached_property  # noqa: TID251
else:

    class cached_property(functools.cached_property):  # noqa: N801, TID251
        """A `functools.cached_property` without a lock that gives all threads the same object.

        Several threads may compute the value concurrently; all get the value that was stored
        first. That of Python 3.11 has one lock for all instances of a class; that of later
        versions gives each of these threads its own value.
        """

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            values = instance.__dict__
            if self.attrname not in values:
                values.setdefault(self.attrname, self.func(instance))
            return values[self.attrname]


class ForkSafeLock:
    """A mutex for ``with`` statements, which is unlocked in a forked child.

    The guarded state must be consistent at any time, because a child inherits it unchanged.
    """

    # The methods are those of a lock, which no Python code calls: a query takes dozens of locks.
    __slots__ = ("__enter__", "__exit__", "__weakref__")

    if TYPE_CHECKING:

        def __enter__(self) -> bool: ...

        def __exit__(self, *_: object) -> None: ...

    def __init__(self) -> None:
        self.renew()
        _locks.add(weakref.ref(self, _locks.discard))

    def renew(self) -> None:
        """Replace the lock by an unlocked one."""
        lock = threading.Lock()
        object.__setattr__(self, "__enter__", lock.__enter__)
        object.__setattr__(self, "__exit__", lock.__exit__)


# A set of references instead of a `weakref.WeakSet`, which runs Python code for each lock.
_locks: set[weakref.ref[ForkSafeLock]] = set()


def living(references: Iterable[weakref.ref[T]]) -> list[T]:
    """The objects that still exist."""
    return [item for reference in list(references) if (item := reference()) is not None]


def _renew_all() -> None:
    for lock in living(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
