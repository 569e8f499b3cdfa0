"""Committing under a lock that the caller brings along, as pylance's ``commit_lock``.

A commit lock is called with the version and returns a context manager; whoever is inside it is
alone in committing this version. Every writer of the table has to use the same lock.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeAlias

from lance_core.commits.base import Candidate, CommitHandler, ManifestLocation
from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.handlers.directory import DirectoryCommitHandler
from lance_core.commits.handlers.exclusive import REQUEST_LIFETIME, ExclusiveWriter
from lance_core.errors import (
    CommitConflictError,
    CommitLockError,
    NoSafeCommitHandlerError,
    OutcomeUnknownError,
    RetryableCommitConflictError,
)
from lance_core.store.base import Guarantee, ObjectStore

CommitLock: TypeAlias = Callable[[int], AbstractContextManager[object]]
"""Takes the version that is to be committed; the context manager is entered before the version is
looked for and left when its outcome is settled, with the exception if it was not committed. It
raises `CommitConflictError` if another writer is at work."""


class LockCommitHandler(DirectoryCommitHandler):
    """Writes manifests inside a commit lock; see `ExclusiveWriter` for how.

    If the store guarantees put-if-absent, no commit is lost whatever the lock does. Elsewhere
    commits are safe as long as the lock really excludes others, for as long as it is held and, if
    its holder dies, for ``request_lifetime`` seconds more: what the holder has sent may land until
    then. A lock that expires by itself must last longer than the commit (the settling of lost
    answers takes up to three request lifetimes), or a commit can be lost.
    """

    def __init__(
        self,
        store: ObjectStore,
        lock: CommitLock,
        environment: Environment = SYSTEM,
        request_lifetime: float = REQUEST_LIFETIME,
    ) -> None:
        super().__init__(store)
        self._lock = lock
        self._writer = ExclusiveWriter(store, environment, request_lifetime)

    def commit(self, candidate: Candidate) -> ManifestLocation:
        """Make a version under the lock.

        In addition to what every handler raises: `CommitConflictError` as the lock raised it when
        it was taken, `CommitLockError` for whatever else it raised.
        """
        if self.store.capabilities.strong_reads is Guarantee.NO:
            raise NoSafeCommitHandlerError(
                f"a commit lock does not help on {self.store!r}: under the lock, a writer may not "
                "see what was written before"
            )
        held = _enter(self._lock, candidate.version)
        try:
            location = self._writer.write(candidate, permit=lambda: None)
        except BaseException:
            _leave(held, *sys.exc_info())
            raise
        problem = _leave(held, None, None, None)
        if problem is not None:
            # It may say that the lock was lost on the way. The manifest itself tells.
            raise OutcomeUnknownError(f"leaving the commit lock failed: {problem}") from problem
        return location


def locked(
    commit_lock: object,
    store: ObjectStore,
    handler: CommitHandler,
    environment: Environment = SYSTEM,
) -> CommitHandler:
    """The handler of a table for whoever gave the argument ``commit_lock``; None changes nothing.

    ``handler`` is the table's own one, ``store`` is rooted at the table; if it is known to
    guarantee less or more than it says, it is to be wrapped (`DeclaredStore`). As in pylance the
    lock takes the place of the table's own way of committing, and versions are found in its folder.
    Raises ``TypeError`` if the lock cannot be called.
    """
    if commit_lock is None:
        return handler
    if not callable(commit_lock):
        raise TypeError(f"commit_lock must be a function, got {type(commit_lock)}")
    return LockCommitHandler(store, commit_lock, environment)


def _enter(lock: CommitLock, version: int) -> AbstractContextManager[object]:
    try:
        held = lock(version)
        held.__enter__()
    except CommitConflictError:
        raise
    except Exception as error:
        if type(error).__name__ == CommitConflictError.__name__:  # pylance's own
            kind = (
                RetryableCommitConflictError
                if getattr(error, "retryable", True)
                else CommitConflictError
            )
            raise kind(str(error) or "the commit lock is held by another writer") from error
        raise CommitLockError(
            f"nothing was committed, the commit lock failed: {type(error).__name__}: {error}"
        ) from error
    return held


def _leave(
    held: AbstractContextManager[object],
    kind: type[BaseException] | None,
    value: BaseException | None,
    trace: TracebackType | None,
) -> Exception | None:
    """Leave the lock; the error that leaving raises, unless it is the one that it was told of."""
    try:
        held.__exit__(kind, value, trace)
    except Exception as error:
        if error is value:
            return None
        warnings.warn(f"leaving the commit lock failed: {error!r}", UserWarning, stacklevel=4)
        return error
    return None
